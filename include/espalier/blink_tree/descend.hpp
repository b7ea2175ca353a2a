// descend.hpp - descent from a key to the leaf at which its search starts, one implementation for every team.
//
// There are two descents: through the express lane (a static tree over the high keys of the leaves) and through the
// inner nodes. Either may be stale. Both end at a live or dead leaf whose lowest key is not above the query, so that
// following right links finds the leaf of the query.
#if defined(ESPALIER_BLINK_TREE_DESCEND_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_BLINK_TREE_DESCEND_HPP
#undef ESPALIER_BLINK_TREE_DESCEND_HPP
#else
#define ESPALIER_BLINK_TREE_DESCEND_HPP
#endif

#include "espalier/blink_tree/node.hpp"
#include "espalier/blink_tree/reads.hpp"
#include "espalier/static_tree/search.hpp"
#include "espalier/sync/version_latch.hpp"
#include "espalier/team/multi_target.hpp"
#include "espalier/team/team.hpp"
#include "espalier/trace/note.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

/// Reads the header and the keys of a node.
template <class Team, class Reads, class Shape>
struct node_reader {
  using word = typename Shape::word;
  static constexpr unsigned chunk = Shape::chunk;
  static constexpr unsigned front = Shape::in_one_piece ? Shape::head_words : 0;
  static constexpr unsigned viewed = Shape::in_one_piece ? Shape::head_words + Shape::slots : 4;

  /// Reads a node: all its keys if it is small, otherwise the header.
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
  /// Reads the header without the keys.
  static ESPALIER_INLINE node_head<word> head_alone(Team team, node_at<Shape> node) {
    return head_of_words(team, node, Reads::template view<4>(team, node.words()));
  }
  /// Decodes a header; `v` begins with the words version, info, right.
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

  /// Returns the first chunk that is not wholly below x, which for a node of one chunk is chunk 0.
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

  /// Returns the number of keys below x.
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
    unsigned slot;  ///< number of keys below x
    bool equal;     ///< the key at that slot is x, provided that the slot is in use
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
    Word low;  ///< every key that right links reach from this leaf is at least `low`
  };

  // ---- by inner nodes ------------------------------------------------------------------------------------
  /// Returns the node of `level` (0 is the leaf level) that covered x when its separator was posted.
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
        if (slot >= h.count) slot = 0;  // torn by a writer; the validation below fails
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

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_BLINK_TREE_DESCEND_HPP
