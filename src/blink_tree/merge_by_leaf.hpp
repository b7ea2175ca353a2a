// merge_by_leaf.hpp - merges the slices of light leaves (bulk.hpp): one team per leaf.
#pragma once

#include "blink_tree/bulk.hpp"

namespace espalier::detail {

template <class View>
struct sort_value {
  bulk_batch<View> b;
  typename bulk_batch<View>::value* sorted;
  ESPALIER_HD void operator()(std::size_t i) const { sorted[i] = b.value_of_run(i); }
};

/// `Team` is one thread. The tree is not changed yet, because memory may still run out.
template <class Team, class View>
struct judge_leaf {
  using batch = bulk_batch<View>;
  batch b;
  [[nodiscard]] prefetch_hint prefetch_address(std::size_t j) const { return b.leaf_ahead(j, batch::shape::values_at); }
  ESPALIER_HD void operator()(std::size_t j) const {
    using reader = node_reader<Team, stable_reads, typename batch::shape>;
    const std::uint32_t begin = b.cuts[j], end = b.cuts[j + 1];
    b.changes[j] = 0;
    b.new_nodes[j] = 0;
    if (end == begin) return;
    if (end - begin > batch::few) return b.heavy.add(j, end - begin);
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
      if (b.done != nullptr && v.done) b.done[b.place_of(i)] = 1;
    }
    b.changes[j] = static_cast<std::uint8_t>(moves);
    b.new_nodes[j] = b.encode(b.plan_of(j, h.count, moves), moves);
  }
};

/// One team per leaf. Elements of the batch ascend: each is written directly to its final position.
template <class View>
struct change_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;
  batch b;
  [[nodiscard]] prefetch_hint prefetch_address(std::size_t j) const { return b.leaf_ahead(j, shape::bytes); }

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t j) const {
    const std::uint32_t begin = b.cuts[j], end = b.cuts[j + 1], changes = b.changes[j];
    if (end - begin > batch::few) return;  // heavy
    const std::uint64_t first_new = b.nodes_before(j), new_nodes = b.nodes_before(j + 1) - first_new;
    if (new_nodes != 0 && b.op != write_op::erase) {  // handled by split_leaf
      return team.once([&] {
        for (std::uint64_t k = 0; k < new_nodes; ++k) b.splits[first_new + k] = static_cast<std::uint32_t>(j);
      });
    }
    b.list_unchanged(team, j);
    if (changes != 0) change(team, b.tree.leaf(b.id_of(j)), begin, end, changes);
    if constexpr (shape::value_bytes != 0) {
      if (b.assigns()) assign(team, b.tree.leaf(b.id_of(j)), begin, end);
    }
  }

 private:
  /// Whether a leaf in registers includes its header.
  template <class Team>
  static constexpr bool with_head = shape::in_one_piece&& Team::view_is_register_copy;
  template <class Team>
  static ESPALIER_INLINE auto keys_of(Team team, node_at<shape> node) {
    if constexpr (with_head<Team>) {
      return team.template view_relaxed<shape::head_words + shape::slots>(reinterpret_cast<const word*>(node.p));
    } else {
      return team.template load<shape::slots>(node.keys());
    }
  }
  template <class Team>
  static ESPALIER_INLINE auto values_of(Team team, node_at<shape> node) {
    if constexpr (shape::value_bytes == 0) {
      return value{};
    } else if constexpr (with_head<Team>) {
      return team.template view_relaxed<shape::slots>(node.values());
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
    unsigned first = shape::slots;  // first slot that changes
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
    info = erase ? info - changes : info + changes;  // the count is in the lowest bits
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

/// One team per new node, of which the first one of a leaf does all the work; inserts only. New nodes are written
/// first: the old elements are read from the leaf until it is overwritten.
template <class View>
struct split_leaf {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;
  using value = typename batch::value;
  batch b;
  [[nodiscard]] prefetch_hint prefetch_address(std::size_t i) const {
    return b.splits[i] == batch::no_split ? prefetch_hint{} : b.leaf_ahead(b.splits[i], shape::bytes);
  }

  template <class Team>
  ESPALIER_INLINE void operator()(Team team, std::size_t i) const {
    const std::uint32_t j = b.splits[i];
    if (j == batch::no_split || i != b.nodes_before(j)) return;
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
        team.sync();  // everything is read before any of the leaf is overwritten
        team.store(to.values(), values);
      }
      team.sync();
      team.store(to.keys(), keys);
      const word high = k + 1 == p.nodes ? h.high : team.get(keys, count - 1);
      team.once([&] { finish(j, p, k, count, h, high); });
    }
  }

 private:
  /// The source of a slot: element `from` of the leaf's slice of the batch, or slot from - old of the old leaf.
  static constexpr std::uint32_t old = 0x100, unused = ~0u;
  ESPALIER_INLINE std::uint32_t source(const typename batch::plan& p, std::uint32_t at) const {
    std::uint32_t slot = at;
    for (std::uint32_t i = p.begin; i < p.end; ++i) {
      const std::uint32_t position = b.positions[i];
      if ((position & ~std::uint32_t{batch::assigned}) == at && position != batch::nothing) return i - p.begin;
      slot -= position < at ? 1 : 0;  // a new one in front; other positions are at least `assigned`
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
    if (b.after_ids != nullptr) b.list(j, k, b.number_of(j, k), high);
  }
};

}  // namespace espalier::detail
