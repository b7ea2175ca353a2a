// insert_erase.hpp - concurrent inserts and erases by many teams: children are added and removed, nodes grow and shrink
// by replacement, paths are split and joined.
//
// A writer changes a node only under its latch, one bit of the word `info`, which also holds a version. It first reads
// without latches and remembers the versions under which it read; then it latches from the parent to the child, by
// changing exactly these versions into latched ones, and restarts if one has changed. A latch is therefore held for a
// few stores only, and no team waits for a latch while it holds one. The reads are sufficient because:
//   The position of a key is where the path to any leaf with the longest common prefix leaves the key. Leaves and
//   branch positions of nodes never change, so what was read of them stays valid; only the links may change, and these
//   are protected by a version.
// A replaced node becomes dead: a team that still reaches it restarts. Its memory is not reused before the root table,
// which may lead to it, has been rebuilt. Finds do not run concurrently with writers.
//
// Batches are written by other code (src/radix_tree/graft.hpp, prune.hpp) unless they are traced: keys that are close
// together need the same nodes, and their writers would mostly restart.
#pragma once

#include "espalier/radix_tree/trace_hooks.hpp"
#include "espalier/radix_tree/view.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier {

/// The link to the root, with a latch like that of a node.
struct radix_root {
  std::uint32_t info;
  std::uint32_t link;
};
/// Pools of new nodes: in the pool of kind k, numbers from next[k] on are unused.
struct radix_pools {
  std::uint32_t* next;  ///< one counter per kind, then the number of dead nodes of each kind
  std::uint32_t capacity[4];
};
enum class radix_outcome : std::uint8_t { done, unchanged, out_of_nodes };

/// `Team` is the team that records traces.
template <class View, class Team = untraced_thread>
class radix_mutator {
  static constexpr std::uint32_t none = 0xffffffffu;
  enum class verdict : std::uint8_t { done, again, out_of_nodes };
  /// The holder of a link, and the version under which it was read.
  struct holder {
    radix_link node;  ///< nothing if the holder is the root
    unsigned symbol;
    std::uint32_t version;
  };
  /// Nodes taken from the pools and not used yet.
  struct reserved_nodes {
    std::uint32_t index[4] = {none, none, none, none};
  };

 public:
  ESPALIER_HD radix_mutator(const View& tree, radix_root* root, const radix_pools& pools, const Team& team = {})
      : t_(tree), root_(root), pools_(pools), notes_(team, tree) {}

  /// Inserts `leaf`, which holds the key and is not in the tree yet.
  template <class Key>
  ESPALIER_HD radix_outcome insert(const Key& key, radix_link leaf) const {
    reserved_nodes own;
    for (unsigned turn = 0;; ++turn) {
      if (turn != 0) backoff(turn);
      notes_.attempt(turn);
      radix_link near;
      if (!nearest(key, near)) continue;
      verdict v;
      if (near.is_nothing()) {
        v = insert_first_leaf(leaf);
      } else {
        notes_.reach(near);
        const leaf_key other = t_.key_of(near);
        const std::uint32_t differs = first_difference(key, other);
        if (differs == same_key) return end(own, radix_outcome::unchanged);
        v = insert_at(key, leaf, differs, symbol_at(other, differs), own);
      }
      if (v == verdict::done) return end(own, radix_outcome::done);
      if (v == verdict::out_of_nodes) return end(own, radix_outcome::out_of_nodes);
    }
  }

  /// Removes the leaf of the key from the tree; nodes shrink if the pools have smaller ones.
  template <class Key>
  ESPALIER_HD radix_outcome erase(const Key& key) const {
    reserved_nodes own;
    for (unsigned turn = 0;; ++turn) {
      if (turn != 0) backoff(turn);
      notes_.attempt(turn);
      holder above{}, parent{};
      radix_link l;
      if (!begin(parent, l)) continue;
      bool again = false;
      while (l.is_node()) {
        std::uint32_t version;
        radix_link next;
        unsigned symbol = end_symbol;
        if (!look(l, version, [&](const auto& n) {
              if (key.size >= n.head.at) {
                symbol = symbol_at(key, n.head.at);
                next = seen_child(n, symbol);
              }
            })) {
          again = true;
          break;
        }
        above = parent;
        parent = {l, symbol, version};
        l = next;
        if (l.is_nothing()) break;
      }
      if (again) continue;
      if (!l.is_nothing()) notes_.reach(l);
      if (l.is_nothing() || first_difference(key, t_.key_of(l)) != same_key) return end(own, radix_outcome::unchanged);
      if (remove(above, parent, own) == verdict::done) return end(own, radix_outcome::done);
    }
  }

 private:
  // ---- reads, concurrent with writers ----------------------------------------------------------------------
  template <class Node>
  static ESPALIER_INLINE radix_link seen_child(const Node& n, unsigned symbol) {
    if (symbol == end_symbol) return {load_relaxed(&n.head.end.word)};
    const auto b = static_cast<std::uint8_t>(symbol - 1);
    if constexpr (Node::kind == radix_kind::node256) {
      return {load_relaxed(&n.children[b].word)};
    } else if constexpr (Node::kind == radix_kind::node48) {
      const std::uint8_t slot = load_relaxed(n.slots + b);
      return slot >= Node::room ? radix_link{} : radix_link{load_relaxed(&n.children[slot].word)};
    } else {
      radix_link found;
      for (unsigned i = Node::room; i-- > 0;) {
        if (load_relaxed(n.bytes + i) == b) found = {load_relaxed(&n.children[i].word)};
      }
      return found;
    }
  }
  template <class Node>
  static ESPALIER_INLINE radix_link seen_any(const Node& n) {
    radix_link any{load_relaxed(&n.head.end.word)};
    for (unsigned i = 0; any.is_nothing() && i < Node::room; ++i) any = {load_relaxed(&n.children[i].word)};
    return any;
  }
  /// Calls f(node), which only reads. Returns false if the node was changed concurrently, or is dead.
  template <class F>
  ESPALIER_INLINE bool look(radix_link l, std::uint32_t& version, F f) const {
    return t_.with_node(l, [&](auto& n) {
      notes_.reach(l);
      version = atomic_word_ref{&n.head.info}.load_acquire();
      if ((version & (radix_info::latched | radix_info::dead)) != 0) return changed(l, 0, version);
      f(n);
      fence_acquire();
      const std::uint32_t now = atomic_word_ref{&n.head.info}.load_relaxed();
      return now == version || changed(l, version, now);
    });
  }
  ESPALIER_INLINE bool begin(holder& top, radix_link& l) const {
    notes_.reach({});
    const std::uint32_t version = atomic_word_ref{&root_->info}.load_acquire();
    if ((version & radix_info::latched) != 0) return changed({}, 0, version);
    l = {load_relaxed(&root_->link)};
    top = {{}, 0, version};
    fence_acquire();
    const std::uint32_t now = atomic_word_ref{&root_->info}.load_relaxed();
    return now == version || changed({}, version, now);
  }
  ESPALIER_INLINE bool changed(radix_link l, std::uint32_t seen, std::uint32_t now) const {
    notes_.retry(l, seen, now);
    return false;
  }
  /// Called if the values read are inconsistent.
  ESPALIER_INLINE verdict again(radix_link l) const {
    notes_.retry(l, 0, 0);
    return verdict::again;
  }
  /// Finds a leaf with the longest common prefix; nothing if the tree is empty. Returns false if the read must be
  /// repeated.
  template <class Key>
  ESPALIER_HD bool nearest(const Key& key, radix_link& l) const {
    holder top{};
    if (!begin(top, l)) return false;
    bool off = false;
    while (l.is_node()) {
      radix_link next;
      std::uint32_t version;
      if (!look(l, version, [&](const auto& n) {
            if (!off && key.size >= n.head.at) next = seen_child(n, symbol_at(key, n.head.at));
            if (next.is_nothing()) {
              off = true;
              next = seen_any(n);
            }
          }))
        return false;
      l = next;
    }
    return true;
  }

  // ---- latches ---------------------------------------------------------------------------------------------
  ESPALIER_INLINE std::uint32_t* info_of(radix_link node) const {
    if (node.is_nothing()) return &root_->info;
    return t_.with_node(node, [](auto& n) { return &n.head.info; });
  }
  /// Latches the node if it still has this version; otherwise fails.
  ESPALIER_INLINE bool latch(radix_link l, std::uint32_t* info, std::uint32_t version) const {
    std::uint32_t expected = version;
    if (!atomic_word_ref{info}.exchange(expected, version | radix_info::latched)) return changed(l, version, expected);
    notes_.latch(l, version);
    return true;
  }
  ESPALIER_INLINE void release(radix_link l, std::uint32_t* info, std::uint32_t version) const {
    notes_.unlatch(l, version + radix_info::one_version);
    atomic_word_ref{info}.store_release(version + radix_info::one_version);
  }
  ESPALIER_INLINE void release_unchanged(radix_link l, std::uint32_t* info, std::uint32_t version) const {
    notes_.unlatch(l, version);
    atomic_word_ref{info}.store_release(version);
  }
  ESPALIER_INLINE void retire(radix_link l, std::uint32_t version) const {
    atomic_word_ref{info_of(l)}.store_release((version | radix_info::dead) + radix_info::one_version);
    // Not fetch_increment_aggregated(): converged threads may count nodes of different kinds.
    (void)atomic_word_ref{pools_.next + 4 + static_cast<unsigned>(l.kind())}.fetch_add(1);
  }

  // ---- memory ----------------------------------------------------------------------------------------------
  /// The kind is a template argument, so that converged threads increment the same counter
  /// (fetch_increment_aggregated).
  template <radix_kind Kind>
  ESPALIER_INLINE bool take(reserved_nodes& own) const {
    constexpr auto k = static_cast<unsigned>(Kind);
    if (own.index[k] != none) return true;
    const std::uint32_t index = atomic_word_ref{pools_.next + k}.fetch_increment_aggregated();
    if (index >= pools_.capacity[k]) return false;
    own.index[k] = index;
    return true;
  }
  ESPALIER_INLINE radix_link use(radix_kind kind, reserved_nodes& own) const {
    const auto k = static_cast<unsigned>(kind);
    const radix_link l = radix_link::of(kind, own.index[k]);
    own.index[k] = none;
    return l;
  }
  /// Retires the nodes that were taken and not used.
  ESPALIER_HD radix_outcome end(reserved_nodes& own, radix_outcome o) const {
    for (unsigned k = 0; k < 4; ++k) {
      if (own.index[k] != none) retire(radix_link::of(static_cast<radix_kind>(k), own.index[k]), 0);
    }
    return o;
  }

  // ---- changes, under latches ------------------------------------------------------------------------------
  template <class Node>
  static ESPALIER_HD void put_child(Node& n, unsigned symbol, radix_link child) {
    if (symbol == end_symbol) return store_relaxed(&n.head.end.word, child.word);
    const auto b = static_cast<std::uint8_t>(symbol - 1);
    if constexpr (Node::kind == radix_kind::node256) {
      store_relaxed(&n.children[b].word, child.word);
    } else if constexpr (Node::kind == radix_kind::node48) {
      unsigned slot = 0;
      while (!n.children[slot].is_nothing()) ++slot;
      store_relaxed(&n.children[slot].word, child.word);
      store_relaxed(n.slots + b, static_cast<std::uint8_t>(slot));
    } else {
      unsigned i = Node::room - 1;
      for (; i > 0 && (n.children[i - 1].is_nothing() || n.bytes[i - 1] > b); --i) {
        store_relaxed(n.bytes + i, n.bytes[i - 1]);
        store_relaxed(&n.children[i].word, n.children[i - 1].word);
      }
      store_relaxed(n.bytes + i, b);
      store_relaxed(&n.children[i].word, child.word);
    }
  }
  template <class Node>
  static ESPALIER_HD void drop_child(Node& n, unsigned symbol) {
    if (symbol == end_symbol) return store_relaxed(&n.head.end.word, std::uint32_t{none});
    const auto b = static_cast<std::uint8_t>(symbol - 1);
    if constexpr (Node::kind == radix_kind::node256) {
      store_relaxed(&n.children[b].word, std::uint32_t{none});
    } else if constexpr (Node::kind == radix_kind::node48) {
      store_relaxed(&n.children[n.slots[b]].word, std::uint32_t{none});
      store_relaxed(n.slots + b, std::uint8_t{Node::none});
    } else {
      unsigned i = 0;
      while (n.bytes[i] != b) ++i;
      for (; i + 1 < Node::room; ++i) {
        store_relaxed(n.bytes + i, n.bytes[i + 1]);
        store_relaxed(&n.children[i].word, n.children[i + 1].word);
      }
      store_relaxed(n.bytes + i, std::uint8_t{0xff});
      store_relaxed(&n.children[i].word, std::uint32_t{none});
    }
  }
  /// Replaces the child at a symbol that has one.
  ESPALIER_HD void set_child(const holder& h, radix_link child) const {
    if (h.node.is_nothing()) return store_relaxed(&root_->link, child.word);
    t_.with_node(h.node, [&](auto& n) {
      using node = std::remove_reference_t<decltype(n)>;
      if (h.symbol == end_symbol) return store_relaxed(&n.head.end.word, child.word);
      const auto b = static_cast<std::uint8_t>(h.symbol - 1);
      if constexpr (node::kind == radix_kind::node256) {
        store_relaxed(&n.children[b].word, child.word);
      } else if constexpr (node::kind == radix_kind::node48) {
        store_relaxed(&n.children[n.slots[b]].word, child.word);
      } else {
        unsigned i = 0;
        while (n.bytes[i] != b) ++i;
        store_relaxed(&n.children[i].word, child.word);
      }
    });
  }

  // ---- inserting -------------------------------------------------------------------------------------------
  ESPALIER_HD verdict insert_first_leaf(radix_link leaf) const {
    holder top{};
    radix_link l;
    if (!begin(top, l)) return verdict::again;
    if (!l.is_nothing()) return again({});
    if (!latch({}, &root_->info, top.version)) return verdict::again;
    notes_.attach({}, 0, leaf);
    store_relaxed(&root_->link, leaf.word);
    release({}, &root_->info, top.version);
    return verdict::done;
  }
  template <class Key>
  ESPALIER_HD verdict insert_at(const Key& key, radix_link leaf, std::uint32_t differs, unsigned other_symbol,
                                reserved_nodes& own) const {
    holder parent{};
    radix_link l;
    if (!begin(parent, l)) return verdict::again;
    if (l.is_nothing()) return again({});
    while (l.is_node()) {
      std::uint32_t version, at = 0;
      radix_link next;
      unsigned symbol = end_symbol;
      if (!look(l, version, [&](const auto& n) {
            at = n.head.at;
            if (at > differs) return;
            symbol = symbol_at(key, at);
            next = seen_child(n, symbol);
          }))
        return verdict::again;
      if (at > differs) break;
      if (at == differs) return next.is_nothing() ? add(parent, {l, symbol, version}, leaf, own) : again(l);
      if (next.is_nothing()) return again(l);
      parent = {l, symbol, version};
      l = next;
    }
    return split(parent, l, differs, other_symbol, symbol_at(key, differs), leaf, own);
  }
  /// Inserts a node into the path to `below`, at the position where its keys and the new key differ.
  ESPALIER_HD verdict split(const holder& parent, radix_link below, std::uint32_t at, unsigned symbol_below,
                            unsigned symbol, radix_link leaf, reserved_nodes& own) const {
    if (!take<radix_kind::node4>(own)) return verdict::out_of_nodes;
    std::uint32_t* const info = info_of(parent.node);
    if (!latch(parent.node, info, parent.version)) return verdict::again;
    const radix_link made = use(radix_kind::node4, own);
    radix_node4& n = t_.node4[made.index()];
    store_relaxed(&n.head.at, at);
    notes_.branch(parent.node, parent.symbol, made, at, below);
    put_child(n, symbol_below, below);
    notes_.attach(made, symbol, leaf);
    put_child(n, symbol, leaf);
    store_relaxed(&n.head.info, 2 * radix_info::one_child);
    set_child(parent, made);
    release(parent.node, info, parent.version);
    return verdict::done;
  }
  /// Adds a child to a node.
  ESPALIER_HD verdict add(const holder& parent, const holder& node, radix_link leaf, reserved_nodes& own) const {
    return t_.with_node(node.node, [&](auto& n) {
      using node_type = std::remove_reference_t<decltype(n)>;
      const bool has_end = !radix_link{load_relaxed(&n.head.end.word)}.is_nothing();
      const unsigned bytes = radix_info::count(node.version) - (has_end ? 1 : 0);
      if (node.symbol == end_symbol || bytes < node_type::room) {
        if (!latch(node.node, &n.head.info, node.version)) return verdict::again;
        notes_.attach(node.node, node.symbol, leaf);
        put_child(n, node.symbol, leaf);
        release(node.node, &n.head.info, node.version + radix_info::one_child);
        return verdict::done;
      }
      if constexpr (node_type::kind == radix_kind::node256) {
        return verdict::again;  // unreachable: it has room for every byte
      } else {
        constexpr auto larger = static_cast<radix_kind>(static_cast<unsigned>(node_type::kind) + 1);
        return replace<larger>(parent, node, n, leaf, false, own);
      }
    });
  }

  /// Replaces a node by one of another kind, with one child more or less.
  template <radix_kind Kind, class Node>
  ESPALIER_HD verdict replace(const holder& parent, const holder& node, Node& n, radix_link leaf, bool without,
                              reserved_nodes& own) const {
    if (!take<Kind>(own)) return verdict::out_of_nodes;
    std::uint32_t* const info = info_of(parent.node);
    if (!latch(parent.node, info, parent.version)) return verdict::again;
    if (!latch(node.node, &n.head.info, node.version)) {
      release_unchanged(parent.node, info, parent.version);
      return verdict::again;
    }
    const radix_link made = use(Kind, own);
    notes_.kind(parent.node, node.node, made);
    t_.with_node(made, [&](auto& to) {
      store_relaxed(&to.head.at, n.head.at);
      each_child(n, end_symbol, [&](unsigned symbol, radix_link child) {
        if (!without || symbol != node.symbol) put_child(to, symbol, child);
        return true;
      });
      if (!without) {
        notes_.attach(made, node.symbol, leaf);
        put_child(to, node.symbol, leaf);
      } else {
        notes_.detach(made, node.node, node.symbol);
      }
      const unsigned count = radix_info::count(node.version) + (without ? 0 : 2) - 1;
      store_relaxed(&to.head.info, count * radix_info::one_child);
    });
    set_child(parent, made);
    retire(node.node, node.version);
    release(parent.node, info, parent.version);
    return verdict::done;
  }

  // ---- erasing ---------------------------------------------------------------------------------------------
  /// Removes the child that `parent` holds.
  ESPALIER_HD verdict remove(const holder& above, const holder& parent, reserved_nodes& own) const {
    if (parent.node.is_nothing()) {
      if (!latch({}, &root_->info, parent.version)) return verdict::again;
      notes_.drop_from_root(&root_->link);
      store_relaxed(&root_->link, std::uint32_t{none});
      release({}, &root_->info, parent.version);
      return verdict::done;
    }
    return t_.with_node(parent.node, [&](auto& n) {
      using node_type = std::remove_reference_t<decltype(n)>;
      const unsigned count = radix_info::count(parent.version);
      if (count == 2) return collapse(above, parent, n);
      const bool has_end = !radix_link{load_relaxed(&n.head.end.word)}.is_nothing();
      const unsigned left = count - 1 - (has_end && parent.symbol != end_symbol ? 1 : 0);
      if constexpr (node_type::kind != radix_kind::node4) {
        constexpr auto smaller = static_cast<radix_kind>(static_cast<unsigned>(node_type::kind) - 1);
        if (left <= shrinks_at(node_type::kind)) {
          const verdict v = replace<smaller>(above, parent, n, {}, true, own);
          if (v != verdict::out_of_nodes) return v;
        }
      }
      if (!latch(parent.node, &n.head.info, parent.version)) return verdict::again;
      notes_.detach(parent.node, parent.node, parent.symbol);
      drop_child(n, parent.symbol);
      release(parent.node, &n.head.info, parent.version - radix_info::one_child);
      return verdict::done;
    });
  }
  /// Removes a node with one child left, which is not a branch any more: the child takes its place.
  template <class Node>
  ESPALIER_HD verdict collapse(const holder& above, const holder& parent, Node& n) const {
    std::uint32_t* const info = info_of(above.node);
    if (!latch(above.node, info, above.version)) return verdict::again;
    if (!latch(parent.node, &n.head.info, parent.version)) {
      release_unchanged(above.node, info, above.version);
      return verdict::again;
    }
    radix_link other;
    each_child(n, end_symbol, [&](unsigned symbol, radix_link child) {
      if (symbol != parent.symbol) other = child;
      return true;
    });
    notes_.detach(parent.node, parent.node, parent.symbol);
    notes_.collapse(above.node, above.symbol, parent.node, other);
    set_child(above, other);
    retire(parent.node, parent.version);
    release(above.node, info, above.version);
    return verdict::done;
  }

  const View& t_;
  radix_root* root_;
  radix_pools pools_;
  radix_notes<Team, View> notes_;
};

}  // namespace espalier
