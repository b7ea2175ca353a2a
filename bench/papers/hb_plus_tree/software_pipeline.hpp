// software_pipeline.hpp - finds in a static tree with different numbers of concurrent queries per CPU thread.
//
// The library has one fixed length of that software pipeline, since no other length is useful in practice. These are
// therefore its algorithms with the benchmark's own teams, which search nodes by plain loops. A pipeline of length one
// does not prefetch.
#pragma once

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// Returns a row per number of keys, number of queries and length: 1, 2, 4 .. 128. Keys and values are u64.
[[nodiscard]] report run_software_pipelines(const options& what);
/// Returns the rows of length 1 only.
[[nodiscard]] report run_without_software_pipeline(const options& what);

}  // namespace espalier::bench
