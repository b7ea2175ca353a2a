// guard.hpp - who may ask: a page that another site serves must not, even if its name leads to this machine (DNS
// rebinding).
#pragma once

#include <string>
#include <string_view>

namespace espalier::explorer {

/// A Host header names this server by an IP address, as localhost, or by the name that --host gave; with its port,
/// which may be missing if it is 80.
[[nodiscard]] bool is_own_host(const std::string& host_header, const std::string& given_host, int port);
/// An Origin header, which browsers send with requests that change something, is that of a page from here.
[[nodiscard]] bool is_own_origin(const std::string& origin, const std::string& host_header);

/// 128 random bits, as hexadecimal digits: a server that other machines can reach answers those that know them.
[[nodiscard]] std::string make_token();
/// In a time that does not depend on where the two differ.
[[nodiscard]] bool is_same_token(std::string_view given, std::string_view token);
/// The value of that name in a Cookie header; empty if there is none.
[[nodiscard]] std::string cookie_in(std::string_view cookies, std::string_view name);

}  // namespace espalier::explorer
