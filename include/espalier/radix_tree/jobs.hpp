// jobs.hpp - descriptors of bulk queries, which run.hpp executes on a team. Pointers refer to memory of the index's
// device; null outputs are skipped.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/view.hpp"

namespace espalier {

template <unsigned V>
struct radix_find_job {
  radix_view<V> tree;
  byte_batch keys;
  void* values = nullptr;
  std::uint8_t* found = nullptr;
};

/// find() for short keys; results of long keys are not written.
template <unsigned V>
struct radix_short_find_job {
  radix_find_job<V> find;
};

/// A leaf whose key has the length of the query and agrees with it at all branches: it is the result if the other bytes
/// are equal too. The members locate both keys for this comparison.
struct radix_candidate {
  std::uint64_t heap_at;      ///< word at which the leaf's key begins
  std::uint64_t question_at;  ///< word at which the query begins, among the copies
  std::uint32_t size;         ///< bytes of each of the two
  std::uint32_t question;     ///< number of the query, counted from the first one of the job
};
static_assert(sizeof(radix_candidate) == 24);

/// find() for queries first, first + 1, ...: short keys are answered. Long keys are answered as not found, and those
/// that have a candidate are listed, in no particular order; the heap is not read.
template <unsigned V>
struct radix_candidate_job {
  radix_find_job<V> find;
  std::size_t first = 0;
  radix_candidate* candidates = nullptr;
  radix_link* leaves = nullptr;     ///< leaves of the candidates
  std::uint64_t* copies = nullptr;  ///< words of their queries; null if the host has them already
  std::uint64_t* listed = nullptr;  ///< number of candidates
  std::uint64_t* copied = nullptr;  ///< number of words
};

template <unsigned V>
struct radix_rank_job {
  radix_view<V> tree;
  bound_type what;
  byte_batch keys;
  std::uint64_t* ranks = nullptr;
};

/// Writes slices as ranks [begins[i], begins[i] + counts[i]).
template <unsigned V>
struct radix_slice_job {
  radix_view<V> tree;
  detail::radix_slice what;
  byte_batch lo, hi;
  interval ends = interval::closed;
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint64_t* begins = nullptr;
  std::uint64_t* counts = nullptr;
};

/// links[i] is the neighbouring leaf of key i, or nothing; counts[i] is the number of such leaves. Needs no ranks.
template <unsigned V>
struct radix_neighbour_job {
  radix_view<V> tree;
  detail::radix_slice what;
  byte_batch keys;
  radix_link* links = nullptr;
  std::uint64_t* counts = nullptr;
};

/// links[i] is the leaf that holds the key, or nothing.
template <unsigned V>
struct radix_locate_job {
  radix_view<V> tree;
  byte_batch keys;
  radix_link* links = nullptr;
};

/// Calls then(i, link), where link is the leaf that holds key i, or nothing.
template <unsigned V, class Then>
struct radix_each_job {
  radix_view<V> tree;
  byte_batch keys;
  Then then;
};

template <unsigned V>
struct radix_longest_prefix_job {
  radix_view<V> tree;
  byte_batch keys;
  std::uint32_t* lengths = nullptr;
  void* values = nullptr;
  std::uint8_t* found = nullptr;
};

}  // namespace espalier
