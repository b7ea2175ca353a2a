// write.hpp - write operations of the blink and single_writer protocols, one implementation for every team.
//
// Invariants, in addition to those of nodes (node.hpp):
// (a) A writer holds the latch of the leaf it changes and no other latch; when it merges, it also holds that of the
// right
//     neighbour, which it only tries for. So there is no cycle of waiting teams.
// (b) A search for x is always at a leaf whose lowest key is not above x. So it may continue at any such leaf: where
// the
//     inner levels lead, or at the leaf of an earlier key that is not above x.
// (c) A search that followed `max_right_links` links consults the inner nodes, each time: separators posted in the
//     meantime shorten the rest of the walk.
// (d) A new leaf is complete before a link leads to it. It is posted after the latch of its left neighbour is released:
//     until then, and if there is no room for its separator, only the right link leads there.
// (e) Without a lane every new leaf is posted, once, by the team that made it. With a lane the leaves of long chains
// are
//     posted: in kernels by the teams that make them, and every `max_right_links`-th leaf of an unindexed chain by the
//     search that walks it.
// (f) A team reads an inner node optimistically before it latches it: most often the separator is posted already.
// (g) Teams that wait for a leaf let one of them do the work of all (combining_insert.hpp).
#pragma once

#include "espalier/blink_tree/combining_insert.hpp"
#include "espalier/blink_tree/node_write.hpp"
#include "espalier/blink_tree/read.hpp"

namespace espalier {

/// Whether an insert may split a leaf or wait for one. On a GPU one split stalls the whole warp, so batches are
/// inserted in two passes: the first (`never`) returns out_of_nodes if a leaf is full or latched, and the second
/// retries these elements.
enum class split_policy : std::uint8_t { allowed, never };

template <class Team, class Reads, bool PostAlways, class View>
struct blink_writer;  // for the blink and single_writer protocols

/// `Reads` determines the latch: racing_reads for the blink protocol, own_reads for single_writer. With `PostAlways`,
/// each split is posted to the inner nodes at once, with or without a lane.
template <class Team, class Reads, bool PostAlways, class Word, unsigned V, unsigned N>
struct blink_writer<Team, Reads, PostAlways, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using inner_shape = typename view::inner_shape;
  using reader = blink_reader<Team, asking<Reads>, view>;
  using leaf_reader = node_reader<Team, own_reads, shape>;  // under the latch, the leaf does not change
  using leaf_writer = node_writer<Team, shape>;
  using inner_reader = node_reader<Team, own_reads, inner_shape>;
  using inner_writer = node_writer<Team, inner_shape>;
  using descent = descender<Team, Reads, view>;
  using latch = traced_latch<typename Reads::latch>;

  static constexpr unsigned max_right_links = reader::max_right_links;
  /// Links after which the first of two passes leaves an element to the second one, which consults the inner nodes:
  /// small batches make chains of thousands of leaves.
  static constexpr unsigned most_links_of_first_pass = 16;
  /// Whether teams of a warp that wait for a leaf combine their inserts. Traced teams do not, because their steps are
  /// recorded one by one, and a single writer does not.
  static constexpr bool combines = Team::view_is_register_copy && !is_traced<Team> && latch::is_real;

  // ---- walk to the leaf of a key ---------------------------------------------------------------------------------
  struct walk {
    node_id id;
    bool asked;          ///< this search has consulted the inner nodes
    Word low = 0;        ///< leaves passed end below this, or inner levels led there; it only grows
    unsigned links = 0;  ///< followed since the inner levels were consulted
  };
  static ESPALIER_INLINE walk walk_from(const view& t, node_id start) { return {start, t.lane.size == 0}; }
  /// Continues from a leaf with this header that does not cover x.
  static ESPALIER_INLINE void go_on(Team team, const view& t, const node_head<Word>& h, walk& w, Word x) {
    const Word next = h.dead ? Word{0} : static_cast<Word>(h.high + 1);
    if (next > w.low) w.low = next;
    w.id = h.right;
    if (++w.links == max_right_links) w = ask_nodes(team, t, w, next, x);
  }
  /// Consults the inner nodes. `next` is the lowest key of leaf w.id, or 0 if unknown.
  static ESPALIER_COLD walk ask_nodes(Team team, const view& t, walk w, Word next, Word x) {
    const auto start = descent::by_nodes(team, t, x, 0);
    // Only if that leaf is further right than every leaf before. Inner levels may name a dead leaf, whose link leads
    // back to the left: a search that is sent there twice would loop forever.
    if (start.low > w.low) {
      w.id = start.id;
      w.low = start.low;
    } else if (w.asked && next != 0) {
      post(team, t, next, w.id);  // no other search then walks these leaves again
    }
    w.asked = true;
    w.links = 0;
    return w;
  }

  // ---- the leaf of a key, latched ------------------------------------------------------------------------------
  struct latched_leaf {
    node_at<shape> node;
    node_id id;
    std::uint32_t before;  ///< version before the latch, for release
    decltype(leaf_reader::look(std::declval<Team>(), std::declval<node_at<shape>>())) seen;
    node_head<Word> head;
    bool in_chain;  ///< the lane, if there is one, does not lead near this leaf
  };
  static ESPALIER_HD latched_leaf latch_leaf(Team team, const view& t, node_id start, Word x) {
    walk w = walk_from(t, start);
    bool blind = true;  // The first attempt latches without reading, which mostly succeeds and saves a read; later
                        // attempts read first.
    for (unsigned turn = 0;;) {
      const auto node = t.leaf(w.id);
      if (!blind) {
        const auto p = reader::look(on_attempt(team, turn), t, w.id);
        if (p.head.dead || x > p.head.high) {
          if (reader::valid(team, p)) go_on(team, t, p.head, w, x);
          continue;
        }
      } else {
        note(team, trace::reach(trace::leaf(w.id)));
        blind = false;
      }
      const std::uint32_t before = latch::try_latch(team, trace::leaf(w.id), node.version());
      if ((before & 1) != 0) {
        if (turn == 0) note(team, trace::retry(trace::leaf(w.id), trace_why::busy));
        backoff(turn++);
        continue;
      }
      const auto seen = leaf_reader::look(team, node);
      const auto h = leaf_reader::head(team, node, seen);
      if (!h.dead && x <= h.high) return {node, w.id, before, seen, h, w.asked};
      latch::release_unchanged(team, trace::leaf(w.id), node.version(), before);
      go_on(team, t, h, w, x);
    }
  }
  static ESPALIER_INLINE void release(Team team, const latched_leaf& l) {
    latch::release(team, trace::leaf(l.id), l.node.version(), l.before);
  }
  static ESPALIER_INLINE void release_unchanged(Team team, const latched_leaf& l) {
    latch::release_unchanged(team, trace::leaf(l.id), l.node.version(), l.before);
  }

  static ESPALIER_INLINE bool find_from(Team team, const view& t, node_id start, Word x, value& out) {
    return reader::find_from(team, t, start, x, out);
  }

  // ---- insert ----------------------------------------------------------------------------------------------------
  template <split_policy Splits = split_policy::allowed>
  static ESPALIER_HD blink_outcome insert_from(Team team, const view& t, node_id start, Word x, const value& v,
                                               bool assign) {
    if constexpr (shape::in_one_piece && Team::view_is_register_copy && (Splits == split_policy::never || combines)) {
      const blink_outcome r = try_insert_from<Splits>(team, t, start, x, v, assign);
      if (Splits == split_policy::never || r != blink_outcome::out_of_nodes) return r;
    }
    if constexpr (Splits == split_policy::allowed && combines) {
      return blink_together<blink_writer, Team, view>::insert(team, t, walk_from(t, start), x, v, assign);
    } else {
      return insert_alone<Splits>(team, t, start, x, v, assign);
    }
  }
  template <split_policy Splits>
  static ESPALIER_INLINE blink_outcome insert_alone(Team team, const view& t, node_id start, Word x, const value& v,
                                                    bool assign) {
    return insert_or<Splits>(team, t, start, x, v, [&](const latched_leaf& l, unsigned slot) {
      if (V == 0 || !assign) {
        release_unchanged(team, l);
      } else {
        store_value(team, l, slot, x, v);
      }
    });
  }
  /// If x exists, replaces its value `old` by apply(old), read and written under one latch.
  template <class Apply>
  static ESPALIER_HD blink_outcome insert_or_apply_from(Team team, const view& t, node_id start, Word x, const value& v,
                                                        Apply apply) {
    return insert_or<split_policy::allowed>(team, t, start, x, v, [&](const latched_leaf& l, unsigned slot) {
      const value old = load_relaxed(l.node.values() + slot);
      team.sync();  // all lanes have read the value before one of them stores the next one
      store_value(team, l, slot, x, apply(old));
    });
  }
  /// If x exists, calls present(leaf, slot) under the latch of its leaf; `present` releases the latch.
  template <split_policy Splits, class Present>
  static ESPALIER_INLINE blink_outcome insert_or(Team team, const view& t, node_id start, Word x, const value& v,
                                                 Present present) {
    latched_leaf l = latch_leaf(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (place.equal && place.slot < l.head.count) {
      present(l, place.slot);
      return blink_outcome::not_done;
    }
    if (l.head.count < N) {
      leaf_writer::insert_at(team, l.node, l.seen, place.slot, l.head.count, x, v);
      ++l.head.count;
      team.once([&] { store_relaxed(l.node.info(), l.head.info()); });
      note(team, trace::insert(trace::leaf(l.id), place.slot, x));
      release(team, l);
      return blink_outcome::done;
    }
    if constexpr (Splits == split_policy::never) {
      release_unchanged(team, l);
      return blink_outcome::out_of_nodes;
    } else {
      const new_leaf made = split_and_insert(team, t, l, place.slot, x, v, false);
      if (made.id == no_node) return blink_outcome::out_of_nodes;
      if (posts(t, l.in_chain)) post(team, t, made.low, made.id);
      return blink_outcome::done;
    }
  }
  /// Whether a new leaf is posted by the team that made it: invariant (e).
  static ESPALIER_INLINE bool posts(const view& t, bool in_chain) {
    return PostAlways || t.lane.size == 0 || (Team::batch == 1 && in_chain);
  }

  // ---- many inserts by one thread --------------------------------------------------------------------------------
  /// Position of a run of ascending keys, from one call to the next.
  struct run_place {
    node_id leaf = no_node;       ///< leaf of the last key
    unsigned unposted = 0;        ///< leaves made since the last post
    node_id posted_to = no_node;  ///< inner node of the lowest level that received the last post
  };
  /// Inserts keys[0] <= ... <= keys[n - 1], the first of which is not below the last key of the run so far. The effect
  /// is that of n inserts in sequence, but each leaf is latched once, and there are no descents in between. Calls
  /// answer(j, outcome) for each key.
  template <class ValueAt, class Answer>
  static ESPALIER_INLINE void insert_run(Team team, const view& t, run_place& at, const Word* keys, unsigned n,
                                         bool assign, ValueAt value_at, Answer answer) {
    for (unsigned j = 0; j < n;) {
      latched_leaf l = latch_leaf(team, t, at.leaf, keys[j]);
      at.leaf = l.id;
      Word last = l.head.count == 0 ? Word{0} : load_relaxed(l.node.keys() + l.head.count - 1);
      bool changed = false, split = false;
      do {
        const Word x = keys[j];
        const value v = value_at(j);
        unsigned slot = l.head.count;
        bool present = false;
        if (slot != 0 && x <= last) {
          const auto place = leaf_reader::rank(team, l.node, leaf_reader::look(team, l.node), x);
          slot = place.slot;
          present = place.equal && slot < l.head.count;
        }
        if (present) {
          if (V != 0 && assign) {
            team.once([&] { store_relaxed(l.node.values() + slot, v); });
            note(team, trace::assign(trace::leaf(l.id), slot, x));
            changed = true;
          }
          answer(j, blink_outcome::not_done);
        } else if (l.head.count < N) {
          if (slot == l.head.count) {
            last = x;
            team.once([&] {
              store_relaxed(l.node.keys() + slot, x);
              store_relaxed(l.node.values() + slot, v);
            });
          } else {
            leaf_writer::insert_at(team, l.node, slot, l.head.count, x, v);
          }
          ++l.head.count;
          note(team, trace::insert(trace::leaf(l.id), slot, x));
          changed = true;
          answer(j, blink_outcome::done);
        } else {
          split = true;
          answer(j, split_in_run(team, t, at, l, slot, x, v, changed));
        }
      } while (++j < n && !split && keys[j] <= l.head.high);
      if (split) continue;
      if (changed) {
        team.once([&] { store_relaxed(l.node.info(), l.head.info()); });
        release(team, l);
      } else {
        release_unchanged(team, l);
      }
    }
  }
  /// Appends keys[0] < ... < keys[n - 1], which continue a run, after the last key of the tree. Keys that do not fit
  /// into the last leaf are written to new leaves, which are complete before one link makes all of them visible.
  /// Returns the number of keys inserted: 0 if they do not belong there or another thread holds the leaf, fewer than n
  /// if the pool has no more nodes.
  static ESPALIER_INLINE unsigned append_run(Team team, const view& t, run_place& at, const Word* keys,
                                             [[maybe_unused]] const value* values, unsigned n) {
    const node_id id = at.leaf;
    const auto node = t.leaf(id);
    const std::uint32_t before = latch::try_latch(team, trace::leaf(id), node.version());
    if ((before & 1) != 0) return 0;
    node_head<Word> h = leaf_reader::head_alone(team, node);
    if (h.dead || h.right != no_node || (h.count != 0 && load_relaxed(node.keys() + h.count - 1) >= keys[0])) {
      latch::release_unchanged(team, trace::leaf(id), node.version(), before);
      return 0;
    }
    const unsigned here = N - h.count < n ? N - h.count : n;
    const auto more = t.leaves.take_up_to((n - here + N - 1) / N);
    if (here + more.count == 0) {
      latch::release_unchanged(team, trace::leaf(id), node.version(), before);
      return 0;
    }
    leaf_writer::put(node.keys(), h.count, keys, here);
    if constexpr (V != 0) leaf_writer::put(node.values(), h.count, values, here);
    h.count += here;
    unsigned done = here;
    if (more.count != 0) {
      h.right = t.leaves.number(more.first);
      h.high = load_relaxed(node.keys() + N - 1);
      at.leaf = h.right;
      for (std::uint32_t k = 1;; ++k) {
        node_head<Word> made;
        made.count = n - done < N ? n - done : N;
        if (k != more.count) {
          made.right = t.leaves.number(more.first + k);
          made.high = keys[done + N - 1];
        }
        leaf_writer::write_new(team, t.leaf(at.leaf), keys + done, V == 0 ? nullptr : values + done, made);
        done += made.count;
        if (k == more.count) break;
        at.leaf = made.right;
      }
      fence_acq_rel();  // new leaves are complete before any link leads to them
    }
    leaf_writer::store_head(team, node, h);
    latch::release(team, trace::leaf(id), node.version(), before);
    for (std::uint32_t k = 0; k < more.count; ++k) {  // invariant (e)
      if (!posts(t, false) && ++at.unposted != max_right_links) continue;
      const Word low = k == 0 ? h.high : keys[here + k * N - 1];
      post_near(team, t, at.posted_to, static_cast<Word>(low + 1), t.leaves.number(more.first + k));
      at.unposted = 0;
    }
    return done;
  }
  static ESPALIER_COLD blink_outcome split_in_run(Team team, const view& t, run_place& at, latched_leaf& l,
                                                  unsigned slot, Word x, const value& v, bool changed) {
    if (changed) team.once([&] { store_relaxed(l.node.info(), l.head.info()); });
    const new_leaf made = split_and_insert(team, t, l, slot, x, v, changed);
    if (made.id == no_node) return blink_outcome::out_of_nodes;
    if (made.has_x) at.leaf = made.id;
    if (posts(t, l.in_chain) || ++at.unposted == max_right_links) {
      post(team, t, made.low, made.id);
      at.unposted = 0;
    }
    return blink_outcome::done;
  }

  /// Insert without waiting and without rare cases, for leaves that are read at once; the leaf is changed in registers.
  /// out_of_nodes means that this path does not apply and nothing was changed. With split_policy::never it is the first
  /// of two passes; otherwise it is the fast path, and `id` is then the leaf at which it gave up.
  template <split_policy Splits>
  static ESPALIER_INLINE blink_outcome try_insert_from(Team team, const view& t, node_id& id, Word x, const value& v,
                                                       bool assign) {
    constexpr unsigned front = shape::head_words;
    for ([[maybe_unused]] unsigned links = 0;;) {
      const auto node = t.leaf(id);
      if constexpr (Splits == split_policy::never && combines) {
        // Only one of the teams of a warp at one leaf can get the latch; the others do not request it.
        if (!team.meet(node.p).leads()) return blink_outcome::out_of_nodes;
      }
      for (unsigned b = 0; b < shape::bytes; b += 64) prefetch_shared(node.p + b);  // overlaps with the latch access
      const std::uint32_t before = latch::try_latch(team, trace::leaf(id), node.version());
      if ((before & 1) != 0) return blink_outcome::out_of_nodes;
      const auto seen = leaf_reader::look(team, node);
      const auto values = leaf_values(team, node);
      const auto h = leaf_reader::head(team, node, seen);
      if (h.dead || x > h.high) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        id = h.right;
        if (++links == (Splits == split_policy::allowed ? 2 : most_links_of_first_pass))
          return blink_outcome::out_of_nodes;
        continue;
      }
      const auto place = leaf_reader::rank(team, node, seen, x);
      const bool present = place.equal && place.slot < h.count;
      if ((h.count == N && !present) || (present && (V == 0 || !assign))) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        return present ? blink_outcome::not_done : blink_outcome::out_of_nodes;
      }
      if (present) {
        if constexpr (V != 0) team.once([&] { store_relaxed(node.values() + place.slot, v); });
        note(team, trace::assign(trace::leaf(id), place.slot, x));
      } else {
        team.store_shared_from(reinterpret_cast<Word*>(node.p), team.insert_at(seen, front + place.slot, x),
                               front + place.slot);
        if constexpr (V != 0) team.store_shared_from(node.values(), team.insert_at(values, place.slot, v), place.slot);
        node_head<Word> more = h;
        ++more.count;
        team.once([&] { store_relaxed(node.info(), more.info()); });
        note(team, trace::insert(trace::leaf(id), place.slot, x));
      }
      latch::release(team, trace::leaf(id), node.version(), before);
      return present ? blink_outcome::not_done : blink_outcome::done;
    }
  }
  static ESPALIER_INLINE auto leaf_values([[maybe_unused]] Team team, [[maybe_unused]] node_at<shape> node) {
    if constexpr (V != 0) {
      return team.template view_relaxed<N>(node.values());
    } else {
      return value{};
    }
  }

  struct new_leaf {
    node_id id;  ///< no_node if no free node was left
    Word low;
    bool has_x;
  };
  /// Splits a full leaf and inserts x, which belongs at slot `at`. Releases the latch; `changed` states whether the
  /// leaf was changed under it before.
  static ESPALIER_COLD new_leaf split_and_insert(Team team, const view& t, latched_leaf& l, unsigned at, Word x,
                                                 const value& v, bool changed) {
    const node_id right_id = team.once([&] { return t.leaves.take(); });
    if (right_id == no_node) {
      if (changed) {
        release(team, l);
      } else {
        release_unchanged(team, l);
      }
      return {no_node, Word{0}, false};
    }
    const auto right = t.leaf(right_id);
    // Ascending inserts leave full leaves, not half-full ones.
    const unsigned keep = at == N && l.head.right == no_node ? N : shape::half;
    auto rh = leaf_writer::split(team, l.node, right, right_id, keep, l.head);
    note(team, trace::split(trace::leaf(l.id), right_id, keep));
    const bool goes_right = x > l.head.high;
    if (goes_right) {
      leaf_writer::insert_at(team, right, at - keep, rh.count, x, v);
      ++rh.count;
      note(team, trace::insert(trace::leaf(right_id), at - keep, x));
    }
    leaf_writer::store_version(team, right);
    leaf_writer::store_head(team, right, rh);
    team.sync();
    fence_acq_rel();  // the right leaf is complete before any link leads to it
    team.sync();
    if (!goes_right) ++l.head.count;
    if (keep != N) cut(team, l.node, keep);  // safe, because the version is odd and readers retry
    note(team, trace::link(trace::leaf(l.id), right_id, keep, l.head.high));
    if (!goes_right) {
      leaf_writer::insert_at(team, l.node, at, keep, x, v);
      note(team, trace::insert(trace::leaf(l.id), at, x));
    }
    leaf_writer::store_head(team, l.node, l.head);
    const Word separator = static_cast<Word>(l.head.high + 1);
    release(team, l);
    return {right_id, separator, goes_right};
  }
  static ESPALIER_INLINE void cut(Team team, node_at<shape> node, unsigned keep) {
    leaf_writer::cut(team, node.keys(), keep, leaf_writer::unused);
    team.sync();
  }

  static ESPALIER_INLINE void store_value(Team team, const latched_leaf& l, unsigned slot, Word x, const value& v) {
    if constexpr (V != 0) {
      team.once([&] { store_relaxed(l.node.values() + slot, v); });
    }
    note(team, trace::assign(trace::leaf(l.id), slot, x));
    release(team, l);
  }

  static ESPALIER_HD blink_outcome update_from(Team team, const view& t, node_id start, Word x, const value& v) {
    const latched_leaf l = latch_leaf(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (!place.equal || place.slot >= l.head.count) {
      release_unchanged(team, l);
      return blink_outcome::not_done;
    }
    store_value(team, l, place.slot, x, v);
    return blink_outcome::done;
  }

  // ---- erase -----------------------------------------------------------------------------------------------------
  /// The first of two passes: returns out_of_nodes if another team holds the latch, instead of waiting for it.
  static ESPALIER_HD blink_outcome try_erase_from(Team team, const view& t, node_id id, Word x) {
    for (unsigned links = 0;;) {
      const auto node = t.leaf(id);
      const std::uint32_t before = latch::try_latch(team, trace::leaf(id), node.version());
      if ((before & 1) != 0) return blink_outcome::out_of_nodes;
      const auto seen = leaf_reader::look(team, node);
      auto h = leaf_reader::head(team, node, seen);
      if (h.dead || x > h.high) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        id = h.right;
        if (++links == most_links_of_first_pass) return blink_outcome::out_of_nodes;
        continue;
      }
      const auto place = leaf_reader::rank(team, node, seen, x);
      if (!place.equal || place.slot >= h.count) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        return blink_outcome::not_done;
      }
      leaf_writer::erase_at(team, node, seen, place.slot, h.count);
      --h.count;
      team.once([&] { store_relaxed(node.info(), h.info()); });
      note(team, trace::erase(trace::leaf(id), place.slot, x));
      latch::release(team, trace::leaf(id), node.version(), before);
      return blink_outcome::done;
    }
  }
  static ESPALIER_HD blink_outcome erase_from(Team team, const view& t, node_id start, Word x) {
    latched_leaf l = latch_leaf(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (!place.equal || place.slot >= l.head.count) {
      release_unchanged(team, l);
      return blink_outcome::not_done;
    }
    leaf_writer::erase_at(team, l.node, l.seen, place.slot, l.head.count);
    --l.head.count;
    note(team, trace::erase(trace::leaf(l.id), place.slot, x));
    // Not in kernels: a stretch of keys that thousands of teams erase at once would become a chain of dead leaves, each
    // linked to the one before it, and their nodes could not be recycled before maintain() either way.
    if (Team::batch > 1 && l.head.count < shape::few && l.head.right != no_node) merge_right_sibling(team, t, l);
    leaf_writer::store_head(team, l.node, l.head);
    release(team, l);
    return blink_outcome::done;
  }

  /// Absorbs the right neighbour if both fit into one leaf and the neighbour is not latched. The neighbour remains as a
  /// dead node that leads here, until no inner level names it (the owner's maintenance).
  static ESPALIER_COLD void merge_right_sibling(Team team, const view& t, latched_leaf& l) {
    const node_id right_id = l.head.right;
    const auto right = t.leaf(right_id);
    const std::uint32_t before = latch::try_latch(team, trace::leaf(right_id), right.version());
    if ((before & 1) != 0) return;
    auto rh = leaf_reader::head(team, right, leaf_reader::look(team, right));
    if (l.head.count + rh.count > shape::merged) {
      latch::release_unchanged(team, trace::leaf(right_id), right.version(), before);
      return;
    }
    leaf_writer::append(team, right.keys(), rh.count, l.node.keys() + l.head.count);
    if constexpr (V != 0) leaf_writer::append(team, right.values(), rh.count, l.node.values() + l.head.count);
    note(team, trace::merge(trace::leaf(l.id), right_id, rh.count, l.head.high));
    l.head.count += rh.count;
    l.head.high = rh.high;
    l.head.right = rh.right;
    rh.dead = true;
    rh.right = l.id;
    leaf_writer::store_head(team, right, rh);
    latch::release(team, trace::leaf(right_id), right.version(), before);
  }

  // ---- inner levels ----------------------------------------------------------------------------------------------
  /// Posts the separator `low` of `child`. The post may be omitted if no free node is left: right links lead there too.
  static ESPALIER_COLD void post(Team team, const view& t, Word low, node_id child) {
    (void)post_from(team, t, low, child,
                    [&](unsigned level, Word x) { return descent::by_nodes(team, t, x, level).id; });
  }
  /// The same for a `low` above that of the last post, which went to the inner node `near` (no_node if there was none).
  static ESPALIER_COLD void post_near(Team team, const view& t, node_id& near, Word low, node_id child) {
    near = post_from(team, t, low, child, [&](unsigned level, Word x) {
      return level == 1 && near != no_node ? near : descent::by_nodes(team, t, x, level).id;
    });
  }
  /// Posts level by level. start(level, low) returns a node of that level whose links lead to the one that covers
  /// `low`, or a node of another level. Returns the node of level 1.
  template <class Start>
  static ESPALIER_INLINE node_id post_from(Team team, const view& t, Word low, node_id child, Start start) {
    node_id lowest = no_node;
    for (unsigned level = 1;; ++level) {
      node_id id = start(level, low);
      node_at<inner_shape> node{};
      node_head<Word> h;
      std::uint32_t before = 0;
      for (unsigned turn = 0;;) {
        node = t.inner(id);
        const Team told = on_attempt(team, turn);
        const std::uint32_t version = latch::read_begin(team, node.version());
        const auto seen = inner_reader::look(team, node);
        h = inner_reader::head(team, node, seen);
        note(told, trace::reach(trace_node{id, h.level}));
        const bool here = h.level == level && low <= h.high;
        const auto place = inner_reader::rank(team, node, seen, low);
        const bool posted = here && place.equal && place.slot < h.count;
        if (!here || posted) {
          if (!latch::read_valid(told, trace_node{id, h.level}, node.version(), version)) continue;
          if (posted) return level == 1 ? id : lowest;                                  // another team was first
          id = h.level == level ? h.right : descent::by_nodes(told, t, low, level).id;  // the root has grown
          continue;
        }
        before = latch::try_latch(team, trace_node{id, level}, node.version());
        if (before == version) break;  // the node has not changed since it was read
        if ((before & 1) == 0) {
          latch::release_unchanged(team, trace_node{id, level}, node.version(), before);
        } else {
          if (turn == 0) note(team, trace::retry(trace_node{id, level}, trace_why::busy));
          backoff(turn);
        }
        ++turn;
      }
      if (level == 1) lowest = id;
      const auto place = inner_reader::rank(team, node, inner_reader::look(team, node), low);
      if (h.count < N) {
        inner_writer::insert_at(team, node, place.slot, h.count, low, child);
        ++h.count;
        inner_writer::store_head(team, node, h);
        note(team, trace::post(trace_node{id, level}, place.slot, low, child));
        latch::release(team, trace_node{id, level}, node.version(), before);
        return lowest;
      }
      if (!split_inner(team, t, id, node, h, before, place.slot, low, child)) return lowest;
    }
  }

  /// Splits a full inner node. Returns true if the new `low` and `child` must be posted to the next level.
  static ESPALIER_COLD bool split_inner(Team team, const view& t, node_id id, node_at<inner_shape> node,
                                        node_head<Word> h, std::uint32_t before, unsigned at, Word& low,
                                        node_id& child) {
    const bool grow = id == view::root;
    const node_id right_id = team.once([&] { return t.inners.take(); });
    const node_id left_id = grow && right_id != no_node ? team.once([&] { return t.inners.take(); }) : id;
    if (right_id == no_node || left_id == no_node) {
      latch::release_unchanged(team, trace_node{id, h.level}, node.version(), before);
      return false;
    }
    const auto left = t.inner(left_id), right = t.inner(right_id);
    const auto made = inner_writer::halve(team, node, h, left_id, left, right_id, right);
    note_halves(team, trace_node{id, h.level}, left_id, right_id, inner_shape::half, made.separator);
    const bool goes_right = low >= made.separator;
    auto to_head = goes_right ? made.right : made.left;
    const auto to = goes_right ? right : left;
    const unsigned slot = goes_right ? at - inner_shape::half : at;
    inner_writer::insert_at(team, to, slot, to_head.count, low, child);
    ++to_head.count;
    team.once([&] { store_relaxed(to.info(), to_head.info()); });
    note(team, trace::post(trace_node{goes_right ? right_id : left_id, h.level}, slot, low, child));
    latch::release(team, trace_node{id, grow ? h.level + 1 : h.level}, node.version(), before);
    low = made.separator;
    child = right_id;
    return !grow;
  }
};

}  // namespace espalier
