// listening_socket.cpp - see listening_socket.hpp.
#include "explorer/http/listening_socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "espalier/core/error.hpp"

namespace espalier::explorer {

namespace {

bool make_nonblocking(int socket) {
  return ::fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 &&
         ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK) == 0;
}

/// Returns a listening socket, or -1.
int listen_at(const addrinfo& at) {
  const int socket = ::socket(at.ai_family, at.ai_socktype, at.ai_protocol);
  if (socket < 0) return -1;
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // without it, a restart has to wait for a minute
  if (make_nonblocking(socket) && ::bind(socket, at.ai_addr, at.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0)
    return socket;
  ::close(socket);
  return -1;
}

bool is_loopback(const sockaddr_storage& at) {
  if (at.ss_family == AF_INET) return ntohl(reinterpret_cast<const sockaddr_in&>(at).sin_addr.s_addr) >> 24 == 127;
  return at.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(at).sin6_addr);
}

}  // namespace

listening_socket::listening_socket(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const bool is_known = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list) == 0;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* at = is_known ? list : nullptr; at != nullptr && socket_ < 0; at = at->ai_next)
    socket_ = listen_at(*at);
  if (socket_ < 0 && (port == 0 || !is_known))
    throw error("the address " + host + " cannot be used: give one of this machine's with --host.");
  if (socket_ < 0)
    throw error("port " + std::to_string(port) + " of " + host +
                " cannot be used; it may be taken: give another with --port, or --port 0 for any that is free.");
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                            : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  loopback_ = explorer::is_loopback(bound);
}

listening_socket::~listening_socket() { ::close(socket_); }

int listening_socket::accept() const {
  const int client = ::accept(socket_, nullptr, nullptr);
  if (client < 0) return -1;
  const int yes = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (make_nonblocking(client)) return client;
  ::close(client);
  return -1;
}

}  // namespace espalier::explorer
