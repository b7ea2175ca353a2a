// jobs.hpp - descriptors of bulk operations, which run.hpp executes on a team, one piece [first, last) at a time.
//
// Keys have the caller's type (tree.key); pointers refer to memory of the index's device; null outputs are skipped.
// With `place`, element i of the inputs is an already encoded word and its result is written to place[i]: the results
// of a batch that was sorted first return to their original positions this way.
#pragma once

#include <cstdint>

#include "espalier/index/elements.hpp"
#include "espalier/index/seek.hpp"
#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier {

/// Types in an order, as the argument of a template.
template <class... Types>
struct type_list {};

template <class Word, unsigned ValueBytes>
struct query_job {
  tree_view<Word, ValueBytes> tree;
  const void* keys = nullptr;
  const std::uint32_t* place = nullptr;
  bool ascending = false;  ///< hints that neighbouring queries are close together; a wrong hint only costs time
  /// CPU only: for each query a line at or before the line of its lower bound, found by another device (hybrid_tree).
  const std::uint32_t* lines = nullptr;
};

/// lines[i] is the first line that can hold the lower bound of key i. The job reads only the inner levels, so the inner
/// levels and the lines may be in the memory of different processors.
template <class Word>
struct find_line_job {
  tree_view<Word, external_keys> tree;
  const void* keys = nullptr;
  const std::uint32_t* groups = nullptr;  ///< start groups, if top_table_job has run already
  std::uint32_t* lines = nullptr;
};
/// The first level of find_line_job by itself: writes groups[i].
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

/// Writes ranks of lower or upper bounds.
template <class Word, unsigned ValueBytes>
struct rank_job : query_job<Word, ValueBytes> {
  bool upper = false;
  std::uint64_t* ranks = nullptr;
};

template <class Word, unsigned ValueBytes>
struct seek_job : query_job<Word, ValueBytes> {
  detail::seek_kind kind = detail::seek_kind::lower_bound;
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

/// Key ranges, the input of every operation over ranges.
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

/// Writes element i of the output, which belongs to the query q with offsets[q] <= i < offsets[q + 1].
template <class Word, unsigned ValueBytes>
struct fill_job {
  tree_view<Word, ValueBytes> tree;
  const std::uint64_t* offsets = nullptr;
  const std::uint64_t* starts = nullptr;  ///< rank of the first element of each range
  /// GPU only, if `starts` is null: the ranges, whose lower ends are searched by the warps that copy their elements.
  const void* lo = nullptr;
  interval ends = interval::closed;
  std::uint64_t queries = 0;
  std::uint64_t capacity = 0;  ///< elements that the outputs can hold
  void* out_keys = nullptr;
  void* out_values = nullptr;
};

/// Writes the first `limit` elements of each range [keys[i], hi[i]] to positions i * limit and up, in one pass without
/// offsets.
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

template <class Word, unsigned ValueBytes>
struct aggregate_job : range_job<Word, ValueBytes> {
  detail::aggregate_op op = detail::aggregate_op::sum;
  void* out = nullptr;
  std::uint8_t* found = nullptr;
};

/// All bulk operations. Tables of compiled code are made from this list, so that a new job is named here only.
template <class Word, unsigned V>
using bulk_jobs = type_list<find_job<Word, V>, rank_job<Word, V>, seek_job<Word, V>, select_job<Word, V>,
                            count_job<Word, V>, fill_job<Word, V>, range_head_job<Word, V>, aggregate_job<Word, V>,
                            find_line_job<Word>, top_table_job<Word>>;

}  // namespace espalier
