// bulk.hpp - a sorted batch merged into the leaves, without latches: nobody else is at the tree meanwhile.
//
// Leaves are named by their place in key order. A batch is cut along them (cut_batch), and then
//   if few elements fall into each leaf (a CPU does this for those alone into which any fall: bulk_touched.hpp):
//     judge_leaf      where each of them goes in the leaf; how many nodes it needs; (scan) where the new ones are numbered from
//     change_leaf     one team per leaf that stays one node does in registers what the batch asks for
//     split_leaf      one team per leaf that becomes several writes them, each slot from the element that belongs there
//   else, over all elements and leaves at once, so that a batch that falls into one leaf is as fast as one that is spread:
//     place_element   where element i falls, and whether it moves others; a second time to overwrite present values
//     count_nodes     after a scan of the moves: how many nodes leaf j needs; (scan) as above
//     move_leaf       the old elements of leaf j to their new places, in key order over its nodes; headers and links
//     write_element   the new elements to theirs
// A key that had s smaller ones in its leaf has s + d of them afterwards (erase: s - d), where d is how many of those
// that move are in front of it. Old elements are moved from the far end, so that none is overwritten before it is read.
#pragma once

#include <cstdint>

#include "blink_tree/parts.hpp"
#include "blink_tree/pool.hpp"
#include "espalier/blink_tree/descend.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/static_tree/run.hpp"
#include "static_tree/memory_ahead.hpp"

namespace espalier::detail {

template <class View>
struct bulk_batch {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;

  View tree;
  write_op op;
  std::uint64_t n;             ///< elements
  const word* words;           ///< sorted
  const std::uint32_t* place;  ///< in the caller's batch
  const void* values;          ///< the caller's; null for erase and for sets
  std::uint8_t* done;          ///< in the caller's order; may be null
  std::uint64_t leaves;
  const word* highs;         ///< of the leaves, in key order
  bool by_lane;              ///< the lane names just these leaves
  const node_id* ids;        ///< null: numbered in key order
  std::uint32_t* cuts;       ///< leaves + 1: elements [cuts[j], cuts[j + 1]) fall into leaf j
  std::uint64_t* new_nodes;  ///< leaves + 1: before leaf j
  new_numbers numbers;     ///< of the new nodes
  std::uint32_t per_node;  ///< elements of a node that had to be split
  word* after_highs;       ///< the leaves afterwards; null: as before
  node_id* after_ids;
  // Few elements in each leaf:
  const value* sorted;      ///< values like words
  std::uint8_t* positions;  ///< of each element
  std::uint8_t* changes;    ///< how many elements of leaf j change what keys there are
  std::uint32_t* splits;    ///< for each new node its leaf
  // Many:
  std::uint64_t* moved;   ///< n + 1: how many elements before this one move others
  std::uint32_t* leaf;    ///< place in key order of the leaf of each element
  std::uint16_t* slot;    ///< how many keys of that leaf are smaller
  std::uint16_t* counts;  ///< of the leaves, before anything is moved

  /// So many elements of one leaf are few: their positions fit into seven bits. Wide nodes are not merged this way.
  static constexpr unsigned few = shape::slots == shape::chunk ? 32 : 0;
  /// An element's position in its leaf after the merge, if it is new or gives a present key another value; of one that is
  /// erased, how many elements that stay are in front of it.
  static constexpr std::uint8_t assigned = 0x80, nothing = 0xff;

  [[nodiscard]] ESPALIER_INLINE node_id id_of(std::uint64_t j) const {
    return ids == nullptr ? static_cast<node_id>(j) : ids[j];
  }
  [[nodiscard]] ESPALIER_INLINE bool is_first(std::uint64_t i) const { return i == 0 || words[i - 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE bool is_last(std::uint64_t i) const { return i + 1 == n || words[i + 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE value value_of(std::uint64_t i) const {
    return load_value<shape::value_bytes>(tree.value_bytes, values, place[i]);
  }
  /// That of the last one of a run of equal keys, if that one counts.
  [[nodiscard]] ESPALIER_INLINE value value_of_run(std::uint64_t i) const {
    if (op == write_op::insert_or_assign && !is_last(i)) {
      const word x = words[i];
      i = (x == static_cast<word>(~word{0}) ? n : first_not_below(words, i, n, static_cast<word>(x + 1))) - 1;
    }
    return value_of(i);
  }
  [[nodiscard]] ESPALIER_INLINE bool assigns() const {
    return shape::value_bytes != 0 && (op == write_op::insert_or_assign || op == write_op::update);
  }
  /// Of a leaf into which elements fall, that many bytes.
  [[nodiscard]] memory_ahead leaf_ahead(std::uint64_t j, unsigned bytes) const {
    if (cuts[j] == cuts[j + 1]) return {};
    return {tree.leaf(id_of(j)).p, bytes};
  }
  struct verdict {
    bool moves;  ///< it changes what keys there are
    bool done;   ///< the caller's answer
  };
  [[nodiscard]] ESPALIER_INLINE verdict judge(std::uint64_t i, bool present) const {
    if (op == write_op::update) return {false, present};
    const bool moves = is_first(i) && (op == write_op::erase ? present : !present);
    return {moves, moves};
  }

  /// How the elements of a leaf will lie.
  struct plan {
    std::uint32_t begin, end;  ///< slice
    std::uint32_t total;       ///< elements afterwards
    std::uint32_t nodes, per;
  };
  /// So that positions in a leaf are words of 32 bits, whatever it had before.
  static constexpr std::uint64_t most = 0xffff0000u;
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j, std::uint32_t count, std::uint32_t change) const {
    plan p{};
    p.begin = cuts[j];
    p.end = cuts[j + 1];
    p.total = op == write_op::erase ? count - change : count + change;
    p.nodes = p.total <= shape::slots ? 1 : (p.total + per_node - 1) / per_node;
    p.per = p.total <= shape::slots ? shape::slots : (p.total + p.nodes - 1) / p.nodes;
    return p;
  }
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j) const {
    return plan_of(j, counts[j], static_cast<std::uint32_t>(moved[cuts[j + 1]] - moved[cuts[j]]));
  }
  [[nodiscard]] ESPALIER_INLINE node_id number_of(std::uint64_t j, std::uint64_t k) const {
    return k == 0 ? id_of(j) : numbers[new_nodes[j] + k - 1];
  }
  [[nodiscard]] ESPALIER_INLINE node_at<shape> node_of(std::uint64_t j, std::uint64_t k) const {
    return tree.leaf(number_of(j, k));
  }
  /// An element to position `at` of leaf j.
  ESPALIER_INLINE void put(std::uint64_t j, const plan& p, std::uint32_t at, word key, const value& v) const {
    const std::uint32_t k = p.nodes == 1 ? 0 : at / p.per;
    const std::uint32_t s = at - k * p.per;
    const auto node = node_of(j, k);
    node.keys()[s] = key;
    if constexpr (shape::value_bytes != 0) node.values()[s] = v;
    if (s + 1 == p.per && k + 1 < p.nodes) {
      *node.high() = key;
      if (after_highs != nullptr) after_highs[j + new_nodes[j] + k] = key;
    }
  }
  template <class Team>
  ESPALIER_INLINE void list_unchanged(Team team, std::uint64_t j) const {
    if (after_ids == nullptr) return;
    team.once([&] {
      after_ids[j + new_nodes[j]] = id_of(j);
      after_highs[j + new_nodes[j]] = highs[j];
    });
  }
  /// Header, link and unused slots of node k of leaf j, whose header was `old`; the high key of all but the last comes with
  /// its last element. `any` are slots, whatever they hold.
  template <class Team, class Slots>
  ESPALIER_INLINE void finish(Team team, std::uint64_t j, const plan& p, std::uint32_t k, const node_head<word>& old,
                              const Slots& any) const {
    const auto node = node_of(j, k);
    const std::uint32_t begin = k * p.per;
    node_head<word> h = old;
    h.count = p.total - begin < p.per ? p.total - begin : p.per;
    const bool last = k + 1 == p.nodes;
    if (!last) h.right = number_of(j, k + 1);
    team.once([&] {
      if (k != 0) *node.version() = 0;
      *node.info() = h.info();
      *node.right() = h.right;
      if (last) *node.high() = h.high;
      if (after_ids != nullptr) {
        after_ids[j + new_nodes[j] + k] = number_of(j, k);
        if (last) after_highs[j + new_nodes[j] + k] = h.high;
      }
    });
    for (unsigned base = h.count / shape::chunk * shape::chunk; base < shape::slots; base += shape::chunk) {
      word* keys = node.keys() + base;
      team.for_slots(any, h.count > base ? h.count - base : 0, shape::chunk,
                     [=](unsigned i, word) { keys[i] = static_cast<word>(~word{0}); });
    }
  }
};

/// For j in [0, leaves].
template <class View>
struct cut_batch {
  using word = typename bulk_batch<View>::word;
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const { b.cuts[j] = static_cast<std::uint32_t>(cut(j, 0)); }
  /// One leaf after the other, on a CPU: cuts of neighbours are near each other, and a search of the whole batch for each
  /// leaf was most of what a small batch cost a large tree.
  void operator()(std::size_t first, std::size_t last) const {
    std::uint64_t at = cut(first, 0);
    b.cuts[first] = static_cast<std::uint32_t>(at);
    for (std::size_t j = first + 1; j < last; ++j) {
      constexpr unsigned near = 16;
      unsigned steps = 0;
      if (j != b.leaves) {
        const word low = static_cast<word>(b.highs[j - 1] + 1);
        while (steps < near && at < b.n && b.words[at] < low) ++at, ++steps;
      }
      if (steps == near || j == b.leaves) at = cut(j, at);
      b.cuts[j] = static_cast<std::uint32_t>(at);
    }
  }

  /// Which is not before `from`.
  [[nodiscard]] ESPALIER_HD std::uint64_t cut(std::size_t j, std::uint64_t from) const {
    if (j == 0 || j == b.leaves) return j == 0 ? 0 : b.n;  // only the last leaf has the largest word as high key
    return first_not_below(b.words, from, b.n, static_cast<word>(b.highs[j - 1] + 1));
  }
};

}  // namespace espalier::detail
