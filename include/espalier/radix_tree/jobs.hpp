// jobs.hpp - bulk questions as data: what run.hpp executes on a team. Pointers are in the memory of the index's device;
// null outputs are skipped.
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

/// find() for short keys; answers of long ones are left alone.
template <unsigned V>
struct radix_short_find_job {
  radix_find_job<V> find;
};

/// A leaf whose key is as long as a question's and agrees with it where nodes branch: it is the answer if the rest is
/// the same, too. What it takes to find that out:
struct radix_candidate {
  std::uint64_t heap_at;      ///< word at which the leaf's key begins
  std::uint64_t question_at;  ///< word at which the question begins, among copies
  std::uint32_t size;         ///< bytes of both
  std::uint32_t question;     ///< its number, from the first one of the job on
};
static_assert(sizeof(radix_candidate) == 24);

/// find() for questions first, first + 1, ...: short ones are answered. Long ones are answered as not found, and those
/// that have a candidate are listed, in no order; the heap is not read.
template <unsigned V>
struct radix_candidate_job {
  radix_find_job<V> find;
  std::size_t first = 0;
  radix_candidate* candidates = nullptr;
  radix_link* leaves = nullptr;     ///< of the candidates
  std::uint64_t* copies = nullptr;  ///< words of their questions; null: the host has them already
  std::uint64_t* listed = nullptr;  ///< how many candidates
  std::uint64_t* copied = nullptr;  ///< how many words
};

template <unsigned V>
struct radix_rank_job {
  radix_view<V> tree;
  detail::radix_bound what;
  byte_batch keys;
  std::uint64_t* ranks = nullptr;
};

/// Ranks [begins[i], begins[i] + counts[i]).
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

/// links[i]: the leaf beside key i, or nothing; counts[i]: how many that are. No ranks are asked for.
template <unsigned V>
struct radix_neighbour_job {
  radix_view<V> tree;
  detail::radix_slice what;
  byte_batch keys;
  radix_link* links = nullptr;
  std::uint64_t* counts = nullptr;
};

/// links[i]: the leaf that holds the key, or nothing.
template <unsigned V>
struct radix_locate_job {
  radix_view<V> tree;
  byte_batch keys;
  radix_link* links = nullptr;
};

/// then(i, the leaf that holds key i, or nothing).
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
