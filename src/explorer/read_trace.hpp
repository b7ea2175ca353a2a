// read_trace.hpp - a trace from its file, checked: every line understood, every event fits the tree, the end is
// reached.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "espalier/core/error.hpp"
#include "espalier/trace/trace.hpp"

namespace espalier::explorer {

/// What is wrong, in a sentence that begins with the line.
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
/// The same from a file; the sentence begins with its name. Throws `error`.
[[nodiscard]] recorded_trace read_trace_file(const std::string& path, const trace_limits& limits = {});

}  // namespace espalier::explorer
