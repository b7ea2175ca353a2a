// statement_splitter.cpp - decides whether the text typed so far ends a statement. The parser accepts complete
// statements only.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/error.hpp"
#include "engine/sql/parse.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

std::size_t after_quoted(std::string_view text, std::size_t at, char quote, bool backslashes) {
  for (++at; at < text.size(); ++at) {
    if (backslashes && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;  // a doubled quote starts another string immediately
    }
  }
  return std::string_view::npos;
}

// Skips a string $tag$ ... $tag$.
std::size_t after_dollar_quoted(std::string_view text, std::size_t at) {
  auto end = at + 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  const bool opens = end < text.size() && text[end] == '$' &&
                     !(end > at + 1 && std::isdigit(static_cast<unsigned char>(text[at + 1])));
  if (!opens) return at + 1;
  const auto tag = text.substr(at, end - at + 1);
  const auto close = text.find(tag, end + 1);
  return close == std::string_view::npos ? close : close + tag.size();
}

}  // namespace

bool is_blank_token(std::string_view text, std::size_t at) {
  const auto two = text.substr(at, 2);
  return std::isspace(static_cast<unsigned char>(text[at])) || two == "--" || two == "/*";
}

std::size_t after_token(std::string_view text, std::size_t at) {
  const auto two = text.substr(at, 2);
  if (two == "--") return std::min(text.find('\n', at), text.size());
  if (two == "/*") return after_comment(text, at);
  if (text[at] == '\'') {
    const bool escapes = at > 0 && (text[at - 1] == 'E' || text[at - 1] == 'e');
    return after_quoted(text, at, '\'', escapes);
  }
  if (text[at] == '"') return after_quoted(text, at, '"', false);
  return text[at] == '$' ? after_dollar_quoted(text, at) : at + 1;
}

std::size_t nesting_bytes(std::string_view sql) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80) != 0;
  };
  std::size_t out = 0;
  for (std::size_t at = 0; at < sql.size();) {
    const std::size_t begin = at;
    while (at < sql.size() && in_word(sql[at]) && (sql[at] != '$' || at > begin)) ++at;
    out += at - begin;
    if (at == sql.size()) break;
    // after_token takes the last letter of `type'...'` for the E of E'...', where the parser's text may end earlier.
    const bool escapes = at == begin + 1 && (sql[begin] == 'E' || sql[begin] == 'e');
    const auto next = sql[at] == '\'' ? after_quoted(sql, at, '\'', escapes) : after_token(sql, at);
    ++out;
    at = std::min(next, sql.size());
  }
  return out;
}

namespace {

constexpr std::string_view operator_characters = "~!@#^&|`?+-*/%<>=";

// Counts the characters that the scanner reads again: all operator characters after the start of a comment.
class comment_work {
 public:
  explicit comment_work(std::string_view sql) : sql_(sql) {}

  void start_at(std::size_t at) {
    constexpr std::uint64_t most = 100'000'000;  // a fraction of a second
    if (at >= run_end_) run_end_ = std::min(sql_.find_first_not_of(operator_characters, at), sql_.size());
    read_again_ += run_end_ - at;
    if (read_again_ > most) {
      throw_sql_error(codes::too_complex, static_cast<int>(at),
                      "Too many comments follow each other without a blank between them.");
    }
  }

 private:
  std::string_view sql_;
  std::size_t run_end_ = 0;  // end of the operator characters from the last start on
  std::uint64_t read_again_ = 0;
};

}  // namespace

// The scanner reads all operator characters after the start of a comment or operator, accepts some of them and reads
// the others again, so its time is quadratic in their number.
void check_operators_and_comments(std::string_view sql) {
  constexpr int deepest_comment = 1000;
  constexpr int longest_operator = 1000;
  int in_a_row = 0;
  comment_work work(sql);
  for (std::size_t at = 0; at < sql.size();) {
    const auto next = std::min(after_token(sql, at), sql.size());
    const bool is_comment = sql.substr(at, 2) == "/*" || sql.substr(at, 2) == "--";
    const bool is_operator = next == at + 1 && operator_characters.find(sql[at]) != sql.npos;
    in_a_row = is_operator ? in_a_row + 1 : 0;
    if (in_a_row > longest_operator) {
      throw_sql_error(codes::too_complex, static_cast<int>(at), "An operator cannot have more than 1000 characters.");
    }
    int depth = 0;
    for (std::size_t i = at; is_comment && sql[at] == '/' && i + 1 < next; ++i) {
      if (sql.substr(i, 2) == "/*") {
        work.start_at(i);
        ++depth;
        ++i;
      } else if (sql.substr(i, 2) == "*/") {
        --depth;
        ++i;
      }
      if (depth > deepest_comment) {
        throw_sql_error(codes::too_complex, static_cast<int>(i), "Comments are nested too deeply.");
      }
    }
    at = next;
  }
}

std::size_t after_comment(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at + 1 < text.size(); ++at) {
    const auto two = text.substr(at, 2);
    if (two == "/*") {
      ++depth;
      ++at;
    } else if (two == "*/") {
      ++at;
      if (--depth == 0) return at + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t last_statement_end(std::string_view text, std::size_t limit) {
  std::size_t found = std::string_view::npos;
  for (std::size_t at = 0; at < limit;) {
    if (text[at] == ';') found = at;
    at = after_token(text, at);
    if (at == std::string_view::npos) break;
  }
  return found;
}

bool is_complete(std::string_view sql) {
  bool ended = true;  // an empty text is complete
  for (std::size_t at = 0; at < sql.size();) {
    const auto next = after_token(sql, at);
    if (next == std::string_view::npos) return false;
    if (!is_blank_token(sql, at)) ended = sql[at] == ';';
    at = next;
  }
  return ended;
}

}  // namespace espalier::engine
