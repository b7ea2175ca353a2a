// bulk.hpp - a sorted batch merged into the leaves, without latches: nobody else is at the tree meanwhile.
//
// Leaves are named by their place in key order. A batch is cut along them (cut_batch), and then
//   if few elements fall into each leaf:
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
    return k == 0 ? id_of(j) : static_cast<node_id>(first_new + new_nodes[j] + k - 1);
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
template <class View>
struct sort_value {
  bulk_batch<View> b;
  typename bulk_batch<View>::value* sorted;
  ESPALIER_HD void operator()(std::size_t i) const { sorted[i] = b.value_of_run(i); }
};

/// `Team` is one thread. Nothing in the tree is changed yet, memory may still run out.
template <class Team, class View>
struct judge_leaf {
  using batch = bulk_batch<View>;
  batch b;
  std::uint32_t* many;  ///< becomes 1 if this way cannot be gone
  ESPALIER_HD void operator()(std::size_t j) const {
    using reader = node_reader<Team, stable_reads, typename batch::shape>;
    const std::uint32_t begin = b.cuts[j], end = b.cuts[j + 1];
    b.changes[j] = 0;
    b.new_nodes[j] = 0;
    if (end == begin) return;
    if (end - begin > batch::few) return shared_word{many}.store_relaxed(1);
    const auto node = b.tree.leaf(b.id_of(j));
    const auto seen = reader::look(Team{}, node);
    const auto h = reader::head(Team{}, node, seen);
    unsigned moves = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
      const auto place = reader::rank(Team{}, node, seen, b.words[i]);
      const bool present = place.equal && place.slot < h.count;
      const auto v = b.judge(i, present);
      const bool assigns = present && b.assigns() && b.is_last(i);
      const unsigned at = b.op == write_op::erase ? place.slot - moves : place.slot + moves;
      b.positions[i] = static_cast<std::uint8_t>(v.moves ? at : assigns ? at | batch::assigned : batch::nothing);
      moves += v.moves ? 1 : 0;
      if (b.done != nullptr) b.done[b.place[i]] = v.done ? 1 : 0;
    }
    b.changes[j] = static_cast<std::uint8_t>(moves);
    b.new_nodes[j] = b.plan_of(j, h.count, moves).nodes - 1;
  }
};

/// One team per leaf. Elements of the batch ascend: each goes straight to where it will lie.
template <class View>
struct change_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;
  batch b;

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t j) const {
    const std::uint64_t first_new = b.new_nodes[j], new_nodes = b.new_nodes[j + 1] - first_new;
    if (new_nodes != 0) {  // left to split_leaf
      return team.once([&] {
        for (std::uint64_t k = 0; k < new_nodes; ++k) b.splits[first_new + k] = static_cast<std::uint32_t>(j);
      });
    }
    b.list_unchanged(team, j);
    const std::uint32_t begin = b.cuts[j], end = b.cuts[j + 1], changes = b.changes[j];
    if (changes != 0) change(team, b.tree.leaf(b.id_of(j)), begin, end, changes);
    if constexpr (shape::value_bytes != 0) {
      if (b.assigns()) assign(team, b.tree.leaf(b.id_of(j)), begin, end);
    }
  }

 private:
  /// A leaf in registers: with its header where that comes along.
  template <class Team>
  static constexpr bool with_head = shape::in_one_piece && Team::copies_views;
  template <class Team>
  static ESPALIER_INLINE auto keys_of(Team team, node_at<shape> node) {
    if constexpr (with_head<Team>) {
      return team.template view_shared<shape::head_words + shape::slots>(reinterpret_cast<const word*>(node.p));
    } else {
      return team.template load<shape::slots>(node.keys());
    }
  }
  template <class Team>
  static ESPALIER_INLINE auto values_of(Team team, node_at<shape> node) {
    if constexpr (shape::value_bytes == 0) {
      return value{};
    } else if constexpr (with_head<Team>) {
      return team.template view_shared<shape::slots>(node.values());
    } else {
      return team.template load<shape::slots>(node.values());
    }
  }
  template <class Team, class Slots, class X>
  static ESPALIER_INLINE void put_back(Team team, X* p, const Slots& s, [[maybe_unused]] unsigned from) {
    if constexpr (with_head<Team>) {
      team.store_shared_from(p, s, from);
    } else {
      team.store(p, s);
    }
  }

  template <class Team>
  ESPALIER_INLINE void change(Team team, node_at<shape> node, std::uint32_t begin, std::uint32_t end,
                              std::uint32_t changes) const {
    constexpr unsigned front = with_head<Team> ? shape::head_words : 0;
    auto keys = keys_of(team, node);
    auto values = values_of(team, node);
    std::uint32_t info = *node.info();
    const bool erase = b.op == write_op::erase;
    unsigned first = shape::slots;  // that changes
    for (std::uint32_t i = begin; i < end; ++i) {
      const unsigned at = b.positions[i];
      if (at >= batch::assigned) continue;
      if (at < first) first = at;
      if (erase) {
        keys = team.erase_at(keys, front + at, static_cast<word>(~word{0}));
        if constexpr (shape::value_bytes != 0) values = team.erase_at(values, at, value{});
      } else {
        keys = team.insert_at(keys, front + at, b.words[i]);
        if constexpr (shape::value_bytes != 0) values = team.insert_at(values, at, b.sorted[i]);
      }
    }
    info = erase ? info - changes : info + changes;  // the count is its lowest part
    put_back(team, with_head<Team> ? reinterpret_cast<word*>(node.p) : node.keys(), keys, front + first);
    if constexpr (shape::value_bytes != 0) put_back(team, node.values(), values, first);
    team.sync();
    team.once([&] { *node.info() = info; });
  }
  template <class Team>
  ESPALIER_INLINE void assign(Team team, node_at<shape> node, std::uint32_t begin, std::uint32_t end) const {
    team.sync();
    for (std::uint32_t i = begin; i < end; ++i) {
      const unsigned at = b.positions[i];
      if (at < batch::assigned || at == batch::nothing) continue;
      team.once([&] { node.values()[at - batch::assigned] = b.sorted[i]; });
    }
  }
};

/// One team per new node, of which the first of a leaf does it all; inserts only. New nodes come first: until the leaf itself is overwritten, the old elements
/// are read from it.
template <class View>
struct split_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;
  batch b;

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t i) const {
    const std::uint32_t j = b.splits[i];
    if (i != b.new_nodes[j]) return;
    const auto node = b.tree.leaf(b.id_of(j));
    const auto h = node_reader<Team, own_reads, shape>::head_alone(team, node);
    const auto p = b.plan_of(j, h.count, b.changes[j]);
    for (std::uint32_t k = p.nodes; k-- != 0;) {
      const auto to = b.node_of(j, k);
      const std::uint32_t first = k * p.per;
      const std::uint32_t count = p.total - first < p.per ? p.total - first : p.per;
      const auto sources =
          team.template make<shape::slots>([&](unsigned s) { return s < count ? source(p, first + s) : unused; });
      const auto keys = team.map(sources, [&](std::uint32_t from) {
        if (from == unused) return static_cast<word>(~word{0});
        return from >= old ? node.keys()[from - old] : b.words[p.begin + from];
      });
      if constexpr (shape::value_bytes != 0) {
        const auto values = team.map(sources, [&](std::uint32_t from) {
          if (from == unused) return value{};
          return from >= old ? node.values()[from - old] : b.sorted[p.begin + from];
        });
        team.sync();  // all is read before anything of the leaf is overwritten
        team.store(to.values(), values);
      }
      team.sync();
      team.store(to.keys(), keys);
      const word high = k + 1 == p.nodes ? h.high : team.get(keys, count - 1);
      team.once([&] { finish(j, p, k, count, h, high); });
    }
  }

 private:
  /// What goes to a slot: element `from` of the leaf's slice of the batch, or slot from - old of the old leaf.
  static constexpr std::uint32_t old = 0x100, unused = ~0u;
  ESPALIER_INLINE std::uint32_t source(const typename batch::plan& p, std::uint32_t at) const {
    std::uint32_t slot = at;
    for (std::uint32_t i = p.begin; i < p.end; ++i) {
      const std::uint32_t position = b.positions[i];
      if ((position & ~std::uint32_t{batch::assigned}) == at && position != batch::nothing) return i - p.begin;
      slot -= position < at ? 1 : 0;  // a new one in front; others are at least `assigned`
    }
    return old + slot;
  }
  ESPALIER_INLINE void finish(std::uint64_t j, const typename batch::plan& p, std::uint32_t k, std::uint32_t count,
                              const node_head<word>& before, word high) const {
    const auto node = b.node_of(j, k);
    node_head<word> h = before;
    h.count = count;
    h.high = high;
    if (k + 1 != p.nodes) h.right = b.number_of(j, k + 1);
    if (k != 0) *node.version() = 0;
    *node.info() = h.info();
    *node.right() = h.right;
    *node.high() = h.high;
    b.after_ids[j + b.new_nodes[j] + k] = b.number_of(j, k);
    b.after_highs[j + b.new_nodes[j] + k] = high;
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
      std::uint32_t at;
      if (!target(p, base + i, key, at)) return;
      typename batch::value v{};
      if constexpr (shape::value_bytes != 0) v = team.own(values, i);
      b.put(j, p, at, key, v);
    });
  }
  /// Where the old element in slot s goes; false: it is erased.
  ESPALIER_INLINE bool target(const typename batch::plan& p, unsigned s, word key, std::uint32_t& at) const {
    const std::uint64_t i = first_not_below(b.words, p.begin, p.end, key);
    const auto d = static_cast<std::uint32_t>(b.moved[i] - b.moved[p.begin]);
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
    const std::uint32_t at = b.slot[i] + static_cast<std::uint32_t>(b.moved[i] - b.moved[p.begin]);
    b.put(j, p, at, b.words[i], b.value_of_run(i));
  }
};

}  // namespace espalier::detail
