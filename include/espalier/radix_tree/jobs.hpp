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

/// links[i]: the leaf that holds the key, or nothing.
template <unsigned V>
struct radix_locate_job {
  radix_view<V> tree;
  byte_batch keys;
  radix_link* links = nullptr;
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
