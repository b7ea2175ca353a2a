// bulk.hpp - a sorted batch merged into the leaves, without latches: nobody else is at the tree meanwhile.
//
// Words: leaves are named by their place in key order; `moved[i]` counts the elements before i of the sorted batch that
// change which keys there are (inserts of new keys, erases of present ones). Steps, each over all elements or leaves at
// once, so that a batch that falls into one leaf is as fast as one that is spread:
//   1. place_element   where element i falls, and whether it moves others; a second time to overwrite present values
//   2. cut_batch       which elements fall into leaf j; (scan) moved
//   3. count_nodes     how many nodes leaf j needs, and (scan) where the new ones are numbered from
//   4. move_leaf       the old elements of leaf j to their new places, in key order over its nodes; headers and links
//   5. write_element   the new elements to theirs
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
  const value* values;         ///< in the caller's order; null for erase and for sets
  std::uint8_t* done;          ///< in the caller's order; may be null
  std::uint64_t leaves;
  const word* highs;         ///< of the leaves, in key order
  bool by_lane;              ///< the lane names just these leaves
  const node_id* ids;        ///< null: numbered in key order
  std::uint64_t* moved;      ///< n + 1
  std::uint32_t* leaf;       ///< place in key order of the leaf of each element
  std::uint16_t* slot;       ///< how many keys of that leaf are smaller
  std::uint32_t* cuts;       ///< leaves + 1: elements [cuts[j], cuts[j + 1]) fall into leaf j
  std::uint64_t* new_nodes;  ///< leaves + 1: before leaf j
  std::uint16_t* counts;     ///< of the leaves, before anything is moved
  node_id first_new;
  std::uint32_t per_node;    ///< elements of a node that had to be split

  [[nodiscard]] ESPALIER_INLINE node_id id_of(std::uint64_t j) const {
    return ids == nullptr ? static_cast<node_id>(j) : ids[j];
  }
  [[nodiscard]] ESPALIER_INLINE bool is_first(std::uint64_t i) const { return i == 0 || words[i - 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE bool is_last(std::uint64_t i) const { return i + 1 == n || words[i + 1] != words[i]; }
  /// How the elements of a leaf will lie.
  struct plan {
    std::uint64_t begin, end;  ///< slice
    std::uint64_t total;       ///< elements afterwards
    std::uint32_t nodes, per;
  };
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j) const {
    plan p{};
    p.begin = cuts[j];
    p.end = cuts[j + 1];
    const std::uint32_t count = counts[j];
    const std::uint64_t change = moved[p.end] - moved[p.begin];
    p.total = op == write_op::erase ? count - change : count + change;
    p.nodes = p.total <= shape::slots ? 1 : static_cast<std::uint32_t>((p.total + per_node - 1) / per_node);
    p.per = p.total <= shape::slots ? shape::slots : static_cast<std::uint32_t>((p.total + p.nodes - 1) / p.nodes);
    return p;
  }
  [[nodiscard]] ESPALIER_INLINE node_at<shape> node_of(std::uint64_t j, std::uint64_t k) const {
    return tree.leaf(k == 0 ? id_of(j) : static_cast<node_id>(first_new + new_nodes[j] + k - 1));
  }
  /// An element to position `at` of leaf j.
  ESPALIER_INLINE void put(std::uint64_t j, const plan& p, std::uint64_t at, word key, const value& v) const {
    const std::uint64_t k = at / p.per;
    const auto s = static_cast<unsigned>(at % p.per);
    const auto node = node_of(j, k);
    node.keys()[s] = key;
    if constexpr (shape::value_bytes != 0) node.values()[s] = v;
    if (s + 1 == p.per && k + 1 < p.nodes) *node.high() = key;
  }
};

/// Step 1. `Team` is one thread. First without `assigns`: nothing in the tree is changed yet, memory may still run out.
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
    bool moves = false, done = false;
    switch (b.op) {
      case write_op::insert:
      case write_op::insert_or_assign:
        moves = done = !present && b.is_first(i);
        break;
      case write_op::update:
        done = present;
        break;
      case write_op::erase:
        moves = done = present && b.is_first(i);
        break;
    }
    if constexpr (shape::value_bytes != 0) {
      if (assigns) {
        if (present && b.is_last(i)) node.values()[place.slot] = b.values[b.place[i]];
        return;
      }
    }
    b.moved[i] = moves ? 1 : 0;
    b.leaf[i] = static_cast<std::uint32_t>(j);
    b.slot[i] = static_cast<std::uint16_t>(place.slot);
    if (b.done != nullptr) b.done[b.place[i]] = done ? 1 : 0;
  }

 private:
  ESPALIER_INLINE std::uint64_t leaf_of(typename batch::word x) const {
    if (!b.by_lane) return first_not_below(b.highs, 0, b.leaves, x);
    std::uint64_t j = descender<Team, stable_reads, View>::line_of(Team{}, b.tree, x);
    while (b.highs[j] < x) ++j;  // the lane may lead a little to the left
    return j;
  }
};

/// Step 2, for j in [0, leaves].
template <class View>
struct cut_batch {
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const {
    b.cuts[j] = j == b.leaves ? static_cast<std::uint32_t>(b.n)
                              : static_cast<std::uint32_t>(
                                    first_not_below(b.leaf, 0, b.n, static_cast<std::uint32_t>(j)));
  }
};

/// Step 3.
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

/// Step 4, one team per leaf.
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
    if (b.moved[p.end] == b.moved[p.begin]) return;
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
    for (std::uint32_t k = 0; k < p.nodes; ++k) finish_node(team, j, p, k, h);
  }

 private:
  template <class Team, class Keys, class Values>
  ESPALIER_INLINE void move_chunk(Team team, std::uint64_t j, const typename batch::plan& p, const Keys& keys,
                                  const Values& values, unsigned base, unsigned used) const {
    // The lane that holds a slot's key holds its value too.
    team.for_slots(keys, 0, used, [&](unsigned i, word key) {
      std::uint64_t at;
      if (!target(p, base + i, key, at)) return;
      const auto node = b.node_of(j, at / p.per);
      const auto s = static_cast<unsigned>(at % p.per);
      node.keys()[s] = key;
      if constexpr (shape::value_bytes != 0) node.values()[s] = team.own(values, i);
      if (s + 1 == p.per && at / p.per + 1 < p.nodes) *node.high() = key;
    });
  }
  /// Where the old element in slot s goes; false: it is erased.
  ESPALIER_INLINE bool target(const typename batch::plan& p, unsigned s, word key, std::uint64_t& at) const {
    const std::uint64_t i = first_not_below(b.words, p.begin, p.end, key);
    const std::uint64_t d = b.moved[i] - b.moved[p.begin];
    at = b.op == write_op::erase ? s - d : s + d;
    return b.op != write_op::erase || i == p.end || b.words[i] != key;
  }
  /// Header, link and unused slots of node k; the high key of all but the last comes with its last element.
  template <class Team>
  ESPALIER_INLINE void finish_node(Team team, std::uint64_t j, const typename batch::plan& p, std::uint32_t k,
                                   const node_head<word>& old) const {
    const auto node = b.node_of(j, k);
    const std::uint64_t begin = std::uint64_t{k} * p.per;
    node_head<word> h = old;
    h.count = static_cast<std::uint32_t>(p.total - begin < p.per ? p.total - begin : p.per);
    const bool last = k + 1 == p.nodes;
    if (!last) h.right = static_cast<node_id>(b.first_new + b.new_nodes[j] + k);
    team.once([&] {
      if (k != 0) *node.version() = 0;
      *node.info() = h.info();
      *node.right() = h.right;
      if (last) *node.high() = h.high;
    });
    for (unsigned base = h.count / shape::chunk * shape::chunk; base < shape::slots; base += shape::chunk) {
      const auto unused = team.head(team.template load_shared<shape::chunk>(node.keys() + base), 0,
                                    static_cast<word>(~word{0}));
      word* keys = node.keys() + base;
      team.for_slots(unused, h.count > base ? h.count - base : 0, shape::chunk,
                     [=](unsigned i, word x) { keys[i] = x; });
    }
  }
};

/// Step 5.
template <class View>
struct write_element {
  using batch = bulk_batch<View>;
  batch b;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (b.op == write_op::erase || b.moved[i + 1] == b.moved[i]) return;
    const std::uint64_t j = b.leaf[i];
    const auto p = b.plan_of(j);
    const std::uint64_t at = b.slot[i] + (b.moved[i] - b.moved[p.begin]);
    typename batch::value v{};
    if constexpr (batch::shape::value_bytes != 0) {
      std::uint64_t source = i;
      if (b.op == write_op::insert_or_assign && !b.is_last(i))
        source = (b.words[i] == static_cast<typename batch::word>(~typename batch::word{0})
                      ? b.n
                      : first_not_below(b.words, i, b.n, static_cast<typename batch::word>(b.words[i] + 1))) -
                 1;
      v = b.values[b.place[source]];
    }
    b.put(j, p, at, b.words[i], v);
  }
};

/// The leaves afterwards, in key order, with their new ones.
template <class View>
struct list_after_bulk {
  bulk_batch<View> b;
  typename View::leaf_shape::word* highs;
  node_id* ids;
  ESPALIER_HD void operator()(std::size_t j) const {
    const std::uint64_t first = j + b.new_nodes[j], end = j + 1 + b.new_nodes[j + 1];
    for (std::uint64_t k = 0; first + k < end; ++k) {
      const node_id id = k == 0 ? b.id_of(j) : static_cast<node_id>(b.first_new + b.new_nodes[j] + k - 1);
      ids[first + k] = id;
      highs[first + k] = *b.tree.leaf(id).high();
    }
  }
};

}  // namespace espalier::detail
