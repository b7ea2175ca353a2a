// batch_search.hpp - searches for the keys of a batch by one CPU thread, in an interleaved way: each step is taken for
// all keys of the batch before the next one, and what it reads was prefetched by the step before.
//
// The results are those of radix_searcher (descend.hpp), whose comments give the reasons of each search.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/descend.hpp"

namespace espalier {

/// Whether the searches of a tree of n keys wait for memory. If the root table leads to most leaves, those of a small
/// tree do not: with 2^14 keys, interleaved searches take 0.7x to 1.9x the time. Long paths, as those of URLs, do so
/// from 2^12 keys on (2^8 keys: 1.2x to 1.6x the time, 2^12: 0.8x to 1.3x, 2^14: 0.5x to 0.8x).
[[nodiscard]] ESPALIER_INLINE bool searches_wait_for_memory(std::uint64_t n, unsigned table_bits) {
  return n >> 17 != 0 || (n >> 12 != 0 && n >> table_bits >= 8);
}

template <class Team, class View>
struct radix_batch_searcher {
  using search = radix_searcher<Team, View>;
  static constexpr unsigned most = 32;  ///< keys of a batch
  /// With fewer keys, one search after the other is as fast.
  static constexpr unsigned fewest = 4;
  [[nodiscard]] static ESPALIER_INLINE bool is_worth(const View& t) {
    return searches_wait_for_memory(t.size, t.table_bits);
  }

  // ---- steps of all keys -------------------------------------------------------------------------------------
  static ESPALIER_INLINE void prefetch(Team team, const View& t, radix_link l) {
    if (l.is_nothing()) return;
    if (l.is_leaf()) {
      const std::byte* const p = t.leaf(l);
      team.prefetch(p);
      return;
    }
    t.with_node(l, [&](const auto& n) {
      const auto* const p = reinterpret_cast<const std::byte*>(&n);
      team.prefetch(p);
      if constexpr (sizeof(n) > 64) team.prefetch(p + 64);
    });
  }
  /// Prefetches a node, or the rank of a leaf.
  static ESPALIER_INLINE void prefetch_rank(Team team, const View& t, radix_link l) {
    if (!l.is_leaf()) return prefetch(team, t, l);
    const std::uint32_t* const ranks = t.ranks[leaf_class(l.kind())];
    if (ranks != nullptr) team.prefetch(ranks + l.index());
  }
  /// Calls step(j, link) for the keys whose link is a node, round by round, until it returns false or the link is no
  /// longer a node; then reach(link) prefetches what the next step reads.
  template <class Step, class Reach>
  static ESPALIER_INLINE void walk(radix_link* at, unsigned n, Step step, Reach reach) {
    std::uint8_t active[most];
    unsigned left = 0;
    for (unsigned j = 0; j < n; ++j) {
      active[left] = static_cast<std::uint8_t>(j);
      left += at[j].is_node() ? 1 : 0;
    }
    while (left != 0) {
      unsigned kept = 0;
      for (unsigned i = 0; i < left; ++i) {
        const std::uint8_t j = active[i];
        const bool goes_on = step(j, at[j]);
        reach(at[j]);
        active[kept] = j;
        kept += goes_on && at[j].is_node() ? 1 : 0;
      }
      left = kept;
    }
  }
  /// Descends from each link to the first leaf below it, or to the last one.
  template <class IsLast, class Reach>
  static ESPALIER_INLINE void ends(const View& t, radix_link* at, unsigned n, IsLast is_last, Reach reach) {
    for (unsigned j = 0; j < n; ++j) reach(at[j]);
    walk(
        at, n,
        [&](unsigned j, radix_link& l) {
          l = is_last(j) ? search::last_child(t, l) : search::first_child(t, l);
          return true;
        },
        reach);
  }

  // ---- the leaf that is nearest to a key ------------------------------------------------------------------------
  /// Where the descents of a batch ended.
  struct landing {
    radix_link leaf[most];        ///< as search::nearest
    radix_link last[most];        ///< the last node that was searched for the key's symbol; nothing if not known
    std::uint32_t last_at[most];  ///< its position
    std::uint32_t differs[most];  ///< first difference of the key from the leaf's
    std::uint32_t table_end;      ///< keys that agree up to here are in one cell of the root table

    [[nodiscard]] ESPALIER_INLINE bool is_same(unsigned j) const { return differs[j] == same_key; }
    /// A link above all keys that agree with this one before `differs`, as low as it is known. `last` may have been
    /// replaced since its cell was written if it is above several cells.
    [[nodiscard]] ESPALIER_INLINE radix_link above(const View& t, const byte_key_view& key, unsigned j) const {
      if (!last[j].is_nothing() && differs[j] >= last_at[j]) return differs[j] == last_at[j] ? last[j] : leaf[j];
      return differs[j] >= table_end ? t.cells[t.cell_of(key)] : t.root;
    }
  };
  /// As search::nearest, but from the cells of the root table. All keys of a cell are below its link. Of the keys
  /// outside, none has a longer common prefix with a key of the cell, and those that the link is above nevertheless may
  /// have been erased since, but differ from all keys of the cell in the same byte as before.
  static ESPALIER_PER_BATCH void land(Team team, const View& t, const byte_key_view* key, unsigned n, landing& to) {
    bool by_cell[most], lost[most] = {}, is_near[most] = {};
    to.table_end = t.table_is_exact ? t.table_at + t.table_bytes() : same_key;
    enter(team, t, key, n, to.leaf);
    for (unsigned j = 0; j < n; ++j) {
      by_cell[j] = !to.leaf[j].is_nothing();
      if (!by_cell[j]) to.leaf[j] = t.root;
      to.last[j] = {};
      prefetch(team, t, to.leaf[j]);
    }
    walk(
        to.leaf, n,
        [&](unsigned j, radix_link& l) {
          if (lost[j]) {
            l = search::first_child(t, l);
            return true;
          }
          return t.with_node(l, [&](const auto& node) {
            const std::uint32_t at = node.head.at;
            if constexpr (sizeof(node) > 128) {
              // The child is in a cache line that only the header tells.
              is_near[j] = !is_near[j];
              if (is_near[j] && at < key[j].size) {
                team.prefetch(line_of_child(node, key[j].bytes[at]));
                return true;
              }
              is_near[j] = false;
            }
            const radix_link next = key[j].size < at ? radix_link{} : child_of(team, node, symbol_at(key[j], at));
            if (!by_cell[j] || at >= to.table_end) {
              to.last[j] = l;
              to.last_at[j] = at;
            }
            lost[j] = next.is_nothing();
            if (!lost[j]) l = next;
            return true;
          });
        },
        [&](radix_link l) { prefetch(team, t, l); });
    compare(team, t, key, n, to.leaf, to.differs);
  }
  [[nodiscard]] static ESPALIER_INLINE const void* line_of_child(const radix_node48& node, std::uint8_t byte) {
    return node.slots + byte;
  }
  [[nodiscard]] static ESPALIER_INLINE const void* line_of_child(const radix_node256& node, std::uint8_t byte) {
    return node.children + byte;
  }
  [[nodiscard]] static ESPALIER_INLINE const void* line_of_child(const radix_node4& node, std::uint8_t) {
    return &node;
  }
  [[nodiscard]] static ESPALIER_INLINE const void* line_of_child(const radix_node16& node, std::uint8_t) {
    return &node;
  }
  /// Writes the links of the cells of the keys; nothing for keys that have no cell, or an empty one.
  static ESPALIER_INLINE void enter(Team team, const View& t, const byte_key_view* key, unsigned n, radix_link* at) {
    for (unsigned j = 0; j < n; ++j) at[j] = {};
    if (!t.table_is_exact) return;
    std::uint32_t cell[most];
    for (unsigned j = 0; j < n; ++j) {
      cell[j] = t.in_table(key[j]) ? t.cell_of(key[j]) : ~std::uint32_t{0};
      if (cell[j] != ~std::uint32_t{0}) team.prefetch(t.cells + cell[j]);
    }
    for (unsigned j = 0; j < n; ++j) {
      if (cell[j] != ~std::uint32_t{0}) at[j] = t.cells[cell[j]];
    }
  }
  /// The first difference of each key from the key of a leaf.
  static ESPALIER_INLINE void compare(Team team, const View& t, const byte_key_view* key, unsigned n,
                                      const radix_link* leaf, std::uint32_t* differs) {
    if (t.heap != nullptr) {
      for (unsigned j = 0; j < n; ++j) {
        if (leaf[j].kind() != radix_kind::leaf_long) continue;
        const auto* const p = reinterpret_cast<const std::byte*>(t.key_of(leaf[j]).words);
        team.prefetch(p);
        team.prefetch(p + 64);
      }
    }
    for (unsigned j = 0; j < n; ++j)
      differs[j] = search::holds(t, leaf[j], key[j]) ? same_key : first_difference(key[j], t.key_of(leaf[j]));
  }

  // ---- ranks -----------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void write_ranks(const View& t, const radix_link* leaf, unsigned n, std::uint64_t* ranks) {
    for (unsigned j = 0; j < n; ++j) ranks[j] = t.rank_of(leaf[j]);
  }
  /// Writes the number of keys less than each key and, if `inclusive`, those that are equal.
  static ESPALIER_PER_BATCH void rank(Team team, const View& t, const byte_key_view* key, unsigned n, bool inclusive,
                                      std::uint64_t* ranks) {
    if (t.size == 0) {
      for (unsigned j = 0; j < n; ++j) ranks[j] = 0;
      return;
    }
    landing near;
    land(team, t, key, n, near);
    radix_link at[most];
    bool behind[most];  // the rank is the one after the last leaf below at[j]
    const auto reach = [&](radix_link l) { prefetch_rank(team, t, l); };
    for (unsigned j = 0; j < n; ++j) {
      at[j] = near.leaf[j];
      behind[j] = inclusive;
      if (near.is_same(j)) continue;
      const std::uint32_t differs = near.differs[j];
      behind[j] = symbol_at(t.key_of(at[j]), differs) < symbol_at(key[j], differs);
      at[j] = near.above(t, key[j], j);
    }
    walk(
        at, n,
        [&](unsigned j, radix_link& l) {
          return t.with_node(l, [&](const auto& node) {
            const std::uint32_t where = node.head.at, differs = near.differs[j];
            if (where > differs) return false;
            const unsigned symbol = symbol_at(key[j], where);
            if (where < differs) {
              l = child_of(team, node, symbol);
              return true;
            }
            behind[j] = true;
            each_child(node, symbol + 1, [&](unsigned, radix_link child) {
              l = child;
              behind[j] = false;
              return false;
            });
            return false;
          });
        },
        reach);
    ends(
        t, at, n, [&](unsigned j) { return behind[j]; }, reach);
    write_ranks(t, at, n, ranks);
    for (unsigned j = 0; j < n; ++j) ranks[j] += behind[j] ? 1 : 0;
  }

  /// Writes the ranks [first, last) of the keys that begin with each key.
  static ESPALIER_PER_BATCH void prefix(Team team, const View& t, const byte_key_view* key, unsigned n,
                                        std::uint64_t* first, std::uint64_t* last) {
    radix_link top[most], at[most];
    enter(team, t, key, n, top);
    for (unsigned j = 0; j < n; ++j) {
      if (!t.table_is_exact || !t.in_table(key[j])) top[j] = t.size == 0 ? radix_link{} : t.root;
      prefetch(team, t, top[j]);
    }
    walk(
        top, n,
        [&](unsigned j, radix_link& l) {
          return t.with_node(l, [&](const auto& node) {
            if (node.head.at >= key[j].size) return false;
            l = child_of(team, node, symbol_at(key[j], node.head.at));
            return true;
          });
        },
        [&](radix_link l) { prefetch(team, t, l); });
    // Keys without a path are left out from here on.
    byte_key_view left[most];
    std::uint32_t differs[most];
    std::uint8_t number[most];
    unsigned some = 0;
    for (unsigned j = 0; j < n; ++j) {
      first[j] = last[j] = 0;
      left[some] = key[j];
      at[some] = top[some] = top[j];
      number[some] = static_cast<std::uint8_t>(j);
      some += top[j].is_nothing() ? 0 : 1;
    }
    ends(
        t, at, some, [](unsigned) { return false; }, [&](radix_link l) { prefetch(team, t, l); });
    compare(team, t, left, some, at, differs);
    unsigned inside = 0;
    for (unsigned j = 0; j < some; ++j) {
      const bool agrees = differs[j] >= left[j].size;  // same_key, too
      at[inside] = at[j];
      top[inside] = top[j];
      number[inside] = number[j];
      inside += agrees ? 1 : 0;
    }
    const auto reach = [&](radix_link l) { prefetch_rank(team, t, l); };
    for (unsigned j = 0; j < inside; ++j) reach(at[j]);
    ends(
        t, top, inside, [](unsigned) { return true; }, reach);
    for (unsigned j = 0; j < inside; ++j) {
      first[number[j]] = t.rank_of(at[j]);
      last[number[j]] = t.rank_of(top[j]) + 1;
    }
  }

  // ---- neighbours, without ranks ----------------------------------------------------------------------------------
  /// As search::after (Right) and search::before.
  template <bool Right>
  static ESPALIER_PER_BATCH void beside_key(Team team, const View& t, const byte_key_view* key, unsigned n,
                                            bool inclusive, radix_link* at) {
    if (t.size == 0) {
      for (unsigned j = 0; j < n; ++j) at[j] = {};
      return;
    }
    landing near;
    land(team, t, key, n, near);
    radix_link sibling[most];  // the lowest one on that side of the path
    bool takes_path[most];     // the neighbour is below the end of the path, not below the sibling
    const auto reach = [&](radix_link l) { prefetch(team, t, l); };
    const auto descend = [&] {
      walk(
          at, n,
          [&](unsigned j, radix_link& l) {
            return t.with_node(l, [&](const auto& node) {
              const std::uint32_t where = node.head.at, differs = near.differs[j];
              if (where > differs) return false;
              const unsigned symbol = symbol_at(key[j], where);
              const auto take = [&](unsigned, radix_link child) {
                sibling[j] = child;
                return false;
              };
              if constexpr (Right) {
                each_child(node, symbol + 1, take);
              } else {
                each_child_back(node, symbol, take);
              }
              if (where == differs) {
                takes_path[j] = false;
                return false;
              }
              l = child_of(team, node, symbol);
              return true;
            });
          },
          reach);
    };
    for (unsigned j = 0; j < n; ++j) {
      const std::uint32_t differs = near.differs[j];
      sibling[j] = {};
      takes_path[j] = near.is_same(j)
                          ? inclusive
                          : (symbol_at(t.key_of(near.leaf[j]), differs) > symbol_at(key[j], differs)) == Right;
      // The sibling of a present key is often in the node above its leaf.
      at[j] = near.is_same(j) ? (inclusive || near.last[j].is_nothing() ? near.leaf[j] : near.last[j])
                              : near.above(t, key[j], j);
    }
    descend();
    // Where the end of the path has no sibling, the lowest one is further up.
    radix_link end[most];
    bool redo[most], any = false;
    for (unsigned j = 0; j < n; ++j) {
      redo[j] = !takes_path[j] && sibling[j].is_nothing();
      any = any || redo[j];
      end[j] = takes_path[j] ? at[j] : sibling[j];
      at[j] = redo[j] ? t.root : radix_link{};
    }
    if (any) descend();
    for (unsigned j = 0; j < n; ++j) at[j] = redo[j] ? sibling[j] : end[j];
    ends(
        t, at, n, [](unsigned) { return !Right; }, reach);
  }

  /// As search::longest_prefix.
  static ESPALIER_PER_BATCH void longest_prefix(Team team, const View& t, const byte_key_view* key, unsigned n,
                                                radix_link* best) {
    for (unsigned j = 0; j < n; ++j) best[j] = {};
    if (t.size == 0) return;
    landing near;
    land(team, t, key, n, near);
    radix_link at[most];
    std::uint32_t agreed[most];
    for (unsigned j = 0; j < n; ++j) {
      agreed[j] = near.is_same(j) ? key[j].size : near.differs[j];
      const bool is_prefix = t.key_of(near.leaf[j]).size == agreed[j];
      best[j] = is_prefix ? near.leaf[j] : radix_link{};
      at[j] = is_prefix ? radix_link{} : t.root;
    }
    const auto reach = [&](radix_link l) { prefetch(team, t, l); };
    walk(
        at, n,
        [&](unsigned j, radix_link& l) {
          return t.with_node(l, [&](const auto& node) {
            radix_link next;
            if (node.head.at <= agreed[j]) {
              if (!node.head.end.is_nothing()) best[j] = node.head.end;
              if (node.head.at < key[j].size) next = child_of(team, node, symbol_at(key[j], node.head.at));
            }
            l = next;
            return true;
          });
        },
        reach);
    for (unsigned j = 0; j < n; ++j) {
      if (at[j].is_leaf() && t.key_of(at[j]).size <= agreed[j]) best[j] = at[j];
      reach(best[j]);
    }
  }
};

}  // namespace espalier
