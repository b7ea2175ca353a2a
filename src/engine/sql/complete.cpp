// Does what was typed so far end a statement? The parser cannot say: it only knows whole statements.
#include <cctype>
#include <string>
#include <string_view>

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
    if (sql.substr(at, 2) == "--") {
      at = std::min(sql.find('\n', at), sql.size());
      continue;
    }
    if (sql.substr(at, 2) == "/*") {
      at = after_comment(sql, at);
      if (at == std::string_view::npos) return false;
      continue;
    }
    ended = c == ';';
    if (c == '\'') {
      const bool escapes = at > 0 && (sql[at - 1] == 'E' || sql[at - 1] == 'e');
      at = after_quoted(sql, at, c, escapes);
    } else if (c == '"') {
      at = after_quoted(sql, at, c, false);
    } else if (c == '$') {
      at = after_dollar_quoted(sql, at);
    } else {
      ++at;
    }
    if (at == std::string_view::npos) return false;
  }
  return ended;
}

}  // namespace espalier::engine
