// write.hpp - operations that change the tree, by the protocols link and none. Written once for every team.
//
// A writer holds the latch of the leaf it changes and nothing else; when it merges, also that of the right neighbour,
// which it only ever tries for. So nobody waits in a circle. Separators are posted after the leaf's latch is released:
// until then, and if there is no room for them, the right link alone leads to the new leaf.
#pragma once

#include "espalier/blink_tree/read.hpp"

namespace espalier {

enum class blink_outcome : std::uint8_t {
  done,
  unchanged,
  no_room,  ///< the pool of nodes is exhausted; nothing was changed
};

/// May an insert split a leaf, or wait for one? On a GPU most need not, and would wait for those in their warp that do. So
/// batches are inserted in two passes: the first answers no_room where a leaf is full or another team has it.
enum class splitting : std::uint8_t { allowed, never };

/// Changes to the slots of one node whose latch this team holds, or which nobody else can reach yet.
template <class Team, class Shape>
struct node_writer {
  using word = typename Shape::word;
  using value = typename Shape::value;
  static constexpr unsigned chunk = Shape::chunk;
  static constexpr word unused = static_cast<word>(~word{0});

  static ESPALIER_INLINE void store_head(Team team, node_at<Shape> node, const node_head<word>& h) {
    team.once([&] {
      store_shared(node.info(), h.info());
      store_shared(node.right(), h.right);
      store_shared(node.high(), h.high);
    });
  }
  /// A new node's version, before anybody can see it.
  static ESPALIER_INLINE void store_version(Team team, node_at<Shape> node) {
    team.once([&] { store_shared(node.version(), std::uint32_t{0}); });
  }

  /// Slot `at` becomes x; those from there to `count` move up. Chunks from the end, so that none is overwritten before it
  /// is read; within a chunk all is read before anything is written.
  template <class X>
  static ESPALIER_INLINE void open_gap(Team team, X* p, unsigned at, unsigned count, X x) {
    for (unsigned base = count == 0 ? 0 : (count - 1) / chunk * chunk;; base -= chunk) {
      const auto s = team.template load_shared<chunk>(p + base);
      team.sync();
      team.for_slots(s, at > base ? at - base : 0, count - base < chunk ? count - base : chunk,
                     [=](unsigned i, const X& moved) { store_shared(p + base + i + 1, moved); });
      if (base <= at) break;
    }
    team.once([&] { store_shared(p + at, x); });
    team.sync();
  }
  /// Slots after `at` move down; slot count - 1 becomes `fill`.
  template <class X>
  static ESPALIER_INLINE void close_gap(Team team, X* p, unsigned at, unsigned count, X fill) {
    for (unsigned base = at / chunk * chunk; base < count; base += chunk) {
      const auto s = team.template load_shared<chunk>(p + base);
      team.sync();
      team.for_slots(s, at + 1 > base ? at + 1 - base : 0, count - base < chunk ? count - base : chunk,
                     [=](unsigned i, const X& moved) { store_shared(p + base + i - 1, moved); });
      team.sync();
    }
    team.once([&] { store_shared(p + count - 1, fill); });
    team.sync();
  }
  static ESPALIER_INLINE void insert_at(Team team, node_at<Shape> node, unsigned at, unsigned count, word key,
                                        const value& v) {
    open_gap(team, node.keys(), at, count, key);
    if constexpr (Shape::value_bytes != 0) open_gap(team, node.values(), at, count, v);
  }
  /// The same where `seen`, a look at the node under its latch, is in registers already.
  template <class Look>
  static ESPALIER_INLINE void insert_at(Team team, node_at<Shape> node, [[maybe_unused]] const Look& seen, unsigned at,
                                        unsigned count, word key, const value& v) {
    if constexpr (Shape::in_one_piece && Team::copies_views) {
      constexpr unsigned front = Shape::head_words;
      word* keys = node.keys();
      team.for_slots(seen, front + at, front + count,
                     [=](unsigned i, word moved) { store_shared(keys + i - front + 1, moved); });
      team.once([&] { store_shared(keys + at, key); });
      if constexpr (Shape::value_bytes != 0) open_gap(team, node.values(), at, count, v);
    } else {
      insert_at(team, node, at, count, key, v);
    }
  }
  template <class Look>
  static ESPALIER_INLINE void erase_at(Team team, node_at<Shape> node, [[maybe_unused]] const Look& seen, unsigned at,
                                       unsigned count) {
    if constexpr (Shape::in_one_piece && Team::copies_views) {
      constexpr unsigned front = Shape::head_words;
      word* keys = node.keys();
      team.for_slots(seen, front + at + 1, front + count,
                     [=](unsigned i, word moved) { store_shared(keys + i - front - 1, moved); });
      team.once([&] { store_shared(keys + count - 1, static_cast<word>(~word{0})); });
      if constexpr (Shape::value_bytes != 0) close_gap(team, node.values(), at, count, value{});
      team.sync();
    } else {
      erase_at(team, node, at, count);
    }
  }
  static ESPALIER_INLINE void erase_at(Team team, node_at<Shape> node, unsigned at, unsigned count) {
    close_gap(team, node.keys(), at, count, unused);
    if constexpr (Shape::value_bytes != 0) close_gap(team, node.values(), at, count, value{});
  }

  /// Slots [from, count) of one node to the front of another; the rest of it becomes `fill`.
  template <class X>
  static ESPALIER_INLINE void move_tail(Team team, const X* p, unsigned from, X* to, X fill) {
    if constexpr (Shape::slots == chunk) {
      team.store_shared(to, team.tail(team.template load_shared<chunk>(p), from, fill));
    } else {  // `from` is a multiple of chunk: half of the slots, or all
      for (unsigned base = 0; base < Shape::slots; base += chunk) {
        if (from + base < Shape::slots) {
          team.store_shared(to + base, team.template load_shared<chunk>(p + from + base));
        } else {
          team.store_shared(to + base, team.head(team.template load_shared<chunk>(p), 0, fill));
        }
      }
    }
  }
  template <class X>
  static ESPALIER_INLINE void cut(Team team, X* p, unsigned from, X fill) {
    for (unsigned base = from / chunk * chunk; base < Shape::slots; base += chunk) {
      const auto s = team.template load_shared<chunk>(p + base);
      team.store_shared(p + base, team.head(s, from > base ? from - base : 0, fill));
    }
  }
  /// Slots [0, n) of one node behind those of another.
  template <class X>
  static ESPALIER_INLINE void append(Team team, const X* p, unsigned n, X* to) {
    for (unsigned base = 0; base < n; base += chunk) {
      const auto s = team.template load_shared<chunk>(p + base);
      X* target = to + base;
      team.for_slots(s, 0, n - base < chunk ? n - base : chunk,
                     [=](unsigned i, const X& x) { store_shared(target + i, x); });
    }
  }

  /// Takes the upper half of `left`, whose new header is `h`, into `right`, which nobody can reach yet; its header is
  /// returned and not stored. `left` still has its elements: cut_left() once the right one is complete.
  static ESPALIER_INLINE node_head<word> split(Team team, node_at<Shape> left, node_at<Shape> right, node_id right_id,
                                               unsigned keep, node_head<word>& h) {
    node_head<word> r = h;
    r.count = h.count - keep;
    move_tail(team, left.keys(), keep, right.keys(), unused);
    if constexpr (Shape::value_bytes != 0) move_tail(team, left.values(), keep, right.values(), value{});
    h.high = team.once([&] { return load_shared(left.keys() + keep - 1); });
    h.count = keep;
    h.right = right_id;
    team.sync();
    return r;
  }
  /// Both halves of an inner node.
  struct halves {
    node_head<word> left, right;
    word separator;  ///< lowest key of the right one
  };
  /// Cuts a latched inner node, whose header is `h`, in two. The root keeps its number: its lower half moves to `left`, and
  /// it becomes the parent of both; other nodes are `left` themselves.
  static ESPALIER_INLINE halves halve(Team team, node_at<Shape> node, node_head<word> h, node_id left_id,
                                      node_at<Shape> left, node_id right_id, node_at<Shape> right) {
    halves made;
    made.right = split(team, node, right, right_id, Shape::half, h);
    made.separator = team.once([&] { return load_shared(right.keys()); });
    h.high = static_cast<word>(made.separator - 1);
    made.left = h;
    store_version(team, right);
    store_head(team, right, made.right);
    const bool grow = left.p != node.p;
    if (grow) {
      move_tail(team, node.keys(), 0, left.keys(), unused);
      move_tail(team, node.values(), 0, left.values(), value{});
      store_version(team, left);
      team.sync();
      cut_left(team, left, h);
      store_head(team, left, h);
    }
    team.sync();
    fence_both();  // new nodes are complete before a link leads to them
    team.sync();
    if (!grow) {
      cut_left(team, node, h);
      store_head(team, node, h);
      return made;
    }
    const word first = team.once([&] { return load_shared(left.keys()); });
    node_head<word> top;
    top.level = h.level + 1;
    top.count = 2;
    cut(team, node.keys(), 0, unused);
    team.sync();
    team.once([&] {
      store_shared(node.keys(), first);
      store_shared(node.keys() + 1, made.separator);
      store_shared(node.values(), value{left_id});
      store_shared(node.values() + 1, value{right_id});
    });
    store_head(team, node, top);
    return made;
  }
  static ESPALIER_INLINE void cut_left(Team team, node_at<Shape> left, const node_head<word>& h) {
    cut(team, left.keys(), h.count, unused);
    team.sync();
  }
};

/// What node_writer::halve() did to node n.
template <class Team, class Word>
ESPALIER_INLINE void note_halves(Team team, trace_node n, node_id left, node_id right, unsigned keep, Word separator) {
  note(team, trace::split(n, right, keep));
  if (left == n.id) {
    note(team, trace::link(n, right, keep, static_cast<Word>(separator - 1)));
  } else {
    note(team, trace::grow(n, left, right, keep, separator));
  }
}

template <class Team, class Reads, bool PostAlways, class View>
struct blink_writer;  // protocols link and none

/// `Reads` carries the latch: racing_reads for the protocol link, own_reads for none. `PostAlways`: each split is posted to
/// the inner nodes at once; else only along stretches where many right links had to be followed.
template <class Team, class Reads, bool PostAlways, class Word, unsigned V, unsigned N>
struct blink_writer<Team, Reads, PostAlways, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using inner_shape = typename view::inner_shape;
  using reader = blink_reader<Team, Reads, view>;
  using leaf_reader = node_reader<Team, own_reads, shape>;  // under the latch nothing moves
  using leaf_writer = node_writer<Team, shape>;
  using inner_reader = node_reader<Team, own_reads, inner_shape>;
  using inner_writer = node_writer<Team, inner_shape>;
  using descent = descender<Team, Reads, view>;
  using latch = noted_latch<typename Reads::latch>;

  /// As for reads; and of a longer way than that every so many-th leaf is posted to the inner nodes: a chain of n leaves
  /// costs n links once, not each time.
  static constexpr unsigned far = reader::far;

  // ---- the leaf of a key, latched ------------------------------------------------------------------------------
  struct held {
    node_at<shape> node;
    node_id id;
    std::uint32_t before;  ///< version, for release
    decltype(leaf_reader::look(std::declval<Team>(), std::declval<node_at<shape>>())) seen;
    node_head<Word> head;
  };
  static ESPALIER_HD held hold(Team team, const view& t, node_id id, Word x) {
    Word low = 0;
    unsigned links = 0, turn = 0;
    bool asked_nodes = t.lane.size == 0;
    for (;;) {
      const auto node = t.leaf(id);
      // The first try is blind, most often right, and saves a read. Then look before taking the latch.
      if (links != 0 || turn != 0) {
        const auto p = reader::look(on_attempt(team, turn), t, id);
        if (p.head.dead || x > p.head.high) {
          if (!reader::valid(team, p)) continue;
          follow(team, t, p.head, id, low, links, asked_nodes, x);
          continue;
        }
      } else {
        note(team, trace::reach(trace::leaf(id)));
      }
      const std::uint32_t before = latch::try_latch(team, trace::leaf(id), node.version());
      if ((before & 1) != 0) {
        if (turn == 0) note(team, trace::retry(trace::leaf(id), trace_why::busy));
        pause(turn++);
        continue;
      }
      const auto seen = leaf_reader::look(team, node);
      const auto h = leaf_reader::head(team, node, seen);
      if (!h.dead && x <= h.high) return {node, id, before, seen, h};
      latch::release_unchanged(team, trace::leaf(id), node.version(), before);
      follow(team, t, h, id, low, links, asked_nodes, x);
    }
  }
  static ESPALIER_INLINE void follow(Team team, const view& t, const node_head<Word>& h, node_id& id, Word& low,
                                     unsigned& links, bool& asked_nodes, Word x) {
    if (!h.dead) low = static_cast<Word>(h.high + 1);
    id = h.right;
    if (++links > far && !asked_nodes) {
      asked_nodes = true;
      const auto start = descent::by_nodes(team, t, x, 0);
      if (start.low > low) {  // only if that is further on
        id = start.id;
        low = start.low;
        links = 0;
      }
    } else if (asked_nodes && !h.dead && links % far == 0) {
      post(team, t, low, id);  // so that nobody has to walk this stretch again
    }
  }
  static ESPALIER_INLINE void release(Team team, const held& l) {
    latch::release(team, trace::leaf(l.id), l.node.version(), l.before);
  }
  static ESPALIER_INLINE void release_unchanged(Team team, const held& l) {
    latch::release_unchanged(team, trace::leaf(l.id), l.node.version(), l.before);
  }

  static ESPALIER_INLINE bool find_from(Team team, const view& t, node_id start, Word x, value& out) {
    return reader::find_from(team, t, start, x, out);
  }

  // ---- insert ----------------------------------------------------------------------------------------------------
  template <splitting Splits = splitting::allowed>
  static ESPALIER_HD blink_outcome insert_from(Team team, const view& t, node_id start, Word x, const value& v,
                                               bool assign) {
    if constexpr (Splits == splitting::never && shape::in_one_piece && Team::copies_views) {
      return try_insert_from(team, t, start, x, v, assign);
    }
    held l = hold(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (place.equal && place.slot < l.head.count) {
      if (V == 0 || !assign) {
        release_unchanged(team, l);
        return blink_outcome::unchanged;
      }
      store_value(team, l, place.slot, x, v);
      return blink_outcome::unchanged;
    }
    if (l.head.count < N) {
      leaf_writer::insert_at(team, l.node, l.seen, place.slot, l.head.count, x, v);
      ++l.head.count;
      team.once([&] { store_shared(l.node.info(), l.head.info()); });
      note(team, trace::insert(trace::leaf(l.id), place.slot, x));
      release(team, l);
      return blink_outcome::done;
    }
    if constexpr (Splits == splitting::never) {
      release_unchanged(team, l);
      return blink_outcome::no_room;
    } else {
      return split_and_insert(team, t, l, place.slot, x, v);
    }
  }

  /// The first of two passes where a look brings a whole leaf: no waiting, nothing rare; the leaf is changed in registers.
  static ESPALIER_INLINE blink_outcome try_insert_from(Team team, const view& t, node_id id, Word x, const value& v,
                                                       bool assign) {
    constexpr unsigned front = shape::head_words;
    for (;;) {
      const auto node = t.leaf(id);
      for (unsigned b = 0; b < shape::bytes; b += 64) prefetch_shared(node.p + b);  // while the latch is on its way
      const std::uint32_t before = latch::try_latch(team, trace::leaf(id), node.version());
      if ((before & 1) != 0) return blink_outcome::no_room;
      const auto seen = leaf_reader::look(team, node);
      const auto values = leaf_values(team, node);
      const auto h = leaf_reader::head(team, node, seen);
      if (h.dead || x > h.high) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        id = h.right;
        continue;
      }
      const auto place = leaf_reader::rank(team, node, seen, x);
      const bool present = place.equal && place.slot < h.count;
      if (h.count == N && !present) {
        latch::release_unchanged(team, trace::leaf(id), node.version(), before);
        return blink_outcome::no_room;
      }
      if (present) {
        if constexpr (V != 0) {
          if (assign) team.once([&] { store_shared(node.values() + place.slot, v); });
          if (assign) note(team, trace::assign(trace::leaf(id), place.slot, x));
        }
      } else {
        team.store_shared_from(reinterpret_cast<Word*>(node.p), team.insert_at(seen, front + place.slot, x),
                               front + place.slot);
        if constexpr (V != 0)
          team.store_shared_from(node.values(), team.insert_at(values, place.slot, v), place.slot);
        node_head<Word> more = h;
        ++more.count;
        team.once([&] { store_shared(node.info(), more.info()); });
        note(team, trace::insert(trace::leaf(id), place.slot, x));
      }
      latch::release(team, trace::leaf(id), node.version(), before);
      return present ? blink_outcome::unchanged : blink_outcome::done;
    }
  }
  static ESPALIER_INLINE auto leaf_values([[maybe_unused]] Team team, [[maybe_unused]] node_at<shape> node) {
    if constexpr (V != 0) {
      return team.template view_shared<N>(node.values());
    } else {
      return value{};
    }
  }

  static ESPALIER_COLD blink_outcome split_and_insert(Team team, const view& t, held& l, unsigned at, Word x,
                                                    const value& v) {
    const node_id right_id = team.once([&] { return t.leaves.take(); });
    if (right_id == no_node) {
      release_unchanged(team, l);
      return blink_outcome::no_room;
    }
    const auto right = t.leaf(right_id);
    // Keys that come in ascending order leave full leaves behind, not half-full ones.
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
    fence_both();  // the right leaf is complete before any link leads to it
    team.sync();
    if (!goes_right) ++l.head.count;
    if (keep != N) cut(team, l.node, keep);  // readers cannot be misled: the version is odd
    note(team, trace::link(trace::leaf(l.id), right_id, keep, l.head.high));
    if (!goes_right) {
      leaf_writer::insert_at(team, l.node, at, keep, x, v);
      note(team, trace::insert(trace::leaf(l.id), at, x));
    }
    leaf_writer::store_head(team, l.node, l.head);
    const Word separator = static_cast<Word>(l.head.high + 1);
    release(team, l);
    if (PostAlways) post(team, t, separator, right_id);
    return blink_outcome::done;
  }
  static ESPALIER_INLINE void cut(Team team, node_at<shape> node, unsigned keep) {
    leaf_writer::cut(team, node.keys(), keep, leaf_writer::unused);
    team.sync();
  }

  static ESPALIER_INLINE void store_value(Team team, const held& l, unsigned slot, Word x, const value& v) {
    if constexpr (V != 0) {
      team.once([&] { store_shared(l.node.values() + slot, v); });
    }
    note(team, trace::assign(trace::leaf(l.id), slot, x));
    release(team, l);
  }

  static ESPALIER_HD blink_outcome update_from(Team team, const view& t, node_id start, Word x, const value& v) {
    const held l = hold(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (!place.equal || place.slot >= l.head.count) {
      release_unchanged(team, l);
      return blink_outcome::unchanged;
    }
    store_value(team, l, place.slot, x, v);
    return blink_outcome::done;
  }

  // ---- erase -----------------------------------------------------------------------------------------------------
  static ESPALIER_HD blink_outcome erase_from(Team team, const view& t, node_id start, Word x) {
    held l = hold(team, t, start, x);
    const auto place = leaf_reader::rank(team, l.node, l.seen, x);
    if (!place.equal || place.slot >= l.head.count) {
      release_unchanged(team, l);
      return blink_outcome::unchanged;
    }
    leaf_writer::erase_at(team, l.node, l.seen, place.slot, l.head.count);
    --l.head.count;
    note(team, trace::erase(trace::leaf(l.id), place.slot, x));
    if (l.head.count < shape::few && l.head.right != no_node) take_in_right(team, t, l);
    leaf_writer::store_head(team, l.node, l.head);
    release(team, l);
    return blink_outcome::done;
  }

  /// Takes in the right neighbour if the two fit together and nobody else is at it. It stays as a dead node that leads
  /// here, until no upper level names it (the owner's maintenance).
  static ESPALIER_COLD void take_in_right(Team team, const view& t, held& l) {
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

  // ---- upper levels ----------------------------------------------------------------------------------------------
  /// `low` and what is above starts at `child`. May be left out where there is no room: links lead there too.
  static ESPALIER_COLD void post(Team team, const view& t, Word low, node_id child) {
    for (unsigned level = 1;; ++level) {
      node_id id = descent::by_nodes(team, t, low, level).id;
      node_at<inner_shape> node{};
      node_head<Word> h;
      std::uint32_t before = 0;
      for (unsigned turn = 0;;) {
        node = t.inner(id);
        before = latch::try_latch(team, trace_node{id, level}, node.version());
        if ((before & 1) != 0) {
          if (turn == 0) note(team, trace::retry(trace_node{id, level}, trace_why::busy));
          pause(turn++);
          continue;
        }
        h = inner_reader::head(team, node, inner_reader::look(team, node));
        note(team, trace::reach(trace_node{id, h.level}));
        if (h.level == level && low <= h.high) break;
        latch::release_unchanged(team, trace_node{id, level}, node.version(), before);
        id = h.level == level ? h.right : descent::by_nodes(team, t, low, level).id;  // the root has grown
      }
      const auto place = inner_reader::rank(team, node, inner_reader::look(team, node), low);
      if (place.equal && place.slot < h.count) {  // another team was first
        latch::release_unchanged(team, trace_node{id, level}, node.version(), before);
        return;
      }
      if (h.count < N) {
        inner_writer::insert_at(team, node, place.slot, h.count, low, child);
        ++h.count;
        inner_writer::store_head(team, node, h);
        note(team, trace::post(trace_node{id, level}, place.slot, low, child));
        latch::release(team, trace_node{id, level}, node.version(), before);
        return;
      }
      if (!split_inner(team, t, id, node, h, before, place.slot, low, child)) return;
    }
  }

  /// True: `low` and `child` are now what the next level has to learn.
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
    team.once([&] { store_shared(to.info(), to_head.info()); });
    note(team, trace::post(trace_node{goes_right ? right_id : left_id, h.level}, slot, low, child));
    latch::release(team, trace_node{id, grow ? h.level + 1 : h.level}, node.version(), before);
    low = made.separator;
    child = right_id;
    return !grow;
  }
};

}  // namespace espalier
