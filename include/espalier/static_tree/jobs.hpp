// jobs.hpp - bulk operations as data: what run.hpp executes on a team, one piece [first, last) at a time.
//
// Keys are in the caller's type (tree.key says which); pointers are in the memory of the index's device; null outputs
// are skipped. With `place`, element i of the inputs is a word already encoded and its answer goes to place[i]: that is
// how a batch that was sorted first is put back.
#pragma once

#include <cstdint>

#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier {

template <class Word, unsigned ValueBytes>
struct query_job {
  tree_view<Word, ValueBytes> tree;
  const void* keys = nullptr;
  const std::uint32_t* place = nullptr;
  bool ascending = false;  ///< expect neighbours to be near each other; wrong expectations cost time only
  /// CPU only: a line for each query, at or before the one of its lower bound, that somebody else found (hybrid_tree).
  const std::uint32_t* lines = nullptr;
};

/// lines[i]: the first line that can hold the lower bound of key i. Upper levels alone are read, so that they may lie
/// in the memory of one processor and the lines in that of another.
template <class Word>
struct find_line_job {
  tree_view<Word, external_keys> tree;
  const void* keys = nullptr;
  const std::uint32_t* groups = nullptr;  ///< where to go on, if the table has been looked at already
  std::uint32_t* lines = nullptr;
};
/// The first level of that by itself: groups[i].
template <class Word>
struct top_table_job {
  tree_view<Word, external_keys> tree;
  const void* keys = nullptr;
  std::uint32_t* groups = nullptr;
};

template <class Word, unsigned ValueBytes>
struct find_job : query_job<Word, ValueBytes> {
  void* values = nullptr;
  std::uint8_t* found = nullptr;
};

/// Ranks of lower (or upper) bounds.
template <class Word, unsigned ValueBytes>
struct bound_job : query_job<Word, ValueBytes> {
  bool upper = false;
  std::uint64_t* ranks = nullptr;
};

template <class Word, unsigned ValueBytes>
struct neighbour_job : query_job<Word, ValueBytes> {
  bool successor = true;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint8_t* found = nullptr;
};

template <class Word, unsigned ValueBytes>
struct select_job {
  tree_view<Word, ValueBytes> tree;
  const std::uint64_t* ranks = nullptr;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint8_t* found = nullptr;
};

/// Ranges of keys, as every operation over ranges sees them.
template <class Word, unsigned ValueBytes>
struct range_job {
  tree_view<Word, ValueBytes> tree;
  const void* lo = nullptr;
  const void* hi = nullptr;
  interval ends = interval::closed;
};

template <class Word, unsigned ValueBytes>
struct count_job : range_job<Word, ValueBytes> {
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint64_t* counts = nullptr;
  std::uint64_t* starts = nullptr;  ///< rank of the first element of each range
};

/// One element of output each: element i belongs to the query q with offsets[q] <= i < offsets[q + 1].
template <class Word, unsigned ValueBytes>
struct fill_job {
  tree_view<Word, ValueBytes> tree;
  const std::uint64_t* offsets = nullptr;
  const std::uint64_t* starts = nullptr;
  std::uint64_t queries = 0;
  std::uint64_t capacity = 0;  ///< elements that the outputs have room for
  void* out_keys = nullptr;
  void* out_values = nullptr;
};

/// The first `limit` elements of each range [keys[i], hi[i]], in places i * limit and up: one pass, without offsets.
template <class Word, unsigned ValueBytes>
struct range_head_job : query_job<Word, ValueBytes> {
  const void* hi = nullptr;
  interval ends = interval::closed;
  std::uint64_t limit = 0;
  void* out_keys = nullptr;
  void* out_values = nullptr;
  std::uint64_t* counts = nullptr;
  std::uint8_t* byte_counts = nullptr;  ///< the same, for limits below 256; either may be null

  ESPALIER_HD void tell(std::size_t i, std::uint64_t count) const {
    if (counts != nullptr) counts[i] = count;
    if (byte_counts != nullptr) byte_counts[i] = static_cast<std::uint8_t>(count);
  }
};

enum class aggregate_kind : std::uint8_t { sum, min, max, avg };

template <class Word, unsigned ValueBytes>
struct aggregate_job : range_job<Word, ValueBytes> {
  aggregate_kind op = aggregate_kind::sum;
  void* out = nullptr;
  std::uint8_t* found = nullptr;
};

}  // namespace espalier
