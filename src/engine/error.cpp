#include "engine/error.hpp"

#include <algorithm>

namespace espalier::engine {
namespace {

std::string sentence_with_place(const std::string& sentence, std::string_view text,
                                std::optional<std::size_t> position) {
  if (!position) return sentence;
  const auto before = text.substr(0, std::min(*position, text.size()));
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const auto start = before.rfind('\n');
  const auto column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return sentence + " (line " + std::to_string(line) + ", column " + std::to_string(column) + ")";
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns the line with a caret below byte `place`. A long line is cut to the part around it.
std::string line_with_caret(std::string_view line, std::size_t place) {
  constexpr std::size_t longest = 160, before = 70, after = 60;
  std::string start, end;
  if (line.size() > longest) {
    std::size_t from = place > before ? place - before : 0;
    std::size_t to = std::min(line.size(), place + after);
    while (from > 0 && continues_character(line[from])) --from;
    while (to < line.size() && continues_character(line[to])) ++to;
    if (from > 0) start = "... ";
    if (to < line.size()) end = " ...";
    line = line.substr(from, to - from);
    place -= from;
  }
  // A terminal shows one character for several bytes, and the tabs have to match those of the line above.
  std::string indent(start.size(), ' ');
  for (const char byte : line.substr(0, place)) {
    if (!continues_character(byte)) indent += byte == '\t' ? '\t' : ' ';
  }
  return start + std::string(line) + end + "\n" + indent + "^";
}

}  // namespace

sql_error::sql_error(const std::string& sentence, std::string_view text, std::optional<std::size_t> position,
                     const error_code& code)
    : engine_error(sentence_with_place(sentence, text, position), code), sentence_(sentence), position_(position) {
  if (!position) return;
  const auto place = std::min(*position, text.size());
  const auto before = text.substr(0, place);
  line_ = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const auto newline = before.rfind('\n');
  const auto start = newline == std::string_view::npos ? 0 : newline + 1;
  column_ = place - start + 1;
  const auto end = std::min(text.find('\n', place), text.size());
  excerpt_ = line_with_caret(text.substr(start, end - start), place - start);
}

located_error::located_error(const std::string& sentence, int position) : error(sentence), position_(position) {}

bool is_about_values(const located_error& problem) {
  const auto* coded = dynamic_cast<const coded_refusal*>(&problem);
  return coded == nullptr || coded->code().sqlstate.substr(0, 2) == codes::data_exception.sqlstate.substr(0, 2);
}

void throw_sql_error(int position, const std::string& sentence) { throw located_error(sentence, position); }

void throw_sql_error(const error_code& code, int position, const std::string& sentence) {
  throw coded_refusal(code, sentence, position);
}

void refuse_negative(std::string_view clause, int position) {
  const auto& code = clause == "LIMIT" ? codes::invalid_limit : codes::invalid_offset;
  throw_sql_error(code, position, std::string(clause) + " cannot be negative.");
}

}  // namespace espalier::engine
