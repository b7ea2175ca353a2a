// guard.cpp - see guard.hpp.
#include "explorer/http/guard.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <random>

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
  } else if (port != 80) {  // the default port of http://, which browsers omit
    return false;
  }
  return name == "localhost" || (!name.empty() && name == given_host) || is_address(name);
}

bool is_own_origin(const std::string& origin, const std::string& host_header) {
  return origin.empty() || origin == "http://" + host_header;
}

std::string make_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 32; ++i) token += "0123456789abcdef"[random() % 16];
  return token;
}

bool is_same_token(std::string_view given, std::string_view token) {
  if (given.size() != token.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < token.size(); ++i) different |= static_cast<unsigned char>(given[i] ^ token[i]);
  return different == 0;
}

std::string cookie_in(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    std::string_view pair = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(pair.size() + 1, cookies.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.size() > name.size() && pair.substr(0, name.size()) == name && pair[name.size()] == '=')
      return std::string(pair.substr(name.size() + 1));
  }
  return {};
}

}  // namespace espalier::explorer
