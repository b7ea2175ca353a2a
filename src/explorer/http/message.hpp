// message.hpp - an HTTP request and its response.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::explorer {

struct request {
  std::string method;
  std::string path;                               ///< decoded, without the query string
  std::map<std::string, std::string> parameters;  ///< decoded query parameters; the first of each name
  std::map<std::string, std::string> headers;     ///< names in lower case; values of equal names joined by commas
  std::size_t body_size = 0;                      ///< Content-Length
  std::string body;
  bool is_http_1_0 = false;
  bool keeps_connection = true;

  /// Returns an empty string if there is none. `name` is in lower case.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::string_view constant;  ///< sent instead of `body` unless empty; must outlive the server
  std::vector<std::pair<std::string, std::string>> headers;
  /// If set, the body is the concatenation of its results, up to an empty string. Called from one thread at a time.
  std::function<std::string()> next_piece;
};

/// Returns "HTTP/1.1 200 OK" with all header lines and the empty line. `constant` lines are added to each response.
[[nodiscard]] std::string head_of(const response& answer, const request& asked, bool keeps_connection,
                                  std::string_view constant);

}  // namespace espalier::explorer
