// software_pipeline.hpp - finds in a static tree with few or many queries of a CPU thread under way at once.
//
// The library has one length of that software pipeline, as nobody would want another; so these are its algorithms with
// teams of the bench's own, which search nodes by plain loops. A pipeline of one prefetches nothing.
#pragma once

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// A row for each number of keys, of queries and each length: 1, 2, 4 .. 128. Keys and values are u64.
[[nodiscard]] report run_software_pipelines(const options& what);
/// The first of these alone.
[[nodiscard]] report run_without_software_pipeline(const options& what);

}  // namespace espalier::bench
