// limits.hpp - limits on the resources that clients can use before the server has decided to answer them.
#pragma once

#include <chrono>
#include <cstddef>

namespace espalier::explorer {

struct http_limits {
  std::size_t connections = 256;  ///< beyond them, the connection that has waited longest is closed
  std::size_t waiting = 64;  ///< requests that no thread has started to process; beyond them, the oldest is refused
  std::size_t request_line = std::size_t{8} << 10;
  std::size_t head = std::size_t{16} << 10;  ///< request line and header lines together
  std::size_t header_lines = 100;
  std::size_t memory = std::size_t{256} << 20;  ///< buffered requests and responses of all connections
  /// The time to send a request or to receive a response, plus one second per `bytes_per_second` bytes transferred.
  std::chrono::milliseconds time = std::chrono::seconds(10);
  std::size_t bytes_per_second = std::size_t{64} << 10;
  /// After a refusal the rest of the request is read and discarded, up to this limit: closing a socket with unread
  /// bytes resets the connection, and the client may lose the response.
  std::size_t dropped = std::size_t{8} << 20;
};

}  // namespace espalier::explorer
