// server.hpp - serves the explorer's page and its JSON over HTTP (docs/explorer-api.md).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explorer/http/limits.hpp"
#include "explorer/registry.hpp"

namespace espalier::explorer {

struct server_options {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0 selects a free port
  std::string index = "blink";
  live_limits limits;
  http_limits http;
};

class server {
 public:
  /// Binds the port; throws `error` on failure.
  server(const device& dev, const server_options& options);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  void add_trace(const std::string& title, recorded_trace trace);
  [[nodiscard]] int port() const;
  /// Includes the token, if one is required.
  [[nodiscard]] std::string url() const;
  /// Returns the token that clients need; empty if only this machine can reach the server.
  [[nodiscard]] const std::string& token() const;
  /// Serves until stop(), which may be called from another thread once is_serving().
  void serve();
  [[nodiscard]] bool is_serving() const;
  void stop();

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::explorer
