// plan.hpp - how a batch is answered: predicted cost of each plan, from measured constants.
#pragma once

#include <cstddef>

#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

/// What the prediction looks at.
struct plan_input {
  std::size_t queries = 0;
  std::size_t leaf_bytes = 0;
  std::size_t inner_bytes = 0;
  unsigned threads = 1;  ///< CPU threads; ignored on a GPU
  bool on_gpu = false;
  unsigned word_bytes = 4;
  batch_order order = batch_order::unknown;
};

/// The cheapest plan, or the one the caller wants.
[[nodiscard]] query_plan choose(const plan_input& input, query_plan wanted);

/// The same with all plans that were considered and their predicted seconds.
[[nodiscard]] explanation explain(const plan_input& input, query_plan wanted);

}  // namespace espalier::detail
