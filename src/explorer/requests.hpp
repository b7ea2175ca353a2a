// requests.hpp - parses requests of live sessions from JSON; every member is checked, and every size is bounded.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "espalier/core/error.hpp"
#include "explorer/live_tree.hpp"
#include "explorer/source.hpp"

namespace espalier::explorer {

/// An invalid request; the message is for the client.
class bad_request : public error {
 public:
  using error::error;
};

struct live_step {
  bool maintain = false;
  trace_op op = trace_op::find;
  std::vector<std::uint64_t> keys;
  std::uint64_t to = 0;
};
struct live_run {
  std::vector<live_step> steps;
  unsigned threads = 1;
};

/// Parses the body of POST /api/v1/sessions.
[[nodiscard]] live_request parse_session(const std::string& body, const live_limits& limits);
/// Parses the body of POST /api/v1/sessions/ID/run.
[[nodiscard]] live_run parse_run(const std::string& body, const live_limits& limits);

/// Parses a text of decimal digits.
[[nodiscard]] std::uint64_t parse_key_text(const std::string& text, const std::string& what);

}  // namespace espalier::explorer
