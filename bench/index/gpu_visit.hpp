// gpu_visit.hpp - visits of an index on a GPU: the types and shapes that bench/index/gpu_visit.cu is compiled for.
//
// A reduction kernel per combination costs nvcc seconds. These cover both widths, integers and floats, and every B-link
// tree of u32 and u64 keys with different nodes: a visit reads leaves, whatever protocol writes them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::bench {

[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<std::uint32_t, std::uint32_t>& tree);
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<std::uint64_t, std::uint64_t>& tree);
#ifdef ESPALIER_BENCH_ALL_TYPES
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<float, float>& tree);
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<double, double>& tree);
#endif

template <class Key, class Value, class Policy>
[[nodiscard]] std::uint64_t visit_on_gpu(const blink_tree<Key, Value, Policy>& tree);

/// Returns whether the combination is compiled; values are represented by size, not by type.
template <class Key, class Value, class Policy>
[[nodiscard]] constexpr bool visits_on_gpu() {
  if (!std::is_same_v<Value, word_of<Key>> || Policy::protocol != protocol::blink ||
      Policy::inner != inner_index::express_lane) {
    return false;
  }
  return std::is_same_v<Key, Value> || (std::is_floating_point_v<Key> && Policy::slots == 0);
}

}  // namespace espalier::bench
