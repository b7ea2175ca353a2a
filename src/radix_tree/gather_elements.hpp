// gather_elements.hpp - gathers keys and values of elements of a radix tree by rank: first the lengths of the keys,
// then their bytes.
#pragma once

#include "espalier/radix_tree/jobs.hpp"
#include "radix_tree/storage.hpp"
#include "static_tree/build_kernels.hpp"

namespace espalier::detail {

/// Maps element e of the results to its leaf. Query i owns results [offsets[i], offsets[i + 1]).
template <unsigned V>
struct listed_element {
  radix_view<V> tree;
  const std::uint64_t* begins;  ///< null if elements are selected by rank, not by queries
  const std::uint64_t* offsets;
  std::size_t queries;
  const std::uint64_t* ranks;  ///< ranks of the elements; null for all elements
  const radix_link* links;     ///< used instead of `begins` if a query has at most one result
  [[nodiscard]] ESPALIER_INLINE radix_link operator()(std::size_t e) const {
    if (begins == nullptr && links == nullptr) return tree.leaf_at(ranks == nullptr ? e : ranks[e]);
    std::size_t first = 0, last = queries;  // invariant: offsets[first] <= e < offsets[last]
    while (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      (offsets[middle] <= e ? first : last) = middle;
    }
    return links != nullptr ? links[first] : tree.leaf_at(begins[first] + (e - offsets[first]));
  }
};
template <unsigned V>
struct list_length {
  listed_element<V> element;
  std::uint64_t* lengths;
  ESPALIER_HD void operator()(std::size_t e) const { lengths[e] = element.tree.key_of(element(e)).size; }
};
template <unsigned V>
struct list_element {
  listed_element<V> element;
  const std::uint64_t* key_offsets;
  std::uint8_t* bytes;
  void* values;
  ESPALIER_HD void operator()(std::size_t e) const {
    const radix_link l = element(e);
    const leaf_key key = element.tree.key_of(l);
    std::uint8_t* const to = bytes + key_offsets[e];
    for (std::uint32_t at = 0; at < key.size; at += 8) {
      std::uint64_t word = key.word(at);
      const std::uint32_t left = key.size - at < 8 ? key.size - at : 8;
      for (std::uint32_t b = 0; b < left; ++b, word <<= 8) to[at + b] = static_cast<std::uint8_t>(word >> 56);
    }
    if constexpr (V != 0) {
      const unsigned n = element.tree.value_bytes;
      memcpy(static_cast<std::uint8_t*>(values) + e * n, element.tree.value_of(l), n);
    }
  }
};

template <class Context, unsigned V>
struct element_gather {
  const radix_view<V>& tree;
  Context& context;

  /// Requires result.total and, for queries, result.offsets.
  void list(byte_range_buffers& result, const std::uint64_t* begins, std::size_t queries,
            const std::uint64_t* ranks = nullptr, const radix_link* links = nullptr) const {
    const listed_element<V> element{tree, begins, result.offsets.data(), queries, ranks, links};
    const stream& order = context.order();
    result.key_offsets = buffer<std::uint64_t>(context.get_device(), result.total + 1, order);
    context.zero(result.key_offsets.data() + result.total, 8);
    context.for_each(result.total, list_length<V>{element, result.key_offsets.data()});
    context.exclusive_scan(result.key_offsets.data(), result.key_offsets.data(), result.total + 1);
    result.total_bytes = context.read(result.key_offsets.data() + result.total);
    result.key_bytes = raw_buffer(context.get_device(), result.total_bytes, order);
    result.values = raw_buffer(context.get_device(), result.total * tree.value_bytes, order);
    context.for_each(result.total,
                     list_element<V>{element, result.key_offsets.data(),
                                     static_cast<std::uint8_t*>(result.key_bytes.data()), result.values.data()});
  }
  /// Gathers elements of n ranks, or all elements if `ranks` is null.
  [[nodiscard]] byte_range_buffers elements(const std::uint64_t* ranks, std::uint64_t n) const {
    byte_range_buffers result;
    result.total = n;
    list(result, nullptr, 0, ranks);
    return result;
  }
};

}  // namespace espalier::detail
