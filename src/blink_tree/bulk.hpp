// bulk.hpp - a sorted batch merged into the leaves, without latches: nobody else is at the tree meanwhile.
//
// Leaves are named by their place in key order. A batch is cut along them (cut_batch), and then
//   if few elements fall into each leaf:
//     judge_leaf      which of them change what keys there are, a bit each; how many nodes the leaf needs; (scan) where the
//                     new ones are numbered from
//     merge_leaf      one team per leaf reads it, and writes it and its new nodes with old and new elements in their places
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
#include "espalier/blink_tree/descend.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/static_tree/run.hpp"

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
  node_id first_new;
  std::uint32_t per_node;  ///< elements of a node that had to be split
  word* after_highs;       ///< the leaves afterwards; null: as before
  node_id* after_ids;
  // Few elements in each leaf:
  std::uint32_t* news;  ///< which of its elements move others
  // Many:
  std::uint64_t* moved;   ///< n + 1: how many elements before this one move others
  std::uint32_t* leaf;    ///< place in key order of the leaf of each element
  std::uint16_t* slot;    ///< how many keys of that leaf are smaller
  std::uint16_t* counts;  ///< of the leaves, before anything is moved

  /// So many elements of one leaf have a bit each in `news`. Wide nodes are not merged this way.
  static constexpr unsigned few = shape::slots == shape::chunk ? 32 : 0;

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
    std::uint64_t begin, end;  ///< slice
    std::uint64_t total;       ///< elements afterwards
    std::uint32_t nodes, per;
  };
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j, std::uint32_t count, std::uint64_t change) const {
    plan p{};
    p.begin = cuts[j];
    p.end = cuts[j + 1];
    p.total = op == write_op::erase ? count - change : count + change;
    p.nodes = p.total <= shape::slots ? 1 : static_cast<std::uint32_t>((p.total + per_node - 1) / per_node);
    p.per = p.total <= shape::slots ? shape::slots : static_cast<std::uint32_t>((p.total + p.nodes - 1) / p.nodes);
    return p;
  }
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j) const {
    return plan_of(j, counts[j], moved[cuts[j + 1]] - moved[cuts[j]]);
  }
  [[nodiscard]] ESPALIER_INLINE node_id number_of(std::uint64_t j, std::uint64_t k) const {
    return k == 0 ? id_of(j) : static_cast<node_id>(first_new + new_nodes[j] + k - 1);
  }
  [[nodiscard]] ESPALIER_INLINE node_at<shape> node_of(std::uint64_t j, std::uint64_t k) const {
    return tree.leaf(number_of(j, k));
  }
  /// An element to position `at` of leaf j.
  ESPALIER_INLINE void put(std::uint64_t j, const plan& p, std::uint64_t at, word key, const value& v) const {
    const std::uint64_t k = p.nodes == 1 ? 0 : at / p.per;
    const auto s = static_cast<unsigned>(at - k * p.per);
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
    const std::uint64_t begin = std::uint64_t{k} * p.per;
    node_head<word> h = old;
    h.count = static_cast<std::uint32_t>(p.total - begin < p.per ? p.total - begin : p.per);
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
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const {
    using word = typename bulk_batch<View>::word;
    std::uint64_t cut = j == 0 ? 0 : b.n;
    if (j != 0 && j != b.leaves)  // only the last leaf has the largest word as high key
      cut = first_not_below(b.words, 0, b.n, static_cast<word>(b.highs[j - 1] + 1));
    b.cuts[j] = static_cast<std::uint32_t>(cut);
  }
};

// ---- few elements in each leaf -------------------------------------------------------------------------------
/// `Team` is one thread. Nothing in the tree is changed yet, memory may still run out.
template <class Team, class View>
struct judge_leaf {
  using batch = bulk_batch<View>;
  batch b;
  std::uint32_t* many;  ///< becomes 1 if this way cannot be gone
  ESPALIER_HD void operator()(std::size_t j) const {
    using reader = node_reader<Team, stable_reads, typename batch::shape>;
    const std::uint64_t begin = b.cuts[j], end = b.cuts[j + 1];
    b.news[j] = 0;
    b.new_nodes[j] = 0;
    if (end == begin) return;
    if (end - begin > batch::few) return shared_word{many}.store_relaxed(1);
    const auto node = b.tree.leaf(b.id_of(j));
    const auto seen = reader::look(Team{}, node);
    const auto h = reader::head(Team{}, node, seen);
    std::uint32_t news = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto place = reader::rank(Team{}, node, seen, b.words[i]);
      const auto v = b.judge(i, place.equal && place.slot < h.count);
      news |= (v.moves ? 1u : 0u) << (i - begin);
      if (b.done != nullptr) b.done[b.place[i]] = v.done ? 1 : 0;
    }
    b.news[j] = news;
    b.new_nodes[j] = b.plan_of(j, h.count, count_bits(news)).nodes - 1;
  }
};

/// One team per leaf.
template <class View>
struct merge_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  batch b;

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t j) const {
    const std::uint32_t news = b.news[j];
    if (news == 0 && (!b.assigns() || b.cuts[j] == b.cuts[j + 1])) return b.list_unchanged(team, j);
    const auto node = b.tree.leaf(b.id_of(j));
    using reader = node_reader<Team, own_reads, shape>;
    const auto h = reader::head(team, node, reader::look(team, node));
    const auto p = b.plan_of(j, h.count, count_bits(news));
    const auto keys = team.template load<shape::chunk>(node.keys());
    const auto values = team.template load<shape::chunk>(node.values());
    team.sync();  // all of the leaf is in registers before any of it is overwritten
    const bool erase = b.op == write_op::erase;
    team.for_slots(keys, 0, h.count, [&](unsigned i, word key) {
      const std::uint64_t e = first_not_below(b.words, p.begin, p.end, key);
      if (erase && e != p.end && b.words[e] == key) return;
      const unsigned d = moves_before(news, e - p.begin);
      typename batch::value v{};
      if constexpr (shape::value_bytes != 0) v = team.own(values, i);
      b.put(j, p, erase ? i - d : i + d, key, v);
    });
    team.sync();  // an assigned value comes after the old one
    if (!erase) {
      for (std::uint64_t i = p.begin; i < p.end; ++i) element(team, j, p, news, keys, h.count, i);
    }
    for (std::uint32_t k = 0; k < p.nodes; ++k) b.finish(team, j, p, k, h, keys);
  }

 private:
  static ESPALIER_INLINE unsigned moves_before(std::uint32_t news, std::uint64_t i) {
    return count_bits(i >= 32 ? news : news & ((1u << i) - 1));
  }
  /// Element i of the batch: a new one, or a new value.
  template <class Team, class Keys>
  ESPALIER_INLINE void element(Team team, std::uint64_t j, const typename batch::plan& p, std::uint32_t news,
                               const Keys& keys, unsigned count, std::uint64_t i) const {
    const bool is_new = (news >> (i - p.begin) & 1) != 0;
    if (!is_new && !(b.assigns() && b.is_last(i))) return;
    const word x = b.words[i];
    const unsigned slot = team.count(keys, below<word>{x});  // unused slots are not below anything
    const std::uint64_t at = slot + moves_before(news, i - p.begin);
    if (is_new) {
      team.once([&] { b.put(j, p, at, x, b.value_of_run(i)); });
      return;
    }
    if constexpr (shape::value_bytes != 0) {
      if (slot >= count || team.get(keys, slot) != x) return;  // came with the first of its run
      const std::uint64_t k = p.nodes == 1 ? 0 : at / p.per;
      const auto node = b.node_of(j, k);
      team.once([&] { node.values()[at - k * p.per] = b.value_of(i); });
    }
  }
};

// ---- many in some --------------------------------------------------------------------------------------------
/// `Team` is one thread. First without `assigns`: nothing in the tree is changed yet, memory may still run out.
template <class Team, class View>
struct place_element {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  batch b;
  bool assigns;
  ESPALIER_HD void operator()(std::size_t i) const {
    using reader = node_reader<Team, stable_reads, shape>;
    const auto x = b.words[i];
    const std::uint64_t j = leaf_of(x);
    const auto node = b.tree.leaf(b.id_of(j));
    const auto seen = reader::look(Team{}, node);
    const auto h = reader::head(Team{}, node, seen);
    const auto place = reader::rank(Team{}, node, seen, x);
    const bool present = place.equal && place.slot < h.count;
    if constexpr (shape::value_bytes != 0) {
      if (assigns) {
        if (present && b.is_last(i)) node.values()[place.slot] = b.value_of(i);
        return;
      }
    }
    const auto v = b.judge(i, present);
    b.moved[i] = v.moves ? 1 : 0;
    b.leaf[i] = static_cast<std::uint32_t>(j);
    b.slot[i] = static_cast<std::uint16_t>(place.slot);
    if (b.done != nullptr) b.done[b.place[i]] = v.done ? 1 : 0;
  }

 private:
  ESPALIER_INLINE std::uint64_t leaf_of(typename batch::word x) const {
    if (!b.by_lane) return first_not_below(b.highs, 0, b.leaves, x);
    std::uint64_t j = descender<Team, stable_reads, View>::line_of(Team{}, b.tree, x);
    while (b.highs[j] < x) ++j;  // the lane may lead a little to the left
    return j;
  }
};

template <class View>
struct count_nodes {
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const {
    node_head<typename View::leaf_shape::word> h;
    h.set_info(*b.tree.leaf(b.id_of(j)).info());
    b.counts[j] = static_cast<std::uint16_t>(h.count);
    b.new_nodes[j] = b.plan_of(j).nodes - 1;
  }
};

/// One team per leaf.
template <class View>
struct move_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;
  batch b;

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t j) const {
    const auto node = b.tree.leaf(b.id_of(j));
    using reader = node_reader<Team, own_reads, shape>;
    const auto h = reader::head(team, node, reader::look(team, node));
    const auto p = b.plan_of(j);
    if (b.moved[p.end] == b.moved[p.begin]) return b.list_unchanged(team, j);
    const bool erase = b.op == write_op::erase;
    const unsigned chunks = (h.count + shape::chunk - 1) / shape::chunk;
    for (unsigned c = 0; c < chunks; ++c) {
      const unsigned base = (erase ? c : chunks - 1 - c) * shape::chunk;
      const auto keys = team.template load_shared<shape::chunk>(node.keys() + base);
      const auto values = team.template load_shared<shape::chunk>(node.values() + base);
      team.sync();  // all of the chunk is in registers before any of it is overwritten
      move_chunk(team, j, p, keys, values, base, h.count - base < shape::chunk ? h.count - base : shape::chunk);
      team.sync();
    }
    const auto any = team.template load_shared<shape::chunk>(node.keys());
    for (std::uint32_t k = 0; k < p.nodes; ++k) b.finish(team, j, p, k, h, any);
  }

 private:
  template <class Team, class Keys, class Values>
  ESPALIER_INLINE void move_chunk(Team team, std::uint64_t j, const typename batch::plan& p, const Keys& keys,
                                  const Values& values, unsigned base, unsigned used) const {
    // The lane that holds a slot's key holds its value too.
    team.for_slots(keys, 0, used, [&](unsigned i, word key) {
      std::uint64_t at;
      if (!target(p, base + i, key, at)) return;
      typename batch::value v{};
      if constexpr (shape::value_bytes != 0) v = team.own(values, i);
      b.put(j, p, at, key, v);
    });
  }
  /// Where the old element in slot s goes; false: it is erased.
  ESPALIER_INLINE bool target(const typename batch::plan& p, unsigned s, word key, std::uint64_t& at) const {
    const std::uint64_t i = first_not_below(b.words, p.begin, p.end, key);
    const std::uint64_t d = b.moved[i] - b.moved[p.begin];
    at = b.op == write_op::erase ? s - d : s + d;
    return b.op != write_op::erase || i == p.end || b.words[i] != key;
  }
};

template <class View>
struct write_element {
  using batch = bulk_batch<View>;
  batch b;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (b.op == write_op::erase || b.moved[i + 1] == b.moved[i]) return;
    const std::uint64_t j = b.leaf[i];
    const auto p = b.plan_of(j);
    const std::uint64_t at = b.slot[i] + (b.moved[i] - b.moved[p.begin]);
    b.put(j, p, at, b.words[i], b.value_of_run(i));
  }
};

}  // namespace espalier::detail
