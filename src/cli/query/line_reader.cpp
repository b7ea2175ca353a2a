#include "cli/query/line_reader.hpp"

#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <optional>
#include <utility>

#ifdef ESPALIER_HAS_EDITLINE
#include <editline/readline.h>
#endif

#include "cli/query/interrupt.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {
namespace {

// Returns nothing at the end of the input or after Ctrl-C.
std::optional<char> typed_byte() {
  char byte = 0;
  if (!input_before_interrupt(STDIN_FILENO) || ::read(STDIN_FILENO, &byte, 1) != 1) return std::nullopt;
  return byte;
}

#ifdef ESPALIER_HAS_EDITLINE
constexpr int remembered_statements = 1000;
constexpr const char* end_of_dropped_line = "^C\n";  // the editor has disabled the terminal's echo

constexpr int no_character = 0xfffd;  // replaces bytes that are not valid UTF-8

// The editor's own read function would continue to wait after Ctrl-C. It returns wide characters; -1 ends the line.
int typed_character(std::FILE*) {
  std::mbstate_t state{};
  while (const auto byte = typed_byte()) {
    wchar_t character = 0;
    const std::size_t used = std::mbrtowc(&character, &*byte, 1, &state);
    if (used <= 1) return static_cast<int>(character);
    if (used == static_cast<std::size_t>(-1)) return no_character;
  }
  return -1;
}
#else
constexpr const char* end_of_dropped_line = "\n";
#endif

// Returns ESPALIER_HISTORY, which may be empty for none, or a file in the home folder.
std::filesystem::path history_file() {
  if (const char* const given = std::getenv("ESPALIER_HISTORY")) return given;
  const char* const home = std::getenv("HOME");
  return home == nullptr ? std::filesystem::path() : std::filesystem::path(home) / ".espalier_history";
}

// Joins a statement to one line, as it is edited again; line breaks in strings and comments, and after comments, are
// kept.
[[maybe_unused]] std::string on_one_history_line(std::string statement) {
  if (statement.find("--") != std::string::npos) return statement;
  for (auto at = statement.find('\n'); at != std::string::npos; at = statement.find('\n', at + 1)) {
    if (engine::is_complete(statement.substr(0, at) + ";")) statement[at] = ' ';
  }
  return statement;
}

std::optional<std::string> edited_line(const std::string& prompt) {
#ifdef ESPALIER_HAS_EDITLINE
  char* const typed = ::readline(prompt.c_str());
  if (typed == nullptr) return std::nullopt;
  std::string line(typed);
  std::free(typed);
  return line;
#else
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  std::string line;
  auto byte = typed_byte();
  for (; byte && *byte != '\n'; byte = typed_byte()) line += *byte;
  if (!byte && line.empty()) return std::nullopt;
  return line;
#endif
}

}  // namespace

line_reader::line_reader() : history_(history_file()) {
#ifdef ESPALIER_HAS_EDITLINE
  // Statements are UTF-8, whatever the locale. Without a UTF-8 locale the editor would drop characters that it cannot
  // show.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  ::rl_getc_function = typed_character;
  ::using_history();
  ::stifle_history(remembered_statements);
  if (!history_.empty()) ::read_history(history_.c_str());
#endif
}

typed_line line_reader::read(const std::string& prompt) {
  const interrupt_watch watch(second_interrupt::is_noted);
  forget_interrupt();
  auto text = edited_line(prompt);
  const bool dropped = interrupt_noted();
  if (text && !dropped) return {typed_line::what::line, std::move(*text)};
  std::fputs(dropped ? end_of_dropped_line : "\n", stdout);
  std::fflush(stdout);
  return {dropped ? typed_line::what::dropped : typed_line::what::end, ""};
}

void line_reader::remember([[maybe_unused]] const std::string& statement) {
#ifdef ESPALIER_HAS_EDITLINE
  ::add_history(on_one_history_line(statement).c_str());
  if (!history_.empty()) ::write_history(history_.c_str());  // closing the terminal kills the shell
#endif
}

}  // namespace espalier::cli
