// guard.hpp - access checks: pages of other sites must not send requests, even if their name resolves to this machine
// (DNS rebinding).
#pragma once

#include <string>
#include <string_view>

namespace espalier::explorer {

/// Returns whether a Host header is an IP address, localhost, or the name given by --host, with the port, which may be
/// omitted if it is 80.
[[nodiscard]] bool is_own_host(const std::string& host_header, const std::string& given_host, int port);
/// Returns whether an Origin header, which browsers send with requests that change state, is that of this server's
/// page.
[[nodiscard]] bool is_own_origin(const std::string& origin, const std::string& host_header);

/// Returns 128 random bits as hexadecimal digits. A server that is reachable from other machines requires this token.
[[nodiscard]] std::string make_token();
/// Compares in constant time.
[[nodiscard]] bool is_same_token(std::string_view given, std::string_view token);
/// Returns the value of that name in a Cookie header, or an empty string.
[[nodiscard]] std::string cookie_in(std::string_view cookies, std::string_view name);

}  // namespace espalier::explorer
