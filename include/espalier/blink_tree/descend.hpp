// descend.hpp - from a key to the leaf where the search for it starts, written once for every team.
//
// Two ways down: the express lane (a static tree over the leaves' high keys) and the inner nodes. Either may be stale.
// Both end at a live or dead leaf whose lowest key is not above the query, so that going right finds it.
#pragma once

#include "espalier/blink_tree/node.hpp"
#include "espalier/static_tree/search.hpp"
#include "espalier/sync/version_latch.hpp"
#include "espalier/team/team.hpp"
#include "espalier/trace/note.hpp"

namespace espalier {

/// How nodes are read. While writers are about: past stale caches, and valid only if the version stood still.
struct racing_reads {
  using latch = version_latch;
  /// Do kernels ask the inner nodes, too, where a lane is left behind? Not those of the library: the owner makes the
  /// lane again in time, and registers are scarce.
  static constexpr bool kernels_ask = false;
  using plain = racing_reads;
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto view(Team team, const X* p) {
    return team.template view_relaxed<N>(p);
  }
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto slots(Team team, const X* p) {
    return team.template load_relaxed<N>(p);
  }
  template <class X>
  [[nodiscard]] static ESPALIER_INLINE X one(const X* p) {
    return load_relaxed(p);
  }
};
/// By the only writer.
struct own_reads : racing_reads {
  using latch = no_latch;
  using plain = own_reads;
};
/// In the kernel of a user, whose ref may have outgrown the lane by far.
template <class Reads>
struct asking : Reads {
  static constexpr bool kernels_ask = true;
};
/// While nobody writes: any cache may help.
struct stable_reads {
  using latch = no_latch;
  static constexpr bool kernels_ask = false;
  using plain = stable_reads;
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto view(Team team, const X* p) {
    return team.template view<N>(p);
  }
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto slots(Team team, const X* p) {
    return team.template load<N>(p);
  }
  template <class X>
  [[nodiscard]] static ESPALIER_INLINE X one(const X* p) {
    return *p;
  }
};

/// Header and keys of one node.
template <class Team, class Reads, class Shape>
struct node_reader {
  using word = typename Shape::word;
  static constexpr unsigned chunk = Shape::chunk;
  static constexpr unsigned front = Shape::in_one_piece ? Shape::head_words : 0;
  static constexpr unsigned viewed = Shape::in_one_piece ? Shape::head_words + Shape::slots : 4;

  /// What a look at a node brings: all its keys if it is small, else the header.
  static ESPALIER_INLINE auto look(Team team, node_at<Shape> node) {
    if constexpr (Shape::in_one_piece) {
      return Reads::template view<viewed>(team, reinterpret_cast<const word*>(node.p));
    } else {
      return Reads::template view<4>(team, node.words());
    }
  }
  template <class Look>
  static ESPALIER_INLINE node_head<word> head(Team team, [[maybe_unused]] node_at<Shape> node, const Look& v) {
    if constexpr (Shape::in_one_piece && sizeof(word) == 8) {
      return node_head<word>::of(static_cast<std::uint32_t>(team.template get<0>(v) >> 32),
                                 static_cast<node_id>(team.template get<1>(v)), team.template get<2>(v));
    } else {
      return head_of_words(team, node, v);
    }
  }
  /// Without the keys.
  static ESPALIER_INLINE node_head<word> head_alone(Team team, node_at<Shape> node) {
    return head_of_words(team, node, Reads::template view<4>(team, node.words()));
  }
  /// `v` begins with the words version, info, right.
  template <class Words>
  static ESPALIER_INLINE node_head<word> head_of_words(Team team, [[maybe_unused]] node_at<Shape> node,
                                                       const Words& v) {
    const auto info = static_cast<std::uint32_t>(team.template get<1>(v));
    const auto right = static_cast<node_id>(team.template get<2>(v));
    if constexpr (sizeof(word) == 4) {
      return node_head<word>::of(info, right, team.template get<3>(v));
    } else {
      return node_head<word>::of(info, right, Reads::one(node.high()));
    }
  }

  /// First chunk that is not wholly below x. A node of one chunk has no choice.
  static ESPALIER_INLINE unsigned chunk_of(const word* keys, word x) {
    unsigned low = 0;
    if constexpr (Shape::slots > chunk) {
      unsigned high = Shape::slots / chunk - 1;
      while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (Reads::one(keys + middle * chunk + chunk - 1) < x) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    return low * chunk;
  }

  /// How many keys are below x.
  template <class Look>
  static ESPALIER_INLINE unsigned slot(Team team, node_at<Shape> node, const Look& v, word x) {
    if constexpr (Shape::in_one_piece) {
      return team.template count_from<front>(v, less_than<word>{x});
    } else {
      const unsigned first = chunk_of(node.keys(), x);
      return first + team.count(Reads::template view<chunk>(team, node.keys() + first), less_than<word>{x});
    }
  }
  struct place {
    unsigned slot;  ///< how many keys are below x
    bool equal;     ///< the key there is x, if that slot is in use
  };
  template <class Look>
  static ESPALIER_INLINE place rank(Team team, node_at<Shape> node, const Look& v, word x) {
    if constexpr (Shape::in_one_piece) {
      return {team.template count_from<front>(v, less_than<word>{x}),
              team.template count_from<front>(v, equals<word>{x}) != 0};
    } else {
      const unsigned first = chunk_of(node.keys(), x);
      const auto keys = Reads::template view<chunk>(team, node.keys() + first);
      return {first + team.count(keys, less_than<word>{x}), team.count(keys, equals<word>{x}) != 0};
    }
  }
};

template <class Team, class Reads, class View>
struct descender;

template <class Team, class Reads, class Word, unsigned V, unsigned N>
struct descender<Team, Reads, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using inner_reader = node_reader<Team, Reads, typename view::inner_shape>;
  using latch = traced_latch<typename Reads::latch>;

  struct start {
    node_id id;
    Word low;  ///< every key that can be reached from here by going right is at least this
  };

  // ---- by inner nodes ------------------------------------------------------------------------------------
  /// The node of `level` (0: the leaf) that covered x when its separator was posted.
  static ESPALIER_COLD start by_nodes(Team team, const view& t, Word x, unsigned level) {
    node_id id = view::root;
    for (;;) {
      const auto node = t.inner(id);
      const std::uint32_t v = latch::read_begin(team, node.version());
      const auto seen = inner_reader::look(team, node);
      const auto h = inner_reader::head(team, node, seen);
      const trace_node name{id, h.level};
      note(team, trace::reach(name));
      start next{h.right, 0};
      unsigned at_level = h.level;
      if (x <= h.high) {
        if (h.level == level) {
          if (latch::read_valid(team, name, node.version(), v)) return {id, 0};
          continue;
        }
        const auto p = inner_reader::rank(team, node, seen, x);
        unsigned slot = p.equal && p.slot < h.count ? p.slot : p.slot - 1;  // the last key not above x
        if (slot >= h.count) slot = 0;                                      // torn by a writer: not valid below
        next = {Reads::one(node.values() + slot), Reads::one(node.keys() + slot)};
        --at_level;
      }
      if (!latch::read_valid(team, name, node.version(), v)) continue;
      id = next.id;
      if (x <= h.high && at_level == level && level == 0) return next;
    }
  }

  // ---- by the express lane ---------------------------------------------------------------------------------
  using lane_search = searcher<Team, Word, external_keys>;

  static ESPALIER_INLINE node_id leaf_of_line(const view& t, std::uint64_t line) {
    return t.lane_leaves == nullptr ? static_cast<node_id>(line) : t.lane_leaves[line];
  }
  static ESPALIER_INLINE Word low_of_line(const view& t, std::uint64_t line) {
    return line == 0 ? Word{0} : static_cast<Word>(t.lane.key_at(line - 1) + 1);
  }
  static ESPALIER_INLINE std::uint64_t line_of(Team team, const view& t, Word x) {
    const Word clamped = x < t.lane.first ? t.lane.first : x;
    const std::uint32_t group = lane_search::group_of(t.lane, *lane_search::cell_of(t.lane, clamped), clamped);
    return lane_search::near_line_of(team, t.lane, group, clamped);
  }

  // ---- either ------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE node_id leaf(Team team, const view& t, Word x) {
    if (t.lane.size != 0) return leaf_of_line(t, line_of(team, t, x));
    return by_nodes(team, t, x, 0).id;
  }
  static ESPALIER_INLINE start leaf_and_low(Team team, const view& t, Word x) {
    if (t.lane.size != 0) {
      const std::uint64_t line = line_of(team, t, x);
      return {leaf_of_line(t, line), low_of_line(t, line)};
    }
    return by_nodes(team, t, x, 0);
  }
};

}  // namespace espalier
