// latch_coupling.hpp - the protocol of a plain B+tree: latch coupling from parent to child, restarts, and splits of
// full nodes on the way down.
//
// A descent reads a child only while its parent's version does not change, and restarts at the root if it changes or if
// the descent meets a latch: no right link is followed. A full node is split before the descent continues below it: the
// parent, which then has room, is latched first and then the node. Both latches are only tried for, so no team waits
// while it holds a latch. A split is thus visible in both levels or in neither. This protocol does not merge leaves;
// the owner's maintenance recycles their space.
//
// Right links and high keys are maintained nevertheless: scans and bulk writes use them.
#pragma once

#include "espalier/blink_tree/write.hpp"

namespace espalier {

template <class Team, class View>
struct couple_writer;

template <class Team, class Word, unsigned V, unsigned N>
struct couple_writer<Team, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using inner_shape = typename view::inner_shape;
  using latch = traced_latch<version_latch>;
  using leaf_reader = node_reader<Team, racing_reads, shape>;
  using leaf_writer = node_writer<Team, shape>;
  using inner_reader = node_reader<Team, racing_reads, inner_shape>;
  using inner_writer = node_writer<Team, inner_shape>;

  // ---- descent ---------------------------------------------------------------------------------------------------
  struct path {
    node_id parent, leaf;
    std::uint32_t parent_version, leaf_version;
  };
  /// Returns the version of a node, which is odd if the node is latched.
  static ESPALIER_INLINE std::uint32_t version_of(Team team, std::uint32_t* word) {
    const std::uint32_t v = team.once([=] { return atomic_word_ref{word}.load_acquire(); });
    team.sync();
    return v;
  }
  /// Makes one attempt; false means a restart from the root. With `inserts`, no inner node on the path is full when it
  /// succeeds.
  static ESPALIER_HD bool try_descend(Team team, const view& t, Word x, bool inserts, path& p, blink_outcome& failure) {
    node_id id = view::root, above = no_node;
    std::uint32_t v = version_of(team, t.inner(id).version()), v_above = 0;
    for (;;) {
      if ((v & 1) != 0) return false;
      const auto node = t.inner(id);
      const auto seen = inner_reader::look(team, node);
      const auto h = inner_reader::head(team, node, seen);
      const auto place = inner_reader::rank(team, node, seen, x);
      unsigned slot = place.equal && place.slot < h.count ? place.slot : place.slot - 1;
      if (slot >= h.count) slot = 0;  // torn by a writer; the validation below fails
      const node_id child = load_relaxed(node.values() + slot);
      const trace_node name{id, h.level};
      note(team, trace::reach(name));
      if (!latch::read_valid(team, name, node.version(), v)) return false;
      if (inserts && h.count == N) {
        failure = split_inner(team, t, above, v_above, id, v, h.level);
        return false;
      }
      const bool at_leaf = h.level == 1;
      const std::uint32_t v_child = version_of(team, at_leaf ? t.leaf(child).version() : t.inner(child).version());
      if (!latch::read_valid(team, name, node.version(), v)) return false;  // checks that it is still the child
      above = id;
      v_above = v;
      if (at_leaf) {
        note(team, trace::reach(trace::leaf(child)));
        p = {above, child, v_above, v_child};
        return (v_child & 1) == 0;
      }
      id = child;
      v = v_child;
    }
  }
  /// Returns false if no free node was left to split a node on the way.
  static ESPALIER_INLINE bool descend(Team team, const view& t, Word x, bool inserts, path& p) {
    for (unsigned turn = 0;; ++turn) {
      blink_outcome failure = blink_outcome::not_done;
      const Team told = on_attempt(team, turn);
      if (try_descend(told, t, x, inserts, p, failure)) {
        if constexpr (is_traced<Team>) {
          if (told.quiet) {
            note(team, trace::reach(trace_node{p.parent, 1}));
            note(team, trace::reach(trace::leaf(p.leaf)));
          }
        }
        return true;
      }
      if (failure == blink_outcome::out_of_nodes) return false;
      note(told, trace::retry(trace_node{view::root, 1}, trace_why::restart));
      backoff(turn);
    }
  }
  /// Latches a node if it still has version v.
  static ESPALIER_INLINE bool upgrade(Team team, trace_node n, std::uint32_t* word, std::uint32_t v) {
    const std::uint32_t before = latch::try_latch(team, n, word);
    if (before == v) return true;
    note(team, trace::retry(n, (before & 1) == 0 ? trace_why::changed : trace_why::busy));
    if ((before & 1) == 0) latch::release_unchanged(team, n, word, before);
    return false;
  }

  // ---- operations ------------------------------------------------------------------------------------------------
  static ESPALIER_HD bool find_from(Team team, const view& t, node_id, Word x, value& out) {
    for (;;) {
      path p;
      (void)descend(team, t, x, false, p);
      const auto leaf = t.leaf(p.leaf);
      const auto seen = leaf_reader::look(team, leaf);
      const auto h = leaf_reader::head(team, leaf, seen);
      const auto place = leaf_reader::rank(team, leaf, seen, x);
      const bool found = place.equal && place.slot < h.count;
      value v{};
      if (found) v = load_relaxed(leaf.values() + place.slot);
      if (!latch::read_valid(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version)) continue;
      if (found) out = v;
      return found;
    }
  }
  template <split_policy = split_policy::allowed>
  static ESPALIER_HD blink_outcome insert_from(Team team, const view& t, node_id, Word x, const value& v, bool assign) {
    return insert_or(team, t, x, v, [&](trace_node n, node_at<shape> leaf, unsigned slot, std::uint32_t version) {
      if (V == 0 || !assign) return latch::release_unchanged(team, n, leaf.version(), version);
      team.once([&] { store_relaxed(leaf.values() + slot, v); });
      note(team, trace::assign(n, slot, x));
      latch::release(team, n, leaf.version(), version);
    });
  }
  /// If x exists, replaces its value `old` by apply(old), read and written under one latch.
  template <class Apply>
  static ESPALIER_HD blink_outcome insert_or_apply_from(Team team, const view& t, node_id, Word x, const value& v,
                                                        Apply apply) {
    return insert_or(team, t, x, v, [&](trace_node n, node_at<shape> leaf, unsigned slot, std::uint32_t version) {
      const value old = load_relaxed(leaf.values() + slot);
      team.sync();  // all lanes have read the value before one of them stores the next one
      team.once([&] { store_relaxed(leaf.values() + slot, apply(old)); });
      note(team, trace::assign(n, slot, x));
      latch::release(team, n, leaf.version(), version);
    });
  }
  /// If x exists, calls present(name, leaf, slot, version) under the latch of its leaf; `present` releases the latch.
  template <class Present>
  static ESPALIER_INLINE blink_outcome insert_or(Team team, const view& t, Word x, const value& v, Present present) {
    for (;;) {
      path p;
      if (!descend(team, t, x, true, p)) return blink_outcome::out_of_nodes;
      const auto leaf = t.leaf(p.leaf);
      if (!upgrade(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version)) continue;
      const auto seen = leaf_reader::look(team, leaf);
      auto h = leaf_reader::head(team, leaf, seen);
      const auto place = leaf_reader::rank(team, leaf, seen, x);
      if (place.equal && place.slot < h.count) {
        present(trace::leaf(p.leaf), leaf, place.slot, p.leaf_version);
        return blink_outcome::not_done;
      }
      if (h.count == N) {
        latch::release_unchanged(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version);
        if (split_leaf(team, t, p) == blink_outcome::out_of_nodes) return blink_outcome::out_of_nodes;
        continue;
      }
      leaf_writer::insert_at(team, leaf, seen, place.slot, h.count, x, v);
      ++h.count;
      team.once([&] { store_relaxed(leaf.info(), h.info()); });
      note(team, trace::insert(trace::leaf(p.leaf), place.slot, x));
      latch::release(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version);
      return blink_outcome::done;
    }
  }
  static ESPALIER_HD blink_outcome update_from(Team team, const view& t, node_id, Word x, const value& v) {
    const auto change = [&](trace_node n, node_at<shape> leaf, const auto&, unsigned slot, const node_head<Word>&) {
      if constexpr (V != 0) team.once([&] { store_relaxed(leaf.values() + slot, v); });
      note(team, trace::assign(n, slot, x));
    };
    return change_present(team, t, x, change);
  }
  static ESPALIER_HD blink_outcome erase_from(Team team, const view& t, node_id, Word x) {
    const auto change = [&](trace_node n, node_at<shape> leaf, const auto& seen, unsigned slot, node_head<Word> h) {
      leaf_writer::erase_at(team, leaf, seen, slot, h.count);
      --h.count;
      team.once([&] { store_relaxed(leaf.info(), h.info()); });
      note(team, trace::erase(n, slot, x));
    };
    return change_present(team, t, x, change);
  }

 private:
  /// If x is present, calls change(name, leaf, look, slot, header) under the latch.
  template <class Change>
  static ESPALIER_INLINE blink_outcome change_present(Team team, const view& t, Word x, Change change) {
    for (;;) {
      path p;
      (void)descend(team, t, x, false, p);
      const auto leaf = t.leaf(p.leaf);
      if (!upgrade(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version)) continue;
      const auto seen = leaf_reader::look(team, leaf);
      const auto h = leaf_reader::head(team, leaf, seen);
      const auto place = leaf_reader::rank(team, leaf, seen, x);
      const bool found = place.equal && place.slot < h.count;
      if (found) change(trace::leaf(p.leaf), leaf, seen, place.slot, h);
      if (!found) {
        latch::release_unchanged(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version);
        return blink_outcome::not_done;
      }
      latch::release(team, trace::leaf(p.leaf), leaf.version(), p.leaf_version);
      return blink_outcome::done;
    }
  }

  // ---- splits: parent and node latched ---------------------------------------------------------------------------
  /// Moves the upper half of a full leaf to a new leaf and posts it to the parent, which has room. Returns
  /// out_of_nodes, or unchanged (try again).
  static ESPALIER_COLD blink_outcome split_leaf(Team team, const view& t, const path& p) {
    const auto parent = t.inner(p.parent);
    const trace_node leaf_name{p.leaf, 0}, parent_name{p.parent, 1};
    if (!upgrade(team, parent_name, parent.version(), p.parent_version)) return blink_outcome::not_done;
    const auto leaf = t.leaf(p.leaf);
    const std::uint32_t before = latch::try_latch(team, leaf_name, leaf.version());
    if ((before & 1) != 0) {
      note(team, trace::retry(leaf_name, trace_why::busy));
      latch::release_unchanged(team, parent_name, parent.version(), p.parent_version);
      return blink_outcome::not_done;
    }
    auto h = leaf_reader::head(team, leaf, leaf_reader::look(team, leaf));
    const node_id right_id = h.count == N ? team.once([&] { return t.leaves.take(); }) : no_node;
    if (right_id == no_node) {
      latch::release_unchanged(team, leaf_name, leaf.version(), before);
      latch::release_unchanged(team, parent_name, parent.version(), p.parent_version);
      return h.count == N ? blink_outcome::out_of_nodes : blink_outcome::not_done;
    }
    const auto right = t.leaf(right_id);
    const auto rh = leaf_writer::split(team, leaf, right, right_id, shape::half, h);
    note(team, trace::split(leaf_name, right_id, shape::half));
    leaf_writer::store_version(team, right);
    leaf_writer::store_head(team, right, rh);
    team.sync();
    fence_acq_rel();
    team.sync();
    leaf_writer::cut_left(team, leaf, h);
    leaf_writer::store_head(team, leaf, h);
    note(team, trace::link(leaf_name, right_id, shape::half, h.high));
    post(team, p.parent, parent, static_cast<Word>(h.high + 1), right_id);
    latch::release(team, leaf_name, leaf.version(), before);
    latch::release(team, parent_name, parent.version(), p.parent_version);
    return blink_outcome::not_done;
  }
  /// Inserts a separator into a latched inner node that has room.
  static ESPALIER_INLINE void post(Team team, node_id id, node_at<inner_shape> node, Word low, node_id child) {
    const auto seen = inner_reader::look(team, node);
    auto h = inner_reader::head(team, node, seen);
    const unsigned slot = inner_reader::rank(team, node, seen, low).slot;
    inner_writer::insert_at(team, node, slot, h.count, low, child);
    note(team, trace::post(trace_node{id, h.level}, slot, low, child));
    ++h.count;
    team.once([&] { store_relaxed(node.info(), h.info()); });
    team.sync();
  }
  static ESPALIER_COLD blink_outcome split_inner(Team team, const view& t, node_id above, std::uint32_t v_above,
                                                 node_id id, std::uint32_t v, std::uint32_t level) {
    const bool grow = id == view::root;
    const trace_node name{id, level}, parent_name{above, level + 1};
    const auto parent = t.inner(grow ? id : above);
    if (!grow && !upgrade(team, parent_name, parent.version(), v_above)) return blink_outcome::not_done;
    const auto node = t.inner(id);
    if (!upgrade(team, name, node.version(), v)) {
      if (!grow) latch::release_unchanged(team, parent_name, parent.version(), v_above);
      return blink_outcome::not_done;
    }
    const node_id right_id = team.once([&] { return t.inners.take(); });
    const node_id left_id = grow && right_id != no_node ? team.once([&] { return t.inners.take(); }) : id;
    if (right_id == no_node || left_id == no_node) {
      latch::release_unchanged(team, name, node.version(), v);
      if (!grow) latch::release_unchanged(team, parent_name, parent.version(), v_above);
      return blink_outcome::out_of_nodes;
    }
    const auto h = inner_reader::head(team, node, inner_reader::look(team, node));
    const auto made = inner_writer::halve(team, node, h, left_id, t.inner(left_id), right_id, t.inner(right_id));
    note_halves(team, name, left_id, right_id, inner_shape::half, made.separator);
    if (!grow) {
      post(team, above, parent, made.separator, right_id);
      latch::release(team, name, node.version(), v);
      latch::release(team, parent_name, parent.version(), v_above);
    } else {
      latch::release(team, name, node.version(), v);
    }
    return blink_outcome::not_done;
  }
};

}  // namespace espalier
