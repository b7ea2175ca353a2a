// raw_client.hpp - a TCP connection to a server on this machine that sends whatever bytes a test gives it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::test {

class raw_client {
 public:
  /// Reads and writes that make no progress for a minute fail; tests expect none to.
  explicit raw_client(int port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval minute{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &minute, sizeof minute);
    if (receive_buffer != 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  raw_client(raw_client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        connected_(other.connected_),
        received_(std::move(other.received_)) {}
  raw_client& operator=(raw_client&&) = delete;
  ~raw_client() {
    if (socket_ >= 0) ::close(socket_);
  }

  [[nodiscard]] bool is_connected() const { return connected_; }
  /// False once the server has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Everything up to the end of the connection.
  [[nodiscard]] std::string read_all() {
    while (read_some()) {
    }
    return std::exchange(received_, {});
  }
  /// Everything up to `end`, and that.
  [[nodiscard]] std::string read_until(std::string_view end) {
    while (received_.find(end) == std::string::npos && read_some()) {
    }
    const std::size_t at = received_.find(end);
    if (at == std::string::npos) return std::exchange(received_, {});
    std::string head = received_.substr(0, at + end.size());
    received_.erase(0, head.size());
    return head;
  }

 private:
  bool read_some() {
    char buffer[65536];
    const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
    if (n > 0) received_.append(buffer, static_cast<std::size_t>(n));
    return n > 0;
  }

  int socket_;
  bool connected_ = false;
  std::string received_;
};

/// Of "HTTP/1.1 200 OK..."; 0 if that is not what was received.
inline int status_of(const std::string& received) {
  return received.compare(0, 9, "HTTP/1.1 ") == 0 ? std::atoi(received.c_str() + 9) : 0;
}

}  // namespace espalier::test
