#include "engine/sql/error.hpp"

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
  excerpt_ = std::string(text.substr(start, end - start)) + "\n" + std::string(column_ - 1, ' ') + "^";
}

located_error::located_error(const std::string& sentence, int position) : error(sentence), position_(position) {}

void refuse(int position, const std::string& sentence) { throw located_error(sentence, position); }

void refuse(const error_code& code, int position, const std::string& sentence) {
  throw coded_refusal(code, sentence, position);
}

}  // namespace espalier::engine
