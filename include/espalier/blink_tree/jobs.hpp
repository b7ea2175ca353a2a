// jobs.hpp - descriptors of bulk operations, which run.hpp executes on a team, one piece [first, last) at a time.
//
// Keys have the caller's type (tree.key); pointers refer to memory of the index's device; null outputs are skipped.
#pragma once

#include <cstdint>

#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/node.hpp"
#include "espalier/index/elements.hpp"

namespace espalier {

template <class View>
struct blink_find_job {
  View tree;
  const void* keys = nullptr;
  void* values = nullptr;
  std::uint8_t* found = nullptr;
  /// CPU only: for each query a line of the lane at or before the line of its leaf, found by another device
  /// (hybrid_tree).
  const std::uint32_t* lines = nullptr;
};

template <class View>
struct blink_seek_job {
  View tree;
  detail::seek_kind kind = detail::seek_kind::lower_bound;
  const void* keys = nullptr;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint8_t* found = nullptr;
};

template <class View>
struct blink_range_job {
  View tree;
  const void* lo = nullptr;
  const void* hi = nullptr;
  interval ends = interval::closed;
};

template <class View>
struct blink_count_job : blink_range_job<View> {
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint64_t* counts = nullptr;
  leaf_position* starts = nullptr;  ///< first element of each range; may be null
  /// The same as a line of the lane, which is only a start, because writers may be active. For teams with batches; may
  /// be null.
  std::uint32_t* lines = nullptr;
  /// Number of elements before each leaf of the lane, which then names all leaves. If unknown, leaves are followed by
  /// their links.
  leaf_ranks ranks;
  std::uint32_t* long_ones = nullptr;  ///< set to 1 if a range has more elements than one part; may be null
};

/// A long range is filled in parts of this size, each by one team.
inline constexpr std::uint64_t range_part = 512;
struct parts_of_range {
  const std::uint64_t* offsets;
  std::uint64_t* parts;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t n = offsets[i + 1] - offsets[i];
    parts[i] = n <= range_part ? 1 : (n + range_part - 1) / range_part;
  }
};

/// Query i writes elements [offsets[i], offsets[i + 1]) of the outputs; `changed` reports whether a range was changed
/// since it was counted.
template <class View>
struct blink_fill_job : blink_range_job<View> {
  std::uint64_t limit = ~std::uint64_t{0};
  const std::uint64_t* offsets = nullptr;
  const leaf_position* starts = nullptr;  ///< result of the count, if there are no writes in between (stable_reads)
  const std::uint32_t* lines = nullptr;   ///< result of the count; may be null
  leaf_ranks ranks;                       ///< as in the count; `starts` then hold lines of the lane instead of leaves
  /// Number of parts before each range, with ranks: element i of the job is then a part. May be null.
  const std::uint64_t* parts = nullptr;
  std::size_t ranges = 0;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint32_t* changed = nullptr;  ///< counts queries that found a different number of elements; may be null
};

/// Query i writes its elements to positions from i * limit on of the outputs, and their number to counts[i].
template <class View>
struct blink_rows_job : blink_range_job<View> {
  std::uint64_t limit = 0;
  std::uint64_t* counts = nullptr;
  leaf_ranks ranks;                      ///< as in the count
  const std::uint32_t* lines = nullptr;  ///< lines of the lane that name the first leaves, if known; CPU only
  void* out_keys = nullptr;
  void* out_values = nullptr;
};

template <class View>
struct blink_aggregate_job : blink_range_job<View> {
  detail::aggregate_op op = detail::aggregate_op::sum;
  void* out = nullptr;
  std::uint8_t* found = nullptr;
};

/// Writes and mixed operations.
template <class View>
struct blink_write_job {
  View tree;
  const std::uint8_t* ops = nullptr;  ///< blink_op per element; if null, all are `op`
  blink_op op = blink_op::insert;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* out_values = nullptr;
  std::uint8_t* done = nullptr;
  std::size_t size = 0;                  ///< number of elements of the batch
  const std::uint32_t* order = nullptr;  ///< element i is the one numbered order[i]; if null, number i
  std::uint32_t* refused = nullptr;      ///< numbers of elements that found no free node are appended here
  std::uint32_t* refusals = nullptr;     ///< their number
};

/// One operation for all elements, known at compile time. For inserts it is the first of two passes (write.hpp,
/// split_policy).
template <class View, blink_op Op>
struct blink_first_pass_job : blink_write_job<View> {};

/// Equal keys are adjacent in `order`: each run of them is executed by one team, in sequence.
template <class View>
struct blink_ordered_job : blink_write_job<View> {
  bool resumed = false;  ///< element e is still to be executed if done[e] is `refused_mark`
};

}  // namespace espalier
