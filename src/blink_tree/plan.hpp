// plan.hpp - selects how a batch of writes is executed: key by key, or sorted and merged; and whether reads are
// partitioned first.
#pragma once

#include <cstddef>

#include "espalier/blink_tree/options.hpp"

namespace espalier::detail {

struct write_question {
  write_op op;
  std::size_t n;           ///< elements of the batch
  std::size_t leaves;      ///< leaves of the tree, approximately
  std::size_t leaf_slots;  ///< slots of these leaves
  std::size_t node_bytes;
  unsigned threads;
  bool on_gpu;
  bool one_writer;  ///< single_writer protocol: key by key means sequentially
};

[[nodiscard]] write_explanation plan_write(const write_question& q, const write_options& options);

/// For a batch that is not merged as a whole: whether its equal keys are combined (coalesce_batch.hpp; `bulk`), or each
/// element is a separate write. `mixed`: each element has its own operation. `has_live_refs`: refs may be writing.
[[nodiscard]] write_explanation plan_mixed(std::size_t n, bool mixed, const write_options& options, bool on_gpu,
                                           bool has_live_refs);

/// A batch of reads. Ranges are planned by their lower ends.
struct read_question {
  std::size_t n;
  std::size_t leaf_bytes;
  unsigned word_bytes;
  unsigned threads;
  bool on_gpu;
  bool has_buckets;  ///< there is an express lane, and reads need not ask the inner nodes
};
/// What a sample of the batch shows. Queries that ascend or descend, and those of few leaves, share cache lines as they
/// come.
enum class batch_sample : std::uint8_t { none, spread, ordered, few_leaves };

/// Whether a batch is answered bucket by bucket (docs/design/partition-first.md), unless a sample of it is against it.
[[nodiscard]] bool partitions_reads(const read_question& q, const query_options& options);
/// The plan of a batch, with the predicted times on a CPU and the reason.
[[nodiscard]] explanation plan_reads(const read_question& q, const query_options& options, batch_sample seen);

// ---- decisions on a GPU that are taken while a batch is written ----------------------------------------------------

/// Distribution of keys over the leaves of a tree, from a sample (cuda_spread.cuh).
struct batch_spread {
  float queue;         ///< average number of keys of the batch in the leaf of a key
  std::uint32_t span;  ///< leaves from the first one to the last one
};
struct leaf_sizes {
  std::size_t leaves;
  std::size_t node_bytes;
};
/// Elements per touched leaf from which on a batch is merged as soon as the first pass detects it.
[[nodiscard]] float merges_dense_from();
/// For a batch that arrives while inner levels are pending: whether it is merged too, or they are rebuilt first.
[[nodiscard]] bool merges_first(const batch_spread& spread, std::size_t n, const leaf_sizes& tree);
/// The distribution of n keys that are spread over the tree.
[[nodiscard]] batch_spread even_spread(std::size_t n, const leaf_sizes& tree);
/// Whether the elements refused by the first of two passes over a batch of n (write.hpp) are such a share of it that a
/// sample of their distribution pays off.
[[nodiscard]] bool may_have_met(std::size_t refused, std::size_t n);
/// Whether these elements are merged in bulk, or written key by key in a second pass.
[[nodiscard]] bool merges_rest(const batch_spread& spread, std::size_t refused, const leaf_sizes& tree);
/// The same for a batch with combined keys (coalesce_batch.hpp), whose distribution is unknown.
[[nodiscard]] bool merges_refused(std::size_t refused, std::size_t leaves);

}  // namespace espalier::detail
