// btree_maps.hpp - std::map and absl::btree_map of the B-tree suite, each in one thread: filled once per size, which is
// the insertion, then searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/data/workload.hpp"
#include "bench/harness/cli_names.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

struct map_timing {
  distribution shape = distribution::uniform;
  operation op = operation::find;  ///< or insert_empty
  std::uint64_t keys = 0;
  peer_result result;  ///< without ratio
};

struct map_runs {
  unsigned searches = 1;    ///< the median of which counts
  unsigned insertions = 1;  ///< the same for insertions, if they do not take long
  std::size_t at_once = 1;  ///< maps that are measured concurrently
};

/// Measures the maps of each data set. Keys are inserted and searched in the order of the data. Throws wrong_answer.
[[nodiscard]] std::vector<map_timing> measure_maps(const std::vector<data_spec>& sets, const map_runs& how);

}  // namespace espalier::bench
