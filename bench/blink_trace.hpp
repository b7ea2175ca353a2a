// blink_trace.hpp - `espalier bench --trace`: what a measured B-link tree does, recorded apart from the timed runs, which
// have no hooks.
#pragma once

#include <cstdint>

#include "bench/options.hpp"
#include "espalier/trace/trace.hpp"

namespace espalier::bench {

inline constexpr std::uint64_t most_traced_keys = 4096;
inline constexpr std::uint64_t most_traced_operations = 512;

/// The first shape, distribution and size of a run. The trace says what was left out. Throws bad_arguments if that shape
/// has no hooks.
[[nodiscard]] recorded_trace record_blink_trace(const options& what);

}  // namespace espalier::bench
