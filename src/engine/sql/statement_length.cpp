// statement_length.cpp - statements that are refused for their length before the parser reads them, since its tree of
// 100,000 terms takes a second and more. What is counted here is a lower bound of what the readers of the tree count:
// nothing is refused that they would take.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/error.hpp"
#include "engine/sql/limits.hpp"
#include "engine/sql/parse.hpp"

namespace espalier::engine {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }
bool continues_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '$'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t after_word(std::string_view sql, std::size_t at) {
  while (at < sql.size() && continues_word(sql[at])) ++at;
  return at;
}

// With a sign behind the E of an exponent.
std::size_t after_number(std::string_view sql, std::size_t at) {
  while (at < sql.size() && (continues_word(sql[at]) || sql[at] == '.')) {
    const bool exponent = sql[at] == 'e' || sql[at] == 'E';
    ++at;
    if (exponent && at + 1 < sql.size() && (sql[at] == '+' || sql[at] == '-') && is_digit(sql[at + 1])) ++at;
  }
  return at;
}

bool equal_word(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper, [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

class term_counter {
 public:
  explicit term_counter(std::string_view sql) : sql_(sql) {}

  void check() {
    for (std::size_t at = 0; at < sql_.size();) {
      if (starts_word(sql_[at])) {
        const auto end = after_word(sql_, at);
        word(sql_.substr(at, end - at));
        at = end;
      } else if (is_digit(sql_[at])) {
        operand();
        at = after_number(sql_, at);
      } else {
        const auto end = std::min(after_token(sql_, at), sql_.size());
        if (!is_blank_token(sql_, at)) symbol(at);
        at = end;
      }
    }
  }

 private:
  // One level of parentheses.
  struct level {
    int sums = 0;               // + and - of one expression: each nests all before it
    bool behind_value = false;  // the last token ends a value, or is a keyword
    std::size_t commas = 0;
    std::string_view clause;  // whose terms the commas divide, or nothing
    std::string_view last_word;
  };

  level& here() { return levels_.back(); }

  // Two of them in a row are not one expression: a keyword is between its values, or is one of the two.
  void operand() {
    if (here().behind_value) here().sums = 0;
    here().behind_value = true;
  }

  void word(std::string_view text) {
    operand();
    const auto is_one_of = [&](const auto& words) {
      return std::ranges::any_of(words, [&](std::string_view one) { return equal_word(text, one); });
    };
    constexpr std::array<std::string_view, 11> ends = {"HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "LIMIT",
                                                       "OFFSET", "FETCH",  "FOR",   "ORDER",     "GROUP"};
    if (is_one_of(ends)) here().clause = {};
    if (equal_word(text, "BY")) {
      const bool order = equal_word(here().last_word, "ORDER");
      if (order || equal_word(here().last_word, "GROUP")) here().clause = order ? "ORDER BY" : "GROUP BY";
      here().commas = 0;
    }
    here().last_word = text;
  }

  void symbol(std::size_t at) {
    const char c = sql_[at];
    if (c == '\'' || c == '"' || c == '$') return operand();
    if (c == '(') {
      levels_.emplace_back();
    } else if (c == ')') {
      if (levels_.size() > 1) levels_.pop_back();
      here().behind_value = true;
    } else if (c == ';') {
      levels_.assign(1, {});
    } else if (c == ',') {
      comma(at);
    } else if (c == '+' || c == '-') {
      if (here().behind_value) ++here().sums;
      // One sign may be of the first value.
      if (here().sums > limits::nested_expressions + 1) {
        refuse(codes::too_complex, static_cast<int>(at),
               "This expression is nested too deeply; write it in smaller parts.");
      }
      here().behind_value = false;
    } else {
      if (std::string_view("=<>|!~&#@?`").find(c) != std::string_view::npos) here().sums = 0;
      here().behind_value = false;
    }
  }

  void comma(std::size_t at) {
    here().sums = 0;
    here().behind_value = false;
    if (here().clause.empty() || ++here().commas < limits::keys) return;
    refuse(codes::too_complex, static_cast<int>(at),
           fmt::format("{} takes at most {} terms.", here().clause, limits::keys));
  }

  std::string_view sql_;
  std::vector<level> levels_ = std::vector<level>(1);
};

}  // namespace

void check_statement_length(std::string_view sql) { term_counter(sql).check(); }

}  // namespace espalier::engine
