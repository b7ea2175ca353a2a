// request_head.cpp - see request_head.hpp.
#include "explorer/http/request_head.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "explorer/refused.hpp"

namespace espalier::explorer {

namespace {

refused malformed(const std::string& what) { return refused(400, "The request is not HTTP/1.1: " + what + '.'); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}
/// Returns whether the character is allowed in a method or a header name.
bool is_token(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token(c); });
}
bool is_visible(char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; }

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}
std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw malformed("'%' in the address is not followed by two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

void parse_query(std::string_view query, request& out) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    out.parameters.emplace(decoded(pair.substr(0, equals), true),
                           decoded(pair.substr(std::min(equals + 1, pair.size())), true));
  }
}

void parse_request_line(std::string_view line, request& out) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) throw malformed("the first line has no three parts");
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(method)) throw malformed("the method is not a word");
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || version[6] != '.')
    throw malformed("the first line does not end with a version");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    throw refused(505, "The explorer understands HTTP/1.1 and HTTP/1.0 only.");
  if (target.empty() || target[0] != '/' || !std::all_of(target.begin(), target.end(), is_visible))
    throw malformed("the address does not begin with '/', or has spaces");
  const std::size_t query = std::min(target.find('?'), target.size());
  out.method = method;
  out.path = decoded(target.substr(0, query), false);
  if (query < target.size()) parse_query(target.substr(query + 1), out);
  out.is_http_1_0 = version == "HTTP/1.0";
  out.keeps_connection = !out.is_http_1_0;
}

void parse_header_line(std::string_view line, request& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    throw malformed("a header line does not begin with a name and ':'");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), [](char c) { return !is_visible(c) && c != ' ' && c != '\t'; }))
    throw malformed("a header line has control characters");
  const auto [at, is_new] = out.headers.emplace(lower(line.substr(0, colon)), value);
  if (is_new) return;
  if (at->first == "host" || at->first == "content-length")
    throw malformed("there are two header lines named '" + at->first + "'");
  at->second.append(", ").append(value);
}

/// Determines the length of the body.
void find_body(request& out) {
  if (out.headers.contains("transfer-encoding"))
    throw refused(411, "Bodies with Transfer-Encoding are not read: send the body as a whole, with Content-Length.");
  if (out.headers.contains("content-encoding") && lower(out.header("content-encoding")) != "identity")
    throw refused(415, "Compressed bodies are not read: send the body without Content-Encoding.");
  const auto length = out.headers.find("content-length");
  if (length == out.headers.end()) return;
  const std::string& digits = length->second;
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) throw malformed("Content-Length is not a number");
  if (std::from_chars(digits.data(), digits.data() + digits.size(), out.body_size).ec != std::errc())
    throw refused(413, "The body is too large: send less.");
}

}  // namespace

std::optional<std::size_t> head_size(std::string_view received, std::size_t searched, const http_limits& limits) {
  constexpr std::string_view end = "\r\n\r\n";
  const std::size_t at = received.find(end, searched < end.size() ? 0 : searched - end.size());
  const std::size_t size = at == std::string_view::npos ? received.size() : at + end.size();
  if (std::min(received.find("\r\n"), size) > limits.request_line)
    throw refused(414, "The address has more than " + std::to_string(limits.request_line) + " bytes: ask for less.");
  if (size > limits.head)
    throw refused(431, "The header lines have more than " + std::to_string(limits.head) + " bytes: send fewer.");
  if (at == std::string_view::npos) return std::nullopt;
  return size;
}

request parse_head(std::string_view head, const http_limits& limits) {
  request out;
  head.remove_suffix(2);  // each line keeps its terminator
  std::size_t lines = 0;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    if (lines > limits.header_lines)
      throw refused(431, "There are more than " + std::to_string(limits.header_lines) + " header lines: send fewer.");
    if (lines++ == 0) {
      parse_request_line(line, out);
    } else {
      parse_header_line(line, out);
    }
  }
  const std::string connection = lower(out.header("connection"));
  if (connection.find("close") != std::string::npos) out.keeps_connection = false;
  find_body(out);
  return out;
}

}  // namespace espalier::explorer
