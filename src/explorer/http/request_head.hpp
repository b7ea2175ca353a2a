// request_head.hpp - reads the request line and the header lines of HTTP/1.1. Strict: what two readers could understand
// differently is refused, and so is every body whose size is not known beforehand.
#pragma once

#include <optional>
#include <string_view>

#include "explorer/http/limits.hpp"
#include "explorer/http/message.hpp"

namespace espalier::explorer {

/// The size of the head at the beginning of `received`, with the empty line that ends it; nothing if it has not arrived
/// as a whole. The first `searched` bytes are known not to hold its end. Throws refused 414 or 431 as soon as it is
/// certain that the head is too large.
[[nodiscard]] std::optional<std::size_t> head_size(std::string_view received, std::size_t searched,
                                                   const http_limits& limits);

/// `head` with the empty line at its end. Throws refused: 400, 411, 413, 415, 431 or 505.
[[nodiscard]] request parse_head(std::string_view head, const http_limits& limits);

}  // namespace espalier::explorer
