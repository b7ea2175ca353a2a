// leaf_order.hpp - computes the leaves of a radix tree in key order: starting from the root, each link is replaced by
// the children of its node, level by level, until only leaves remain.
#pragma once

#include <utility>

#include "radix_tree/storage.hpp"

namespace espalier::detail {

struct note_rank {
  const radix_link* order;
  std::uint32_t* ranks[leaf_classes];
  ESPALIER_HD void operator()(std::size_t i) const {
    ranks[leaf_class(order[i].kind())][order[i].index()] = static_cast<std::uint32_t>(i);
  }
};
template <unsigned V>
struct count_below {
  radix_view<V> tree;
  const radix_link* links;
  std::uint64_t* counts;
  std::uint32_t* nodes;  ///< set to 1 if there is a node
  ESPALIER_HD void operator()(std::size_t i) const {
    counts[i] = 1;
    if (!links[i].is_node()) return;
    counts[i] = tree.with_node(links[i], [](const auto& n) { return n.head.count(); });
    atomic_word_ref{nodes}.store_relaxed(1);
  }
};
template <unsigned V>
struct unroll {
  radix_view<V> tree;
  const radix_link* links;
  const std::uint64_t* counts;  ///< scanned
  radix_link* to;
  ESPALIER_HD void operator()(std::size_t i) const {
    radix_link* out = to + counts[i];
    if (!links[i].is_node()) {
      *out = links[i];
      return;
    }
    tree.with_node(links[i], [&](const auto& n) {
      each_child(n, end_symbol, [&](unsigned, radix_link child) {
        *out++ = child;
        return true;
      });
    });
  }
};

/// Installs `links`, the leaves in key order.
template <class Context, unsigned V>
void adopt_order(Context& context, radix_storage<V>& tree, buffer<radix_link>&& links, bool with_ranks) {
  if (with_ranks) {
    note_rank note{links.data(), {}};
    for (unsigned c = 0; c < leaf_classes; ++c) {
      tree.ranks[c] = buffer<std::uint32_t>(context.get_device(), tree.leaf_counts[c], context.order());
      note.ranks[c] = tree.ranks[c].data();
    }
    context.for_each(links.size(), note);
    for (unsigned c = 0; c < leaf_classes; ++c) tree.view.ranks[c] = note.ranks[c];
  }
  tree.order = std::move(links);
  tree.view.order = tree.order.data();
}

template <class Context, unsigned V>
void build_leaf_order(Context& context, radix_storage<V>& tree) {
  if (tree.order_is_known) return;
  const auto room = [&](auto example, std::size_t n) {
    return buffer<decltype(example)>(context.get_device(), n, context.order());
  };
  buffer<radix_link> links = room(radix_link{}, tree.view.size == 0 ? 0 : 1);
  if (tree.view.size != 0) {
    context.copy(links.data(), &tree.view.root, sizeof(radix_link));
    const buffer<std::uint32_t> nodes = room(std::uint32_t{}, 1);
    for (;;) {
      const std::size_t n = links.size();
      const buffer<std::uint64_t> counts = room(std::uint64_t{}, n + 1);
      context.zero(nodes.data(), 4);
      context.zero(counts.data() + n, 8);
      context.for_each(n, count_below<V>{tree.view, links.data(), counts.data(), nodes.data()});
      if (context.read(nodes.data()) == 0) break;
      context.exclusive_scan(counts.data(), counts.data(), n + 1);
      buffer<radix_link> below = room(radix_link{}, context.read(counts.data() + n));
      context.for_each(n, unroll<V>{tree.view, links.data(), counts.data(), below.data()});
      links = std::move(below);
    }
  }
  adopt_order(context, tree, std::move(links), true);
  tree.order_is_known = true;
}

}  // namespace espalier::detail
