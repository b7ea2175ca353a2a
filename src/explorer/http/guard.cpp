// guard.cpp - see guard.hpp.
#include "explorer/http/guard.hpp"

#include <arpa/inet.h>

namespace espalier::explorer {

namespace {

bool is_address(const std::string& name) {
  in6_addr any{};
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &any) == 1;
  return inet_pton(AF_INET, name.c_str(), &any) == 1;
}

}  // namespace

bool is_own_host(const std::string& host_header, const std::string& given_host, int port) {
  const std::string tail = ":" + std::to_string(port);
  std::string name = host_header;
  if (name.ends_with(tail)) {
    name.resize(name.size() - tail.size());
  } else if (port != 80) {  // the port that http:// means, and that browsers leave out
    return false;
  }
  return name == "localhost" || (!name.empty() && name == given_host) || is_address(name);
}

bool is_own_origin(const std::string& origin, const std::string& host_header) {
  return origin.empty() || origin == "http://" + host_header;
}

}  // namespace espalier::explorer
