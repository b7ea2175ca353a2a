// jobs.hpp - bulk questions as data: what run.hpp executes on a team. Pointers are in the memory of the index's device; null
// outputs are skipped.
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
  detail::radix_question what;
  byte_batch keys;
  std::uint64_t* ranks = nullptr;
};

template <unsigned V>
struct radix_count_job {
  radix_view<V> tree;
  byte_batch lo, hi;
  interval ends = interval::closed;
  std::uint64_t* counts = nullptr;
};

template <unsigned V>
struct radix_count_prefix_job {
  radix_view<V> tree;
  byte_batch prefixes;
  std::uint64_t* counts = nullptr;
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
