// bulk_many.hpp - merging a batch of which many elements may fall into one leaf (bulk.hpp): a thread per element.
#pragma once

#include "blink_tree/bulk.hpp"

namespace espalier::detail {

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
