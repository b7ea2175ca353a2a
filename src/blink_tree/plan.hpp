// plan.hpp - how a batch of writes is done: key by key, or sorted and merged.
#pragma once

#include <cstddef>

#include "espalier/blink_tree/options.hpp"

namespace espalier::detail {

struct write_question {
  write_op op;
  std::size_t n;           ///< elements of the batch
  std::size_t leaves;      ///< of the tree, roughly
  std::size_t leaf_slots;  ///< in them
  std::size_t node_bytes;
  unsigned threads;
  bool on_gpu;
  bool one_writer;  ///< protocol none: key by key means one after the other
};

[[nodiscard]] write_explanation plan_write(const write_question& q, const write_options& options);

/// A batch that is not merged as a whole: are its equal keys taken together (combine.hpp; `bulk`), or is each element a write
/// of its own? `mixed`: it has an operation for each. `lent`: refs may be writing.
[[nodiscard]] write_explanation plan_mixed(std::size_t n, bool mixed, const write_options& options, bool on_gpu, bool lent);

/// Elements for each leaf that a batch touches, from which on it is merged while upper levels wait (cuda_spread.cuh).
[[nodiscard]] float merges_dense_from();

/// Elements that the first of two passes over a batch left over (write.hpp): merged in bulk, or key by key in a second?
[[nodiscard]] bool merges_refused(std::size_t refused, std::size_t leaves);
/// True if the share of refused elements shows that they met at few leaves.
[[nodiscard]] bool met_at_few_leaves(std::size_t refused, std::size_t n);

}  // namespace espalier::detail
