// descend.hpp - search for the leaf of a key and for the position of a missing key. One implementation for every team.
#pragma once

#include "espalier/radix_tree/trace_hooks.hpp"
#include "espalier/radix_tree/view.hpp"

namespace espalier {

template <class Team, class View>
struct radix_searcher {
  /// Returns the leaf that holds the key, or nothing. `from` is a link above the key, if the key is present.
  template <class Key>
  static ESPALIER_INLINE radix_link find_from(Team team, const View& t, radix_link from, const Key& key) {
    radix_link l = from;
    while (l.is_node()) l = step(team, t, l, key);
    if (!l.is_nothing()) note(team, trace::reach(trace::leaf(radix_trace::number(l))));
    return !l.is_nothing() && holds(t, l, key) ? l : radix_link{};
  }
  template <class Key>
  static ESPALIER_INLINE radix_link find(Team team, const View& t, const Key& key) {
    if (t.in_table(key)) {
      const radix_link l = find_from(team, t, t.cells[t.cell_of(key)], key);
      if (!l.is_nothing() || t.table_is_exact) return l;
    }
    note(team, trace::reach(radix_trace::root()));
    return find_from(team, t, t.root, key);
  }

  /// Returns the only leaf that may hold the key, or nothing. It compares only the bytes at branches.
  template <class Key>
  static ESPALIER_INLINE radix_link candidate(Team team, const View& t, const Key& key) {
    // A stale table could lead to another leaf, which would not be detected here.
    radix_link l = t.table_is_exact && t.in_table(key) ? t.cells[t.cell_of(key)] : t.root;
    while (l.is_node()) l = step(team, t, l, key);
    return l;
  }

  /// Returns the child on the path of the key; nothing if no key below this node has the key's symbol there.
  template <class Key>
  static ESPALIER_INLINE radix_link step(Team team, const View& t, radix_link l, const Key& key) {
    return t.with_node(l, [&](const auto& n) {
      const std::uint32_t at = n.head.at;
      note(team, trace::reach(radix_trace::node(l, at)));
      if (key.size < at) return radix_link{};
      return child_of(team, n, symbol_at(key, at));
    });
  }
  template <class Key>
  static ESPALIER_INLINE bool holds(const View& t, radix_link l, const Key& key) {
    if (l.kind() != leaf_kind(key.size)) return false;
    const unsigned c = leaf_class(l.kind());
    if (c == long_class) return first_difference(key, t.key_of(l)) == same_key;
    const auto* const words = reinterpret_cast<const std::uint64_t*>(t.leaf(l));
    const unsigned n = leaf_words(c);
    bool same = true;
    for (unsigned w = 0; w < n; ++w) same = same && words[w] == leaf_word(key, w, n);
    return same;
  }

  // ---- ends of subtrees ------------------------------------------------------------------------------------
  static ESPALIER_INLINE radix_link first_child(const View& t, radix_link node) {
    return t.with_node(node, [](const auto& n) {
      radix_link first;
      each_child(n, end_symbol, [&](unsigned, radix_link child) {
        first = child;
        return false;
      });
      return first;
    });
  }
  static ESPALIER_INLINE radix_link first_leaf(const View& t, radix_link l) {
    while (l.is_node()) l = first_child(t, l);
    return l;
  }
  static ESPALIER_INLINE radix_link last_child(const View& t, radix_link node) {
    return t.with_node(node, [](const auto& n) {
      radix_link last;
      each_child_back(n, 257, [&](unsigned, radix_link child) {
        last = child;
        return false;
      });
      return last;
    });
  }
  static ESPALIER_INLINE radix_link last_leaf(const View& t, radix_link l) {
    while (l.is_node()) l = last_child(t, l);
    return l;
  }

  // ---- the position of a key ---------------------------------------------------------------------------------
  /// Returns a leaf below the last node on the path of the key. No leaf has a longer common prefix with the key.
  /// Requires a tree that is not empty.
  template <class Key>
  static ESPALIER_INLINE radix_link nearest(Team team, const View& t, const Key& key) {
    note(team, trace::reach(radix_trace::root()));
    radix_link l = t.root;
    while (l.is_node()) {
      const radix_link next = step(team, t, l, key);
      if (next.is_nothing()) return first_leaf(t, l);
      l = next;
    }
    return l;
  }
  /// Returns the number of keys less than this one; sets `found` if the key is present.
  template <class Key>
  static ESPALIER_HD std::uint64_t rank(Team team, const View& t, const Key& key, bool& found) {
    found = false;
    if (t.size == 0) return 0;
    const radix_link near = nearest(team, t, key);
    const leaf_key other = t.key_of(near);
    const std::uint32_t differs = first_difference(key, other);
    if (differs == same_key) {
      found = true;
      return t.rank_of(near);
    }
    // Descends again to the highest node whose keys agree with that leaf beyond the first difference from this key: the
    // key is above or below them all. Or to the node that branches at the difference.
    radix_link l = t.root;
    for (;;) {
      if (l.is_leaf()) return rank_at_edge(t, l, symbol_at(other, differs) > symbol_at(key, differs));
      radix_link next, after;
      bool branches = false, passed = false;
      t.with_node(l, [&](const auto& n) {
        if (n.head.at < differs) {
          next = child_of(team, n, symbol_at(key, n.head.at));
        } else if (n.head.at > differs) {
          passed = true;
        } else {
          branches = true;
          each_child(n, symbol_at(key, differs) + 1, [&](unsigned, radix_link child) {
            after = child;
            return false;
          });
        }
      });
      if (passed) return rank_at_edge(t, l, symbol_at(other, differs) > symbol_at(key, differs));
      if (branches) return after.is_nothing() ? rank_at_edge(t, l, false) : rank_at_edge(t, after, true);
      l = next;
    }
  }
  /// Returns the rank of the first leaf below a link, or the rank after the last one.
  static ESPALIER_INLINE std::uint64_t rank_at_edge(const View& t, radix_link l, bool before) {
    return before ? t.rank_of(first_leaf(t, l)) : t.rank_of(last_leaf(t, l)) + 1;
  }
  // ---- the neighbour of a key, without ranks -----------------------------------------------------------------
  /// Returns the first leaf whose key is greater, or with `inclusive` not less; nothing if there is none.
  template <class Key>
  static ESPALIER_HD radix_link after(Team team, const View& t, const Key& key, bool inclusive) {
    return neighbour_of<true>(team, t, key, inclusive);
  }
  /// Returns the last leaf whose key is less.
  template <class Key>
  static ESPALIER_HD radix_link before(Team team, const View& t, const Key& key) {
    return neighbour_of<false>(team, t, key, false);
  }
  template <bool Right>
  static ESPALIER_INLINE radix_link end_of(const View& t, radix_link l) {
    return Right ? first_leaf(t, l) : last_leaf(t, l);
  }
  /// Descends the path of the key to the point where no key continues like it. Either all keys below that point are
  /// beyond the key, or none is: then the neighbour is below the lowest node of the path that has a child on that side.
  template <bool Right, class Key>
  static ESPALIER_HD radix_link neighbour_of(Team team, const View& t, const Key& key, bool inclusive) {
    if (t.size == 0) return {};
    const radix_link near = nearest(team, t, key);
    const leaf_key other = t.key_of(near);
    const std::uint32_t differs = first_difference(key, other);
    const bool same = differs == same_key;
    if (same && inclusive) return near;
    const bool beyond = !same && (symbol_at(other, differs) > symbol_at(key, differs)) == Right;
    radix_link l = t.root, sibling;
    while (l.is_node()) {
      bool passed = false, branches = false;
      radix_link next;
      t.with_node(l, [&](const auto& n) {
        passed = !same && n.head.at > differs;
        if (passed) return;
        branches = !same && n.head.at == differs;
        const unsigned symbol = symbol_at(key, n.head.at);
        const auto take = [&](unsigned, radix_link child) {
          sibling = child;
          return false;
        };
        if constexpr (Right) {
          each_child(n, symbol + 1, take);
        } else {
          each_child_back(n, symbol, take);
        }
        if (!branches) next = child_of(team, n, symbol);
      });
      if (passed) break;
      if (branches) return end_of<Right>(t, sibling);
      l = next;
    }
    return end_of<Right>(t, beyond ? l : sibling);
  }

  /// The ranks [first, last) of the keys that begin with this one.
  struct rank_slice {
    std::uint64_t first, last;
  };
  template <class Key>
  static ESPALIER_HD rank_slice prefix(Team team, const View& t, const Key& key) {
    if (t.size == 0) return {0, 0};
    radix_link l = t.root;
    while (l.is_node()) {
      radix_link next;
      const bool inside = t.with_node(l, [&](const auto& n) {
        if (n.head.at >= key.size) return true;
        next = child_of(team, n, symbol_at(key, n.head.at));
        return false;
      });
      if (inside) break;
      if (next.is_nothing()) return {0, 0};
      l = next;
    }
    const radix_link first = first_leaf(t, l);
    const std::uint32_t differs = first_difference(key, t.key_of(first));
    if (differs < key.size) return {0, 0};
    return {t.rank_of(first), t.rank_of(last_leaf(t, l)) + 1};
  }
  /// Returns the longest key that is a prefix of this one, or equal to it; or nothing. Only keys that end at a branch,
  /// and the leaf at the end of the path, qualify.
  template <class Key>
  static ESPALIER_HD radix_link longest_prefix(Team team, const View& t, const Key& key) {
    if (t.size == 0) return {};
    const radix_link near = nearest(team, t, key);
    const std::uint32_t differs = first_difference(key, t.key_of(near));
    const std::uint32_t agreed = differs == same_key ? key.size : differs;
    if (t.key_of(near).size == agreed) return near;
    radix_link best, l = t.root;
    while (l.is_node()) {
      radix_link next;
      t.with_node(l, [&](const auto& n) {
        if (n.head.at > agreed) return;
        if (!n.head.end.is_nothing()) best = n.head.end;
        if (n.head.at < key.size) next = child_of(team, n, symbol_at(key, n.head.at));
      });
      if (next.is_nothing()) break;
      l = next;
    }
    if (l.is_leaf()) {
      const leaf_key last = t.key_of(l);
      if (last.size <= agreed) best = l;
    }
    return best;
  }
};

}  // namespace espalier
