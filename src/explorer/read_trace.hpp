// read_trace.hpp - reads a trace from a file and validates it: every line is valid, every event fits the tree, and the
// trace is complete.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "espalier/core/error.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier::explorer {

/// The message starts with the line number.
class bad_trace : public error {
 public:
  bad_trace(std::uint64_t at, const std::string& what) : error("line " + std::to_string(at) + ": " + what), line(at) {}
  std::uint64_t line;
};

struct trace_limits {
  std::uint64_t bytes = std::uint64_t{256} << 20;
  std::uint64_t events = 4'000'000;
};

/// Throws bad_trace.
[[nodiscard]] recorded_trace read_trace(std::istream& in, const trace_limits& limits = {});
/// Reads a file; the message starts with its name. Throws `error`.
[[nodiscard]] recorded_trace read_trace_file(const std::string& path, const trace_limits& limits = {});

}  // namespace espalier::explorer
