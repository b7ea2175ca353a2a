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

/// A batch that is not merged as a whole: are its equal keys taken together (combine.hpp; `bulk`), or is each element a
/// write of its own? `mixed`: it has an operation for each. `lent`: refs may be writing.
[[nodiscard]] write_explanation plan_mixed(std::size_t n, bool mixed, const write_options& options, bool on_gpu,
                                           bool has_live_refs);

// ---- decisions on a GPU that are taken while a batch is written ----------------------------------------------------

/// How keys lie among the leaves of a tree, by a sample (cuda_spread.cuh).
struct batch_spread {
  float queue;         ///< keys that go to the same leaf as a key does, on average over the keys
  std::uint32_t span;  ///< leaves from the first one to the last one
};
struct leaf_sizes {
  std::size_t leaves;
  std::size_t node_bytes;
};
/// Elements for each leaf that a batch touches, from which on it is merged as soon as the first pass sees that.
[[nodiscard]] float merges_dense_from();
/// A batch that comes while upper levels wait: is it merged, too, or are they made first?
[[nodiscard]] bool merges_first(const batch_spread& spread, std::size_t n, const leaf_sizes& tree);
/// Of n keys that are spread over the tree.
[[nodiscard]] batch_spread even_spread(std::size_t n, const leaf_sizes& tree);
/// Elements that the first of two passes over a batch of n left over (write.hpp): are they such a share of it that a
/// look at where they lie pays?
[[nodiscard]] bool may_have_met(std::size_t refused, std::size_t n);
/// Are they merged in bulk, or written key by key in a second pass?
[[nodiscard]] bool merges_rest(const batch_spread& spread, std::size_t refused, const leaf_sizes& tree);
/// The same for a batch that is combined (combine.hpp), of which no spread is known.
[[nodiscard]] bool merges_refused(std::size_t refused, std::size_t leaves);

}  // namespace espalier::detail
