// jobs.hpp - bulk operations as data: what run.hpp executes on a team, one piece [first, last) at a time.
//
// Keys are in the caller's type (tree.key says which); pointers are in the memory of the index's device; null outputs
// are skipped.
#pragma once

#include <cstdint>

#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/node.hpp"
#include "espalier/static_tree/jobs.hpp"  // aggregate_kind

namespace espalier {

template <class View>
struct blink_find_job {
  View tree;
  const void* keys = nullptr;
  void* values = nullptr;
  std::uint8_t* found = nullptr;
  /// CPU only: for each query a line of the lane, at or before the one of its leaf, that somebody else found
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
  leaf_position* starts = nullptr;  ///< where each range begins; may be null
  /// The same as a place in the lane, which is only a start: writers may be about. For teams with batches; may be null.
  std::uint32_t* lines = nullptr;
  /// How many elements lie before each leaf of the lane, which names all of them; not known: leaves are followed by
  /// their links.
  leaf_ranks ranks;
  std::uint32_t* long_ones = nullptr;  ///< becomes 1 if a range has more elements than one part; may be null
};

/// A long range is filled in parts, by a team each.
inline constexpr std::uint64_t range_part = 512;
struct parts_of_range {
  const std::uint64_t* offsets;
  std::uint64_t* parts;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t n = offsets[i + 1] - offsets[i];
    parts[i] = n <= range_part ? 1 : (n + range_part - 1) / range_part;
  }
};

/// Query i writes elements [offsets[i], offsets[i + 1]) of the outputs; `changed` tells if a writer was there since
/// they were counted.
template <class View>
struct blink_fill_job : blink_range_job<View> {
  std::uint64_t limit = ~std::uint64_t{0};
  const std::uint64_t* offsets = nullptr;
  const leaf_position* starts = nullptr;  ///< from the count, if nobody writes between (stable_reads)
  const std::uint32_t* lines = nullptr;   ///< from the count; may be null
  leaf_ranks ranks;                       ///< as in the count; starts then name leaves by their place in the lane
  const std::uint64_t* parts =
      nullptr;  ///< with ranks: element i of the job is a part of a range; before each range. May be null
  std::size_t ranges = 0;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint32_t* changed = nullptr;  ///< counts queries that found another number of elements; may be null
};

/// Query i writes to places from i * limit on of the outputs, and how many they are.
template <class View>
struct blink_rows_job : blink_range_job<View> {
  std::uint64_t limit = 0;
  std::uint64_t* counts = nullptr;
  leaf_ranks ranks;                      ///< as in the count
  const std::uint32_t* lines = nullptr;  ///< where the lane names first leaves of ranges, if that is known; CPU only
  void* out_keys = nullptr;
  void* out_values = nullptr;
};

template <class View>
struct blink_aggregate_job : blink_range_job<View> {
  aggregate_kind op = aggregate_kind::sum;
  void* out = nullptr;
  std::uint8_t* found = nullptr;
};

/// Writes and mixed operations.
template <class View>
struct blink_write_job {
  View tree;
  const std::uint8_t* ops = nullptr;  ///< blink_op per element; null: all are `op`
  blink_op op = blink_op::insert;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* out_values = nullptr;
  std::uint8_t* done = nullptr;
  std::size_t size = 0;                  ///< of the batch
  const std::uint32_t* order = nullptr;  ///< element i is the one numbered order[i]; null: number i
  std::uint32_t* refused = nullptr;      ///< numbers of elements that found no room are appended here
  std::uint32_t* refusals = nullptr;     ///< how many
};

/// One operation for all, known when compiled; inserts by the first of two passes (write.hpp, splitting).
template <class View, blink_op Op>
struct blink_first_pass_job : blink_write_job<View> {};

/// Equal keys are neighbours in `order`: each run of them is left to one team, which does them one after the other.
template <class View>
struct blink_ordered_job : blink_write_job<View> {
  bool resumed = false;  ///< element e is still to do if done[e] says `refused_mark`
};

}  // namespace espalier
