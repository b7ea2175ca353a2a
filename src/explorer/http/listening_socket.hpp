// listening_socket.hpp - a TCP socket that listens on an address of this machine.
#pragma once

#include <string>

namespace espalier::explorer {

class listening_socket {
 public:
  /// Throws `error` if the address or the port cannot be used. Port 0 selects a free one.
  listening_socket(const std::string& host, int port);
  ~listening_socket();
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;

  [[nodiscard]] int descriptor() const { return socket_; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool is_loopback() const { return loopback_; }
  /// Returns a non-blocking connection, or -1 with `errno`.
  [[nodiscard]] int accept() const;

 private:
  int socket_ = -1, port_ = 0;
  bool loopback_ = false;
};

}  // namespace espalier::explorer
