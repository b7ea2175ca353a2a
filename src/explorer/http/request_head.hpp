// request_head.hpp - parses the request line and the header lines of HTTP/1.1. The parser is strict: ambiguous input is
// refused, and so is every body whose size is not known in advance.
#pragma once

#include <optional>
#include <string_view>

#include "explorer/http/limits.hpp"
#include "explorer/http/message.hpp"

namespace espalier::explorer {

/// Returns the size of the head at the start of `received`, including the empty line that ends it, or nothing if it is
/// incomplete. The first `searched` bytes are known not to contain its end. Throws refused 414 or 431 as soon as the
/// head is certainly too large.
[[nodiscard]] std::optional<std::size_t> head_size(std::string_view received, std::size_t searched,
                                                   const http_limits& limits);

/// `head` includes the final empty line. Throws refused: 400, 411, 413, 415, 431 or 505.
[[nodiscard]] request parse_head(std::string_view head, const http_limits& limits);

}  // namespace espalier::explorer
