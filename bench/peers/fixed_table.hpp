// fixed_table.hpp - the CuART paper's rule for which of several updates of a key in a batch wins, for a peer that
// combines our tree with it: an open-addressing table from leaves to the highest element of the batch, with 1 Mi
// entries for any batch size. First every element raises the entry of its leaf, then the elements that match their
// entry write.
//
// An entry has the link of a leaf in the upper half and the element in the lower; all ones, the null link, is an empty
// entry. The table is empty between batches. It holds as many distinct leaves as it has entries, slowly when it is
// nearly full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/data/radix_data.hpp"
#include "bench/peers/string_peer.hpp"
#include "espalier/radix_tree/view.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier::bench {

namespace fixed_table {

inline constexpr std::uint32_t entries = std::uint32_t{1} << 20;
inline constexpr unsigned char empty_byte = 0xff;
inline constexpr std::uint64_t empty = ~std::uint64_t{0};

ESPALIER_INLINE std::uint64_t entry_of(radix_link l, std::size_t i) { return std::uint64_t{l.word} << 32 | i; }

/// Element i of the batch raises the entry of its leaf.
struct raise_entry {
  const radix_link* links;
  std::uint64_t* table;
  std::uint32_t* slots;  ///< position of each element's entry
  ESPALIER_HD void operator()(std::size_t i) const {
    const radix_link l = links[i];
    if (l.is_nothing()) return;
    const std::uint64_t own = entry_of(l, i);
    std::uint32_t hash = l.word * 0x9e3779b1u;
    hash ^= hash >> 15;
    for (std::uint32_t slot = hash % entries;; slot = (slot + 1) % entries) {
      const atomic_word_ref<std::uint64_t> entry{table + slot};
      std::uint64_t seen = entry.load_relaxed();
      const bool taken = seen == empty && entry.exchange(seen, own);
      if (!taken && seen >> 32 != l.word) continue;
      while (!taken && seen < own && !entry.exchange(seen, own)) {
      }
      slots[i] = slot;
      return;
    }
  }
};
struct write_if_highest {
  radix_view<8> tree;
  const radix_link* links;
  const std::uint64_t* table;
  const std::uint32_t* slots;
  const std::uint64_t* values;
  std::uint8_t* done;
  ESPALIER_HD void operator()(std::size_t i) const {
    const radix_link l = links[i];
    done[i] = l.is_nothing() ? 0 : 1;
    if (!l.is_nothing() && table[slots[i]] == entry_of(l, i)) *tree.value_of(l) = values[i];
  }
};

/// Builds a tree of the data in the memory of its device.
[[nodiscard]] std::unique_ptr<espalier::detail::radix_index> make_tree(const radix_data& data, const device& dev);
[[nodiscard]] inline radix_view<8> view_of(const espalier::detail::radix_index& tree) {
  radix_view<8> view;
  tree.view(&view);
  return view;
}
/// Returns whether a batch of that many elements certainly fits the table.
[[nodiscard]] inline bool has_room(const espalier::detail::radix_index& tree, std::uint64_t elements) {
  return elements <= entries || tree.stats().size <= entries;
}

}  // namespace fixed_table

[[nodiscard]] std::unique_ptr<string_peer> make_cpu_fixed_table_peer(const radix_data& data, const device& dev);

}  // namespace espalier::bench
