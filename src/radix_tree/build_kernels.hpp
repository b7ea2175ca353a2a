// build_kernels.hpp - kernels that compute nodes and leaves from sorted keys (build.hpp combines them).
//
// cut[i] is the position at which keys i - 1 and i differ, plus one; cut[0] = cut[keys] = 0. A node is a set of cuts of
// equal height with no lower cut between them: it branches there, its first cut opens it, and there is a child between
// two of them. Everything follows from neighbouring keys, and nothing is counted by more than one thread.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/descend.hpp"
#include "espalier/team/scalar_team.hpp"
#include "radix_tree/nearest_smaller.hpp"

namespace espalier::detail {

/// Keys of the tree in key order: key i is element places[i] of the batch.
struct ordered_keys {
  byte_batch batch;
  const std::uint32_t* places;
  std::size_t n;
  [[nodiscard]] ESPALIER_INLINE byte_key_view operator[](std::size_t i) const { return batch[places[i]]; }
};

/// Sets marks[i] to 1 for the last (or first) element of the batch with this key.
struct mark_one_of_keys {
  ordered_keys keys;
  bool last;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const {
    const bool at_end = last ? i + 1 == keys.n : i == 0;
    marks[i] = at_end || first_difference(keys[i], keys[last ? i + 1 : i - 1]) != same_key ? 1 : 0;
  }
};
struct keep_one_of_keys {
  const std::uint32_t* places;
  const std::uint64_t* marks;  ///< scanned
  std::uint32_t* kept;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (marks[i + 1] != marks[i]) kept[marks[i]] = places[i];
  }
};

struct write_cut {
  ordered_keys keys;
  std::uint32_t* cuts;
  ESPALIER_HD void operator()(std::size_t i) const {
    cuts[i] = i == 0 || i == keys.n ? 0 : first_difference(keys[i - 1], keys[i]) + 1;
  }
};

/// Runs for cuts 1 .. n - 1, as i = 0 .. n - 2.
struct mark_opening {
  minima cuts;
  std::uint64_t* opens;  ///< whether cut i + 1 opens a node
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint32_t height = cuts.level[0][i + 1];
    opens[i] = cuts.level[0][cuts.before(i + 1, height + 1)] < height ? 1 : 0;
  }
};

struct planned_node {
  std::uint32_t at;
  std::uint32_t children;
  std::uint32_t left, right;  ///< cuts at its ends: its keys are [left, right)
  std::uint32_t has_end;
  [[nodiscard]] ESPALIER_INLINE radix_kind kind() const { return kind_for(children - has_end); }
};
/// For each opening cut: computes its node, and the node and child of each of its cuts.
struct plan_node {
  ordered_keys keys;
  minima cuts;
  const std::uint64_t* opens;  ///< scanned
  planned_node* nodes;
  std::uint32_t* owners;
  std::uint16_t* ordinals;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (opens[i + 1] == opens[i]) return;
    const auto number = static_cast<std::uint32_t>(opens[i]);
    const std::uint32_t height = cuts.level[0][i + 1];
    std::size_t cut = i + 1;
    std::uint32_t members = 0;
    do {
      owners[cut] = number;
      ordinals[cut] = static_cast<std::uint16_t>(members++);
      cut = cuts.after(cut, height + 1);
    } while (cuts.level[0][cut] == height);
    planned_node p;
    p.at = height - 1;
    p.children = members + 1;
    p.left = static_cast<std::uint32_t>(cuts.before(i + 1, height));
    p.right = static_cast<std::uint32_t>(cut);
    p.has_end = keys[p.left].size == p.at ? 1 : 0;
    nodes[number] = p;
  }
};

/// Sets of_kind[i] to 1 for nodes of one kind.
struct mark_kind {
  const planned_node* nodes;
  radix_kind kind;
  std::uint64_t* of_kind;
  ESPALIER_HD void operator()(std::size_t k) const { of_kind[k] = nodes[k].kind() == kind ? 1 : 0; }
};
struct link_of_kind {
  radix_kind kind;
  const std::uint64_t* of_kind;  ///< scanned
  radix_link* links;
  ESPALIER_HD void operator()(std::size_t k) const {
    if (of_kind[k + 1] != of_kind[k]) links[k] = radix_link::of(kind, of_kind[k]);
  }
};
struct mark_class {
  ordered_keys keys;
  unsigned which;
  std::uint64_t* of_class;
  ESPALIER_HD void operator()(std::size_t i) const { of_class[i] = leaf_class(keys[i].size) == which ? 1 : 0; }
};
struct link_of_class {
  ordered_keys keys;
  const std::uint64_t* of_class;  ///< scanned
  radix_link* links;
  std::uint64_t before = 0;  ///< number of existing leaves
  ESPALIER_HD void operator()(std::size_t i) const {
    if (of_class[i + 1] != of_class[i]) links[i] = radix_link::of(leaf_kind(keys[i].size), before + of_class[i]);
  }
};
struct mark_full {
  const radix_link* links;
  std::uint64_t* full;
  ESPALIER_HD void operator()(std::size_t i) const {
    const radix_kind kind = links[i].kind();
    full[i] =
        kind == radix_kind::leaf8_full || kind == radix_kind::leaf16_full || kind == radix_kind::leaf32_full ? 1 : 0;
  }
};
/// Number of words of a key in the heap.
struct count_heap {
  ordered_keys keys;
  std::uint64_t* words;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint32_t size = keys[i].size;
    words[i] = size > most_leaf_bytes ? (std::uint64_t{size} + 7) / 8 : 0;
  }
};

template <unsigned V>
struct write_leaf {
  radix_view<V> tree;
  ordered_keys keys;
  const void* values;            ///< the caller's values
  const std::uint64_t* heap_at;  ///< positions of long keys, scanned; null if there are none
  std::uint64_t* heap;           ///< start of the unused part
  const radix_link* links;
  std::uint64_t heap_before = 0;  ///< words in use
  ESPALIER_HD void operator()(std::size_t i) const {
    const byte_key_view key = keys[i];
    const radix_link l = links[i];
    const unsigned c = leaf_class(l.kind());
    auto* const words = reinterpret_cast<std::uint64_t*>(tree.leaf(l));
    if (c == long_class) {
      words[0] = heap_before + heap_at[i];
      words[1] = key.size;
      for (std::uint32_t at = 0; at < key.size; at += 8) heap[heap_at[i] + at / 8] = key.word(at);
    } else {
      const unsigned n = leaf_words(c);
      for (unsigned w = 0; w < n; ++w) words[w] = leaf_word(key, w, n);
    }
    if constexpr (V != 0) *tree.value_of(l) = load_value<V>(tree.value_bytes, values, keys.places[i]);
    if (std::uint32_t* const stamp = tree.stamp_of(l); stamp != nullptr) *stamp = 0;
  }
};

template <unsigned V>
struct write_head {
  radix_view<V> tree;
  const planned_node* nodes;
  const radix_link* links;
  ESPALIER_HD void operator()(std::size_t k) const {
    tree.with_node(links[k], [&](auto& n) {
      n.head.at = nodes[k].at;
      n.head.info = nodes[k].children * radix_info::one_child;
    });
  }
};

/// Adds a child at the next free slot of a new node; for node4 and node16, bytes are added in ascending order.
template <class Node>
ESPALIER_INLINE void put_at_slot(Node& n, unsigned slot, std::uint8_t byte, radix_link l) {
  if constexpr (Node::kind == radix_kind::node256) {
    n.children[byte] = l;
  } else {
    if constexpr (Node::kind == radix_kind::node48) {
      n.slots[byte] = static_cast<std::uint8_t>(slot);
    } else {
      n.bytes[slot] = byte;
    }
    n.children[slot] = l;
  }
}
/// Returns the address of the link to the child at a symbol, which must exist.
template <class Node>
[[nodiscard]] ESPALIER_INLINE radix_link* place_of_child(Node& n, unsigned symbol) {
  if (symbol == end_symbol) return &n.head.end;
  const auto b = static_cast<std::uint8_t>(symbol - 1);
  if constexpr (Node::kind == radix_kind::node256) {
    return n.children + b;
  } else if constexpr (Node::kind == radix_kind::node48) {
    return n.children + n.slots[b];
  } else {
    unsigned i = 0;
    while (n.bytes[i] != b) ++i;
    return n.children + i;
  }
}

/// Links a leaf (or node) of keys [left, right) into the node of the higher cut at its ends; if both cuts have height
/// 0, the ends of a tree, it is the root of a tree.
template <unsigned V>
struct hang {
  radix_view<V> tree;
  ordered_keys keys;
  const std::uint32_t* cuts;
  const std::uint32_t* owners;
  const std::uint16_t* ordinals;
  const planned_node* nodes;
  const radix_link* node_links;
  radix_link* roots;
  const std::uint64_t* trees = nullptr;  ///< number of trees that begin before key i; null if there is one tree

  ESPALIER_INLINE void operator()(radix_link l, std::uint32_t left, std::uint32_t right) const {
    if (cuts[left] == 0 && cuts[right] == 0) {
      roots[trees == nullptr ? 0 : trees[left]] = l;
      return;
    }
    const bool by_left = cuts[left] >= cuts[right];
    const std::uint32_t cut = by_left ? left : right;
    const planned_node& parent = nodes[owners[cut]];
    const unsigned child = ordinals[cut] + (by_left ? 1u : 0u);
    const unsigned symbol = symbol_at(keys[left], parent.at);
    tree.with_node(node_links[owners[cut]], [&](auto& n) {
      if (symbol == end_symbol) {
        n.head.end = l;
      } else {
        put_at_slot(n, child - parent.has_end, static_cast<std::uint8_t>(symbol - 1), l);
      }
    });
  }
};
template <unsigned V>
struct hang_leaf {
  hang<V> up;
  const radix_link* links;
  ESPALIER_HD void operator()(std::size_t i) const {
    up(links[i], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
  }
};
template <unsigned V>
struct hang_node {
  hang<V> up;
  ESPALIER_HD void operator()(std::size_t k) const { up(up.node_links[k], up.nodes[k].left, up.nodes[k].right); }
};

}  // namespace espalier::detail
