// plan.hpp - selection of the plan of a batch by the predicted cost of each plan, from measured constants.
#pragma once

#include <cstddef>

#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

/// Inputs of the prediction.
struct plan_input {
  std::size_t queries = 0;
  std::size_t leaf_bytes = 0;
  std::size_t inner_bytes = 0;
  unsigned threads = 1;  ///< CPU threads; ignored on a GPU
  bool on_gpu = false;
  unsigned word_bytes = 4;
  batch_order order = batch_order::unknown;
  unsigned searches = 1;  ///< per query: two for a range, whose ends are close to each other or not
};

/// Returns the cheapest plan, or the one that the caller requests.
[[nodiscard]] query_plan choose(const plan_input& input, query_plan wanted);

/// The same, with all plans that were considered and their predicted seconds.
[[nodiscard]] explanation explain(const plan_input& input, query_plan wanted);

/// Whether a batch for which the caller cannot request a plan is partitioned first.
[[nodiscard]] inline bool partitions_first(const plan_input& input) {
  return choose(input, query_plan::automatic) == query_plan::partition_first;
}

}  // namespace espalier::detail
