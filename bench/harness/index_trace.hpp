// index_trace.hpp - `espalier bench --trace`: records what a measured tree does, separately from the timed runs, which
// have no hooks.
#pragma once

#include <string>

#include "bench/harness/options.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier::bench {

/// Records the first shape, distribution and size of a run. The trace states what was omitted. Throws bad_arguments if
/// that shape has no hooks, or none of the operations produces events.
[[nodiscard]] recorded_trace record_trace(const options& what);

/// Returns the operations of an index that produce events, for help texts and error messages; `written` includes
/// writes.
[[nodiscard]] std::string traced_operations(index_kind index, bool written);

}  // namespace espalier::bench
