// distribution_matrix.hpp - inserts and erases of batches of every key distribution relative to the tree's keys, by
// every path: `espalier bench blink --batch-distribution ...`.
//
// The tree is rebuilt for each run, outside the timed part, since inserting and erasing a batch changes its leaves.
// Every erase removes what an automatic insert added, whatever its own path, so that paths are compared on the same
// tree. The first run of each kind is checked: its results, the size afterwards, and every key of the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/data/workload.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

/// Measures batches written to one tree on one device and returns one row per distribution, batch, operation and path.
/// spec.keys may be 0. `say` is called with the next step once per distribution and batch.
[[nodiscard]] std::vector<row> measure_distributions(const options& what, const data_spec& spec, const device& dev,
                                                     const std::function<void(const std::string&)>& say);

/// Returns whether the report has such rows. They have their own table: a line per operation, distribution, tree and
/// batch with a column per path, followed by the slowest and the fastest of the largest batches.
[[nodiscard]] bool is_matrix(const report& result);
void write_matrix(const report& result, std::ostream& out);

}  // namespace espalier::bench
