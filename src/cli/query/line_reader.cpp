#include "cli/query/line_reader.hpp"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#ifdef ESPALIER_HAS_EDITLINE
#include <editline/readline.h>
#endif

namespace espalier::cli {
namespace {

#ifdef ESPALIER_HAS_EDITLINE
constexpr int remembered_statements = 1000;
#endif

// ESPALIER_HISTORY, which may be empty for none, or a file in the home folder.
std::filesystem::path history_file() {
  if (const char* const given = std::getenv("ESPALIER_HISTORY")) return given;
  const char* const home = std::getenv("HOME");
  return home == nullptr ? std::filesystem::path() : std::filesystem::path(home) / ".espalier_history";
}

// As one line, which is how it is edited again; a comment to the end of a line keeps its line break.
[[maybe_unused]] std::string on_one_history_line(std::string statement) {
  if (statement.find("--") == std::string::npos) std::ranges::replace(statement, '\n', ' ');
  return statement;
}

}  // namespace

line_reader::line_reader() : history_(history_file()) {
#ifdef ESPALIER_HAS_EDITLINE
  // Statements are UTF-8, whatever the locale says; without one that is, the editor would drop what it cannot show.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  ::using_history();
  ::stifle_history(remembered_statements);
  if (!history_.empty()) ::read_history(history_.c_str());
#endif
}

line_reader::~line_reader() {
#ifdef ESPALIER_HAS_EDITLINE
  if (!history_.empty()) ::write_history(history_.c_str());
#endif
}

std::optional<std::string> line_reader::read(const std::string& prompt) {
#ifdef ESPALIER_HAS_EDITLINE
  char* const typed = ::readline(prompt.c_str());
  if (typed == nullptr) return std::nullopt;
  std::string line(typed);
  std::free(typed);
#else
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
#endif
  return line;
}

void line_reader::remember([[maybe_unused]] const std::string& statement) {
#ifdef ESPALIER_HAS_EDITLINE
  ::add_history(on_one_history_line(statement).c_str());
#endif
}

}  // namespace espalier::cli
