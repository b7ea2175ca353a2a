// distribution_matrix.hpp - inserts and erases of batches of every key distribution relative to the tree's keys, by
// every path: `espalier bench blink --batch-distribution ...`.
//
// The tree is rebuilt for each run, outside the timed part, since a batch that was inserted and erased leaves other
// leaves than there were. Erases are of what an automatic insert brought, whatever their own path, so that paths are
// compared on the same tree. The first run of each kind is checked: what it answered, the size afterwards, every key of
// the batch.
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

/// Batches written to one tree on one device: one row for each distribution, batch, operation and path. spec.keys may
/// be 0. `say` is told what is measured next, and is called once for each distribution and batch.
[[nodiscard]] std::vector<row> measure_distributions(const options& what, const data_spec& spec, const device& dev,
                                                     const std::function<void(const std::string&)>& say);

/// Is this a report of such rows? They have a table of their own: a line for each operation, distribution, tree and
/// batch with a column for each path; then the slowest and the fastest of the largest batches.
[[nodiscard]] bool is_matrix(const report& result);
void write_matrix(const report& result, std::ostream& out);

}  // namespace espalier::bench
