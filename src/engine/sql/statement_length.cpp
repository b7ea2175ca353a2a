// statement_length.cpp - refuses long statements before they are parsed, since the parser's tree of 100,000 terms takes
// a second and more. The counts are lower bounds of those in tree_reader, so no statement is refused that tree_reader
// would accept.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.hpp"
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

// Reads a number; the E of an exponent may be followed by a sign.
std::size_t after_number(std::string_view sql, std::size_t at) {
  while (at < sql.size() && (continues_word(sql[at]) || sql[at] == '.')) {
    const bool exponent = sql[at] == 'e' || sql[at] == 'E';
    ++at;
    if (exponent && at + 1 < sql.size() && (sql[at] == '+' || sql[at] == '-') && is_digit(sql[at + 1])) ++at;
  }
  return at;
}

bool equal_word(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper,
                            [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
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
  // The state of one level of parentheses.
  struct level {
    // Operators of one expression by precedence; each operator nests the preceding ones of the same precedence.
    int casts = 0, products = 0, sums = 0, others = 0;
    bool behind_value = false;  // the last token ends a value or is a keyword
    std::size_t terms = 0;      // terms of the clause after its first one
    std::string_view clause;    // the current clause, if it has terms
    std::size_t set_operations = 0;
    std::string_view last_word;
  };

  level& here() { return levels_.back(); }

  void end_expression() { here().casts = here().products = here().sums = here().others = 0; }

  // Two adjacent operands are not one expression: a keyword separates them, or one of them is a keyword.
  void operand() {
    if (here().behind_value) end_expression();
    here().behind_value = true;
  }

  void word(std::string_view text) {
    operand();
    const auto is_one_of = [&](const auto& words) {
      return std::ranges::any_of(words, [&](std::string_view one) { return equal_word(text, one); });
    };
    constexpr std::array<std::string_view, 3> set_operations = {"UNION", "INTERSECT", "EXCEPT"};
    constexpr std::array<std::string_view, 13> ends = {"HAVING", "WINDOW",    "LIMIT", "OFFSET", "FETCH",
                                                       "FOR",    "ORDER",     "GROUP", "WHERE",  "SELECT",
                                                       "SET",    "RETURNING", "VALUES"};
    const bool combines = is_one_of(set_operations);
    if (combines || is_one_of(ends)) here().clause = {};
    if (combines && ++here().set_operations > static_cast<std::size_t>(limits::set_operations)) {
      refuse_here(text,
                  fmt::format("UNION combines at most {} queries; write several statements.", limits::set_operations));
    }
    const bool order = equal_word(here().last_word, "ORDER"), group = equal_word(here().last_word, "GROUP");
    if (equal_word(text, "BY") && (order || group)) start_clause(order ? "ORDER BY" : "GROUP BY");
    if (equal_word(text, "SELECT")) start_clause("SELECT");
    if (equal_word(text, "FROM") && !equal_word(here().last_word, "DISTINCT")) start_clause("FROM");
    if (equal_word(text, "JOIN") && here().clause == "FROM") add_term(text, 2);  // tree_reader counts them the same way
    here().last_word = text;
  }

  void start_clause(std::string_view clause) {
    here().clause = clause;
    here().terms = 0;
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
      end_expression();
      here().behind_value = false;
      if (!here().clause.empty()) add_term(sql_.substr(at, 1));
    } else {
      operation(at);
    }
  }

  void operation(std::size_t at) {
    auto& [casts, products, sums, others, behind_value, terms, clause, set_operations, last_word] = here();
    const char c = sql_[at];
    int* chain = nullptr;
    if (c == ':') {
      chain = &casts;
    } else if (c == '*' || c == '/' || c == '%') {
      chain = &products;
      casts = 0;
    } else if (c == '+' || c == '-') {
      chain = &sums;
      casts = products = 0;
    } else if (std::string_view("|!~&#@?`").find(c) != std::string_view::npos) {
      chain = &others;
      casts = products = sums = 0;
    } else if (c == '<' || c == '>' || c == '=') {
      end_expression();
    }
    // An operator of several characters, such as ||, is counted by its first one. A sign before the first value is
    // counted although it nests nothing.
    if (chain != nullptr && behind_value && ++*chain > limits::nested_expressions + 1) {
      refuse_here(sql_.substr(at, 1), "This expression is nested too deeply; write it in smaller parts.");
    }
    behind_value = false;
  }

  void add_term(std::string_view token, std::size_t count = 1) {
    const bool joins = here().clause == "FROM", selects = here().clause == "SELECT";
    here().terms += count;
    if (here().terms < (joins ? 2 * limits::joined_tables : selects ? limits::select_columns : limits::keys)) return;
    if (selects) refuse_here(token, too_many_columns());
    refuse_here(token,
                joins ? fmt::format("FROM joins at most {} tables; write several statements.", limits::joined_tables)
                      : fmt::format("{} takes at most {} terms.", here().clause, limits::keys));
  }

  [[noreturn]] void refuse_here(std::string_view token, const std::string& sentence) const {
    throw_sql_error(codes::too_complex, static_cast<int>(token.data() - sql_.data()), sentence);
  }

  std::string_view sql_;
  std::vector<level> levels_ = std::vector<level>(1);
};

}  // namespace

void check_statement_length(std::string_view sql) { term_counter(sql).check(); }

}  // namespace espalier::engine
