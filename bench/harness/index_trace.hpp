// index_trace.hpp - `espalier bench --trace`: what a measured tree does, recorded apart from the timed runs, which have
// no hooks.
#pragma once

#include <string>

#include "bench/harness/options.hpp"
#include "espalier/trace/trace.hpp"

namespace espalier::bench {

/// The first shape, distribution and size of a run. The trace says what was left out. Throws bad_arguments if that
/// shape has no hooks, or none of the operations leaves events.
[[nodiscard]] recorded_trace record_trace(const options& what);

/// The operations of an index that leave events, for help texts and error sentences; `written`: it is written to.
[[nodiscard]] std::string traced_operations(index_kind index, bool written);

}  // namespace espalier::bench
