// walk.hpp - everything reachable in a copy of a radix tree in host memory, in key order: for dumps and for inspect/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/view.hpp"

namespace espalier::detail {

/// A node or leaf, in key order from the root down.
struct radix_place {
  radix_link link;
  std::size_t parent;   ///< index of the parent; the root is its own parent
  std::uint32_t known;  ///< number of bytes determined by the path
  radix_link some;      ///< a leaf below, or the leaf itself
};

template <unsigned V>
[[nodiscard]] std::uint32_t branches_at(const radix_view<V>& t, radix_link node) {
  return t.with_node(node, [](const auto& n) { return n.head.at; });
}
template <unsigned V, class F>
void children_of(const radix_view<V>& t, radix_link node, const F& f) {
  t.with_node(node, [&](const auto& n) {
    each_child(n, end_symbol, [&](unsigned symbol, radix_link child) {
      f(symbol, child);
      return true;
    });
  });
}

/// Not recursive, because a tree can be as deep as its longest key.
template <unsigned V>
[[nodiscard]] std::vector<radix_place> places_of(const radix_view<V>& t) {
  std::vector<radix_place> places, open;
  if (t.size != 0) open.push_back({t.root, 0, 0, {}});
  while (!open.empty()) {
    const std::size_t here = places.size();
    places.push_back(open.back());
    open.pop_back();
    const radix_link l = places.back().link;
    if (!l.is_node()) continue;
    const std::size_t first = open.size();
    const std::uint32_t at = branches_at(t, l);
    children_of(t, l, [&](unsigned symbol, radix_link child) {
      open.push_back({child, here, symbol == end_symbol ? at : at + 1, {}});
    });
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  }
  for (std::size_t i = places.size(); i-- > 0;) {
    if (!places[i].link.is_node()) places[i].some = places[i].link;
    places[places[i].parent].some = places[i].some;
  }
  return places;
}

template <unsigned V>
[[nodiscard]] std::string bytes_between(const radix_view<V>& t, radix_link leaf, std::uint32_t from, std::uint32_t to) {
  const leaf_key key = t.key_of(leaf);
  std::string bytes;
  for (std::uint32_t i = from; i < to; ++i) bytes += static_cast<char>(symbol_at(key, i) - 1);
  return bytes;
}
/// The bytes that all keys below share, beyond those determined by the path; for a leaf, the rest of its key.
template <unsigned V>
[[nodiscard]] std::string prefix_of(const radix_view<V>& t, const radix_place& p) {
  return bytes_between(t, p.some, p.known, p.link.is_node() ? branches_at(t, p.link) : t.key_of(p.link).size);
}
template <unsigned V>
[[nodiscard]] std::string key_of_leaf(const radix_view<V>& t, radix_link leaf) {
  return bytes_between(t, leaf, 0, t.key_of(leaf).size);
}

/// Calls read(view, root_info) with a copy of the tree, of the type that its value slot has.
template <class Read>
void read_nodes(const radix_index& tree, const Read& read) {
  const unsigned slot = value_slot(tree.elements().value_bytes);
  tree.copy_nodes([&](const void* view, std::uint32_t root_info) {
    switch (slot) {
      case 0:
        return read(*static_cast<const radix_view<0>*>(view), root_info);
      case 4:
        return read(*static_cast<const radix_view<4>*>(view), root_info);
      case 8:
        return read(*static_cast<const radix_view<8>*>(view), root_info);
      default:
        return read(*static_cast<const radix_view<16>*>(view), root_info);
    }
  });
}

}  // namespace espalier::detail
