// Does what was typed so far end a statement? The parser cannot say: it only knows whole statements.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "engine/sql/error.hpp"
#include "engine/sql/parse.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

std::size_t after_quoted(std::string_view text, std::size_t at, char quote, bool backslashes) {
  for (++at; at < text.size(); ++at) {
    if (backslashes && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;  // a doubled quote opens the next piece at once
    }
  }
  return std::string_view::npos;
}

// $tag$ ... $tag$
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

namespace {

// Behind what begins at `at`: a quoted text, a comment, or one character. npos: it has no end.
std::size_t after_token(std::string_view sql, std::size_t at) {
  const char c = sql[at];
  if (sql.substr(at, 2) == "--") return std::min(sql.find('\n', at), sql.size());
  if (sql.substr(at, 2) == "/*") return after_comment(sql, at);
  if (c == '\'') {
    const bool escapes = at > 0 && (sql[at - 1] == 'E' || sql[at - 1] == 'e');
    return after_quoted(sql, at, c, escapes);
  }
  if (c == '"') return after_quoted(sql, at, c, false);
  if (c == '$') return after_dollar_quoted(sql, at);
  return at + 1;
}

}  // namespace

// The scanner reads all operator characters that follow the beginning of a comment or an operator, takes some of them,
// and reads the others again: the time grows with the square of their number.
void check_operators_and_comments(std::string_view sql) {
  constexpr int deepest_comment = 1000;
  constexpr int longest_operator = 1000;
  int in_a_row = 0;
  for (std::size_t at = 0; at < sql.size();) {
    const auto next = std::min(after_token(sql, at), sql.size());
    const bool is_comment = sql.substr(at, 2) == "/*" || sql.substr(at, 2) == "--";
    const bool is_operator = next == at + 1 && std::string_view("~!@#^&|`?+-*/%<>=").find(sql[at]) != sql.npos;
    in_a_row = is_operator ? in_a_row + 1 : 0;
    if (in_a_row > longest_operator) {
      refuse(codes::too_complex, static_cast<int>(at), "An operator cannot have more than 1000 characters.");
    }
    int depth = 0;
    for (std::size_t i = at; is_comment && i + 1 < next; ++i) {
      if (sql.substr(i, 2) == "/*") {
        ++depth;
        ++i;
      } else if (sql.substr(i, 2) == "*/") {
        --depth;
        ++i;
      }
      if (depth > deepest_comment && sql[at] == '/') {
        refuse(codes::too_complex, static_cast<int>(i), "Comments are nested too deeply.");
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

bool is_complete(std::string_view sql) {
  bool ended = true;  // nothing typed: nothing to wait for
  std::size_t at = 0;
  while (at < sql.size()) {
    const char c = sql[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    const auto two = sql.substr(at, 2);
    if (two != "--" && two != "/*") ended = c == ';';
    at = after_token(sql, at);
    if (at == std::string_view::npos) return false;
  }
  return ended;
}

}  // namespace espalier::engine
