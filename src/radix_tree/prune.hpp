// prune.hpp - erases a batch of keys from a tree, without latches: threads decrement child counts, and each node is
// compacted once.
//
//   take out  Each key's thread clears the link to its leaf and decrements the node's count. The thread that removes
//   the
//             last child of a node continues by removing the node. The path to it is intact until then, because all
//             nodes above still count it and links are only cleared; so threads need not wait for each other.
//   tidy      Each node that lost a child closes its gaps, and determines its fate: it is empty; one child is left,
//             which takes its place; or so few are left that a smaller kind has room for them.
//   rehang    The successor of each removed node is linked into its holder, or into the replacement of the holder. In a
//             chain of nodes with one child left, the topmost does that.
// Memory is allocated before anything is changed, except for that of smaller nodes: without memory, nodes keep their
// size. Removed nodes keep their remaining children, because the root table may lead to them.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/insert_erase.hpp"
#include "radix_tree/build_kernels.hpp"
#include "radix_tree/scratch.hpp"

namespace espalier::detail {

/// A node that loses children, and its holder.
struct pruned_node {
  static constexpr std::uint8_t stays = 0xff;
  radix_link node;
  radix_link above;  ///< nothing if it is the root
  std::uint16_t symbol;
  std::uint8_t to;  ///< the kind that it shrinks to
};
struct prune_outcome {
  radix_link root;
  std::uint32_t pruned;        ///< number of nodes that lose children
  std::uint32_t dead[4];       ///< nodes with no child left, or one, by kind
  std::uint32_t shrunk[4];     ///< shrunk nodes by their old kind,
  std::uint32_t shrunk_to[4];  ///< and by their new kind
  std::uint32_t next[4];       ///< numbers of new nodes
};

template <unsigned V>
struct take_out {
  radix_view<V> tree;
  ordered_keys keys;
  pruned_node* pruned;
  prune_outcome* outcome;
  ESPALIER_HD void operator()(std::size_t i) const {
    const byte_key_view key = keys[i];
    radix_link gone;  // nothing: the leaf
    for (;;) {
      radix_link above, parent, l = tree.root;
      unsigned above_symbol = 0, symbol = 0;
      while (l.is_node() && !(l == gone)) {
        above = parent;
        above_symbol = symbol;
        parent = l;
        l = tree.with_node(l, [&](auto& n) {
          symbol = symbol_at(key, n.head.at);
          return radix_link{load_relaxed(&place_of_child(n, symbol)->word)};
        });
      }
      if (parent.is_nothing()) {
        outcome->root = {};
        return;
      }
      const bool was_last = tree.with_node(parent, [&](auto& n) {
        store_relaxed(&place_of_child(n, symbol)->word, radix_link{}.word);
        const atomic_word_ref info{&n.head.info};
        if ((info.load_relaxed() & radix_info::latched) == 0 &&
            (info.fetch_or_acquire_no_fence(radix_info::latched) & radix_info::latched) == 0)
          pruned[atomic_word_ref{&outcome->pruned}.fetch_increment_aggregated()] = {
              parent, above, static_cast<std::uint16_t>(above_symbol), pruned_node::stays};
        return radix_info::count(info.fetch_add(0u - radix_info::one_child)) == 1;
      });
      if (!was_last) return;
      gone = parent;
    }
  }
};

template <unsigned V>
struct tidy_pruned {
  radix_view<V> tree;
  pruned_node* pruned;
  ESPALIER_HD void operator()(std::size_t c) const {
    tree.with_node(pruned[c].node, [&](auto& n) {
      using node = std::remove_reference_t<decltype(n)>;
      const unsigned count = n.head.count(), bytes = count - (n.head.end.is_nothing() ? 0 : 1);
      n.head.info &= ~radix_info::latched;
      if (count < 2) n.head.info |= radix_info::dead;
      close_gaps(n);
      unsigned kind = static_cast<unsigned>(node::kind);
      while (count > 1 && kind > 0 && bytes <= shrinks_at(static_cast<radix_kind>(kind))) --kind;
      if (kind != static_cast<unsigned>(node::kind)) pruned[c].to = static_cast<std::uint8_t>(kind);
    });
  }

 private:
  template <class Node>
  static ESPALIER_INLINE void close_gaps(Node& n) {
    if constexpr (Node::kind == radix_kind::node48) {
      for (std::uint8_t& slot : n.slots) {
        if (slot != Node::none && n.children[slot].is_nothing()) slot = Node::none;
      }
    } else if constexpr (Node::kind != radix_kind::node256) {
      unsigned to = 0;
      for (unsigned i = 0; i < Node::room; ++i) {
        if (n.children[i].is_nothing()) continue;
        const radix_link child = n.children[i];
        const std::uint8_t byte = n.bytes[i];
        n.children[to] = child;
        n.bytes[to++] = byte;
      }
      for (; to < Node::room; ++to) {
        n.children[to] = {};
        n.bytes[to] = 0xff;
      }
    }
  }
};
/// Each of `parts` threads counts its own part first.
template <unsigned V>
struct count_pruned {
  static constexpr std::size_t parts = 1u << 14;
  radix_view<V> tree;
  const pruned_node* pruned;
  std::size_t n;
  prune_outcome* outcome;
  ESPALIER_HD void operator()(std::size_t part) const {
    std::uint32_t dead[4] = {}, shrunk[4] = {}, to[4] = {};
    for (std::size_t c = part; c < n; c += parts) {
      const radix_link l = pruned[c].node;
      const auto kind = static_cast<unsigned>(l.kind());
      if (tree.with_node(l, [](const auto& node) { return node.head.count(); }) < 2) {
        ++dead[kind];
      } else if (pruned[c].to != pruned_node::stays) {
        ++shrunk[kind];
        ++to[pruned[c].to];
      }
    }
    for (unsigned k = 0; k < 4; ++k) {
      if (dead[k] != 0) (void)atomic_word_ref{outcome->dead + k}.fetch_add(dead[k]);
      if (shrunk[k] != 0) (void)atomic_word_ref{outcome->shrunk + k}.fetch_add(shrunk[k]);
      if (to[k] != 0) (void)atomic_word_ref{outcome->shrunk_to + k}.fetch_add(to[k]);
    }
  }
};
/// Replaces a node by a smaller one. The old node stores the new link in its unused word, which all kinds but node4
/// have.
template <unsigned V>
struct shrink_pruned {
  radix_view<V> tree;
  const pruned_node* pruned;
  prune_outcome* outcome;
  ESPALIER_HD void operator()(std::size_t c) const {
    const unsigned to = pruned[c].to;
    if (to == pruned_node::stays) return;
    const radix_link made = radix_link::of(static_cast<radix_kind>(to),
                                           atomic_word_ref{outcome->next + to}.fetch_add(1));  // not aggregated
    tree.with_node(pruned[c].node, [&](auto& from) {
      if constexpr (std::remove_reference_t<decltype(from)>::kind != radix_kind::node4) {
        tree.with_node(made, [&](auto& n) {
          unsigned slot = 0;
          each_child(from, end_symbol, [&](unsigned s, radix_link child) {
            if (s == end_symbol) {
              n.head.end = child;
            } else {
              put_at_slot(n, slot++, static_cast<std::uint8_t>(s - 1), child);
            }
            return true;
          });
          n.head.at = from.head.at;
          n.head.info = from.head.count() * radix_info::one_child;
        });
        from.unused = made.word;
        from.head.info |= radix_info::dead;
      }
    });
  }
};
template <unsigned V>
struct rehang_pruned {
  radix_view<V> tree;
  const pruned_node* pruned;
  prune_outcome* outcome;
  ESPALIER_HD void operator()(std::size_t c) const {
    const pruned_node& own = pruned[c];
    const unsigned count = children(own.node);
    if (count == 0 || (!own.above.is_nothing() && children(own.above) == 1)) return;
    radix_link l = own.node;
    while (l.is_node() && children(l) == 1) l = only_child(l);
    l = now(l);
    if (l == own.node) return;
    if (own.above.is_nothing()) {
      outcome->root = l;
      return;
    }
    tree.with_node(now(own.above), [&](auto& n) { *place_of_child(n, own.symbol) = l; });
  }

 private:
  [[nodiscard]] ESPALIER_INLINE unsigned children(radix_link l) const {
    return tree.with_node(l, [](const auto& n) { return n.head.count(); });
  }
  [[nodiscard]] ESPALIER_INLINE radix_link only_child(radix_link l) const {
    return radix_searcher<scalar_team, radix_view<V>>::first_child(tree, l);
  }
  /// Returns the replacement of a node with more than one child, or the node itself.
  [[nodiscard]] ESPALIER_INLINE radix_link now(radix_link l) const {
    if (!l.is_node()) return l;
    return tree.with_node(l, [&](const auto& n) {
      if constexpr (std::remove_reference_t<decltype(n)>::kind != radix_kind::node4) {
        if ((n.head.info & radix_info::dead) != 0) return radix_link{n.unused};
      }
      return l;
    });
  }
};

/// The changes to the nodes of a tree by erasing a batch.
template <class Context, unsigned V>
class radix_prune {
 public:
  /// Keys are distinct and in the tree. Allocates all memory that is needed, except for that of smaller nodes.
  radix_prune(Context& context, const ordered_keys& keys)
      : context_(context),
        keys_(keys),
        // A node that loses its last child removes one from another node.
        pruned_(room<pruned_node>(context, 2 * keys.n)),
        outcome_(room<prune_outcome>(context, 1)) {}

  /// Removes the keys; shrunk_to[k] of the outcome is the number of nodes that shrink() needs.
  [[nodiscard]] prune_outcome take_out_keys(const radix_view<V>& tree) {
    prune_outcome start{tree.root, 0, {}, {}, {}, {}};
    context_.copy(outcome_.data(), &start, sizeof(start));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    context_.for_each(keys_.n, take_out<V>{tree, keys_, pruned_.data(), outcome_.data()});
    n_ = context_.read(&outcome_.data()->pruned);
    context_.for_each(n_, tidy_pruned<V>{tree, pruned_.data()});
    context_.for_each(n_ < count_pruned<V>::parts ? n_ : count_pruned<V>::parts,
                      count_pruned<V>{tree, pruned_.data(), n_, outcome_.data()});
    prune_outcome result;
    context_.copy(&result, outcome_.data(), sizeof(result));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return result;
  }
  /// `before` is the number of existing nodes of each kind, after which there is room.
  void shrink(const radix_view<V>& tree, const std::size_t (&before)[4]) {
    std::uint32_t next[4];
    for (unsigned k = 0; k < 4; ++k) next[k] = static_cast<std::uint32_t>(before[k]);
    context_.copy(outcome_.data()->next, next, sizeof(next));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    context_.for_each(n_, shrink_pruned<V>{tree, pruned_.data(), outcome_.data()});
  }
  /// Returns the root.
  [[nodiscard]] radix_link rehang(const radix_view<V>& tree) {
    context_.for_each(n_, rehang_pruned<V>{tree, pruned_.data(), outcome_.data()});
    return context_.read(&outcome_.data()->root);
  }

 private:
  Context& context_;
  ordered_keys keys_;
  buffer<pruned_node> pruned_;
  buffer<prune_outcome> outcome_;
  std::size_t n_ = 0;
};

}  // namespace espalier::detail
