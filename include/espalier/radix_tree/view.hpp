// view.hpp - the parts of a radix tree that searches and refs use.
//
// The root table is an index over leading bits of the keys, starting at their first difference. Cell v leads to the
// lowest node above all keys that have all these bits with value v; shorter keys are found from the root. Like the
// express lane of the B-link tree, the table may be stale: writes do not update it, and a search for which it leads to
// nothing restarts at the root, unless the table is exact.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/scalar.hpp"
#include "espalier/radix_tree/leaf.hpp"
#include "espalier/radix_tree/node.hpp"

namespace espalier {

template <unsigned V>
struct radix_view {
  using value = typename value_raw<V>::type;
  static constexpr unsigned value_slot = V;

  radix_node4* node4 = nullptr;
  radix_node16* node16 = nullptr;
  radix_node48* node48 = nullptr;
  radix_node256* node256 = nullptr;
  std::byte* leaves[leaf_classes] = {};
  const std::uint64_t* heap = nullptr;  ///< words of long keys

  radix_link root;
  std::uint64_t size = 0;  ///< keys
  scalar_kind value_kind = scalar_kind::opaque;
  std::uint32_t value_bytes = 0;  ///< size of the caller's type

  const radix_link* cells = nullptr;
  std::uint32_t table_at = 0;    ///< position of the first byte of the table
  std::uint32_t table_bits = 0;  ///< 0 if there is no table
  bool table_is_exact = false;

  /// Leaves in key order. Null if all leaves have one kind and are stored in key order.
  const radix_link* order = nullptr;
  radix_kind only_kind = radix_kind::nothing;
  /// Rank of each leaf; null if all are of one class and stored in key order.
  const std::uint32_t* ranks[leaf_classes] = {};

  [[nodiscard]] ESPALIER_INLINE std::byte* leaf(unsigned c, std::uint32_t index) const {
    return leaves[c] + std::size_t{index} * leaf_bytes(c, V);
  }
  [[nodiscard]] ESPALIER_INLINE std::byte* leaf(radix_link l) const { return leaf(leaf_class(l.kind()), l.index()); }
  [[nodiscard]] ESPALIER_INLINE value* value_of(radix_link l) const {
    const unsigned c = leaf_class(l.kind());
    return reinterpret_cast<value*>(leaf(c, l.index()) + leaf_value_at(c, V));
  }
  /// Returns the stamp of a leaf, or null if its class has none.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* stamp_of(radix_link l) const {
    const unsigned c = leaf_class(l.kind()), at = leaf_stamp_at(c, V);
    return at == 0 ? nullptr : reinterpret_cast<std::uint32_t*>(leaf(c, l.index()) + at);
  }
  [[nodiscard]] ESPALIER_INLINE leaf_key key_of(radix_link l) const {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(leaf(l));
    const unsigned c = leaf_class(l.kind());
    if (c == long_class) return {heap + words[0], static_cast<std::uint32_t>(words[1]), leaf_key::no_tail};
    const bool full = (static_cast<unsigned>(l.kind()) & 1u) != 0;
    static_assert((static_cast<unsigned>(radix_kind::leaf8_full) & 1u) != 0);
    const std::uint32_t last = leaf_words(c) - 1;
    return {words, full ? 8 * (last + 1) : static_cast<std::uint32_t>(words[last] & 0xff),
            full ? leaf_key::no_tail : last};
  }

  /// Calls f(node) for the node that a link refers to.
  template <class F>
  ESPALIER_INLINE auto with_node(radix_link l, F f) const {
    switch (l.kind()) {
      case radix_kind::node4:
        return f(node4[l.index()]);
      case radix_kind::node16:
        return f(node16[l.index()]);
      case radix_kind::node48:
        return f(node48[l.index()]);
      default:
        return f(node256[l.index()]);
    }
  }

  // ---- the root table --------------------------------------------------------------------------------------
  [[nodiscard]] ESPALIER_INLINE std::uint32_t table_bytes() const { return (table_bits + 7) / 8; }
  /// Returns whether this key has a cell.
  template <class Key>
  [[nodiscard]] ESPALIER_INLINE bool in_table(const Key& key) const {
    return table_bits != 0 && key.size >= table_at + table_bytes();
  }
  template <class Key>
  [[nodiscard]] ESPALIER_INLINE std::uint32_t cell_of(const Key& key) const {
    const std::uint32_t word = table_at / 8 * 8, shift = 8 * (table_at % 8);
    std::uint64_t bits = key.word(word) << shift;
    if (shift + table_bits > 64) bits |= key.word(word + 8) >> (64 - shift);
    return static_cast<std::uint32_t>(bits >> (64 - table_bits));
  }

  // ---- ranks -----------------------------------------------------------------------------------------------
  [[nodiscard]] ESPALIER_INLINE std::uint64_t rank_of(radix_link l) const {
    const std::uint32_t* const of_class = ranks[leaf_class(l.kind())];
    return of_class == nullptr ? l.index() : of_class[l.index()];
  }
  [[nodiscard]] ESPALIER_INLINE radix_link leaf_at(std::uint64_t rank) const {
    return order == nullptr ? radix_link::of(only_kind, rank) : order[rank];
  }
};

}  // namespace espalier
