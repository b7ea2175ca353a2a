// node_write.hpp - changes to the slots of one node, one implementation for every team.
//
// The caller holds the node's latch, or no other team can reach the node yet.
#pragma once

#include "espalier/blink_tree/descend.hpp"

namespace espalier {

/// Changes to the slots of one node whose latch this team holds, or which no other team can reach yet.
template <class Team, class Shape>
struct node_writer {
  using word = typename Shape::word;
  using value = typename Shape::value;
  static constexpr unsigned chunk = Shape::chunk;
  static constexpr word unused = static_cast<word>(~word{0});

  static ESPALIER_INLINE void store_head(Team team, node_at<Shape> node, const node_head<word>& h) {
    team.once([&] {
      store_relaxed(node.info(), h.info());
      store_relaxed(node.right(), h.right);
      store_relaxed(node.high(), h.high);
    });
  }
  /// Stores the version of a new node, before other teams can reach it.
  static ESPALIER_INLINE void store_version(Team team, node_at<Shape> node) {
    team.once([&] { store_relaxed(node.version(), std::uint32_t{0}); });
  }

  /// Sets slot `at` to x and moves slots [at, count) up. Chunks are processed from the end, so that none is overwritten
  /// before it is read; within a chunk all slots are read before any is written.
  template <class X>
  static ESPALIER_INLINE void open_gap(Team team, X* p, unsigned at, unsigned count, X x) {
    for (unsigned base = count == 0 ? 0 : (count - 1) / chunk * chunk;; base -= chunk) {
      const auto s = team.template load_relaxed<chunk>(p + base);
      team.sync();
      team.for_slots(s, at > base ? at - base : 0, count - base < chunk ? count - base : chunk,
                     [=](unsigned i, const X& moved) { store_relaxed(p + base + i + 1, moved); });
      if (base <= at) break;
    }
    team.once([&] { store_relaxed(p + at, x); });
    team.sync();
  }
  /// Moves slots after `at` down; slot count - 1 becomes `fill`.
  template <class X>
  static ESPALIER_INLINE void close_gap(Team team, X* p, unsigned at, unsigned count, X fill) {
    for (unsigned base = at / chunk * chunk; base < count; base += chunk) {
      const auto s = team.template load_relaxed<chunk>(p + base);
      team.sync();
      team.for_slots(s, at + 1 > base ? at + 1 - base : 0, count - base < chunk ? count - base : chunk,
                     [=](unsigned i, const X& moved) { store_relaxed(p + base + i - 1, moved); });
      team.sync();
    }
    team.once([&] { store_relaxed(p + count - 1, fill); });
    team.sync();
  }
  static ESPALIER_INLINE void insert_at(Team team, node_at<Shape> node, unsigned at, unsigned count, word key,
                                        const value& v) {
    open_gap(team, node.keys(), at, count, key);
    if constexpr (Shape::value_bytes != 0) open_gap(team, node.values(), at, count, v);
  }
  /// The same where `seen`, the node as read under its latch, is in registers already.
  template <class Look>
  static ESPALIER_INLINE void insert_at(Team team, node_at<Shape> node, [[maybe_unused]] const Look& seen, unsigned at,
                                        unsigned count, word key, const value& v) {
    if constexpr (Shape::in_one_piece && Team::view_is_register_copy) {
      constexpr unsigned front = Shape::head_words;
      word* keys = node.keys();
      team.for_slots(seen, front + at, front + count,
                     [=](unsigned i, word moved) { store_relaxed(keys + i - front + 1, moved); });
      team.once([&] { store_relaxed(keys + at, key); });
      if constexpr (Shape::value_bytes != 0) open_gap(team, node.values(), at, count, v);
    } else {
      insert_at(team, node, at, count, key, v);
    }
  }
  template <class Look>
  static ESPALIER_INLINE void erase_at(Team team, node_at<Shape> node, [[maybe_unused]] const Look& seen, unsigned at,
                                       unsigned count) {
    if constexpr (Shape::in_one_piece && Team::view_is_register_copy) {
      constexpr unsigned front = Shape::head_words;
      word* keys = node.keys();
      team.for_slots(seen, front + at + 1, front + count,
                     [=](unsigned i, word moved) { store_relaxed(keys + i - front - 1, moved); });
      team.once([&] { store_relaxed(keys + count - 1, static_cast<word>(~word{0})); });
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

  /// Copies slots [from, count) of one node to the front of another; its other slots become `fill`.
  template <class X>
  static ESPALIER_INLINE void move_tail(Team team, const X* p, unsigned from, X* to, X fill) {
    if constexpr (Shape::slots == chunk) {
      team.store_relaxed(to, team.tail(team.template load_relaxed<chunk>(p), from, fill));
    } else {  // `from` is a multiple of chunk: half of the slots, or all
      for (unsigned base = 0; base < Shape::slots; base += chunk) {
        if (from + base < Shape::slots) {
          team.store_relaxed(to + base, team.template load_relaxed<chunk>(p + from + base));
        } else {
          team.store_relaxed(to + base, team.head(team.template load_relaxed<chunk>(p), 0, fill));
        }
      }
    }
  }
  template <class X>
  static ESPALIER_INLINE void cut(Team team, X* p, unsigned from, X fill) {
    for (unsigned base = from / chunk * chunk; base < Shape::slots; base += chunk) {
      const auto s = team.template load_relaxed<chunk>(p + base);
      team.store_relaxed(p + base, team.head(s, from > base ? from - base : 0, fill));
    }
  }
  /// Appends slots [0, n) of one node to those of another.
  template <class X>
  static ESPALIER_INLINE void append(Team team, const X* p, unsigned n, X* to) {
    for (unsigned base = 0; base < n; base += chunk) {
      const auto s = team.template load_relaxed<chunk>(p + base);
      X* target = to + base;
      team.for_slots(s, 0, n - base < chunk ? n - base : chunk,
                     [=](unsigned i, const X& x) { store_relaxed(target + i, x); });
    }
  }

  /// Stores n values to slots [from, from + n). Called by one thread.
  template <class X>
  static ESPALIER_INLINE void put(X* p, unsigned from, const X* x, unsigned n) {
    for (unsigned i = 0; i < n; ++i) store_relaxed(p + from + i, x[i]);
  }
  /// Stores all slots: the first n from x, the others as `fill`.
  template <class X>
  static ESPALIER_INLINE void put_all(Team team, X* p, const X* x, unsigned n, X fill) {
    for (unsigned base = 0; base < Shape::slots; base += chunk) {
      if (base + chunk <= n) {
        team.store_relaxed(p + base, team.template load<chunk>(x + base));
      } else {
        team.store_relaxed(p + base,
                           team.template make<chunk>([&](unsigned s) { return base + s < n ? x[base + s] : fill; }));
      }
    }
  }

  /// Writes a new node of h.count keys, and values if it has any, before other threads can reach it. CPU threads only.
  static ESPALIER_INLINE void write_new(Team team, node_at<Shape> node, const word* keys,
                                        [[maybe_unused]] const value* values, const node_head<word>& h) {
    // New nodes are mostly contiguous. An append of 2^20 pairs of u64 took 3.0 ns per pair, and 3.9 ns without this
    // prefetch (Xeon, one thread, other processes using its memory bandwidth).
    constexpr unsigned ahead = 8 * Shape::bytes;
    for (unsigned b = 0; b < Shape::bytes; b += 64) prefetch_to_write(node.p + ahead + b);
    put_all(team, node.keys(), keys, h.count, unused);
    if constexpr (Shape::value_bytes != 0) put_all(team, node.values(), values, h.count, value{});
    store_version(team, node);
    store_head(team, node, h);
  }
  static ESPALIER_INLINE void prefetch_to_write([[maybe_unused]] const void* p) {
#ifndef __CUDA_ARCH__
    __builtin_prefetch(p, 1);
#endif
  }

  /// Copies the upper half of `left`, whose new header is `h`, into `right`, which no other team can reach yet; returns
  /// the header of `right` without storing it. `left` still has its elements: the caller calls cut_left() once `right`
  /// is complete.
  static ESPALIER_INLINE node_head<word> split(Team team, node_at<Shape> left, node_at<Shape> right, node_id right_id,
                                               unsigned keep, node_head<word>& h) {
    node_head<word> r = h;
    r.count = h.count - keep;
    move_tail(team, left.keys(), keep, right.keys(), unused);
    if constexpr (Shape::value_bytes != 0) move_tail(team, left.values(), keep, right.values(), value{});
    h.high = team.once([&] { return load_relaxed(left.keys() + keep - 1); });
    h.count = keep;
    h.right = right_id;
    team.sync();
    return r;
  }
  /// Result of halve(): both halves of an inner node.
  struct halves {
    node_head<word> left, right;
    word separator;  ///< lowest key of the right half
  };
  /// Splits a latched inner node, whose header is `h`. The root keeps its number: its lower half moves to `left`, and
  /// it becomes the parent of both halves; other nodes are `left` themselves.
  static ESPALIER_INLINE halves halve(Team team, node_at<Shape> node, node_head<word> h, node_id left_id,
                                      node_at<Shape> left, node_id right_id, node_at<Shape> right) {
    halves made;
    made.right = split(team, node, right, right_id, Shape::half, h);
    made.separator = team.once([&] { return load_relaxed(right.keys()); });
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
    fence_acq_rel();  // new nodes are complete before a link leads to them
    team.sync();
    if (!grow) {
      cut_left(team, node, h);
      store_head(team, node, h);
      return made;
    }
    const word first = team.once([&] { return load_relaxed(left.keys()); });
    node_head<word> top;
    top.level = h.level + 1;
    top.count = 2;
    cut(team, node.keys(), 0, unused);
    team.sync();
    team.once([&] {
      store_relaxed(node.keys(), first);
      store_relaxed(node.keys() + 1, made.separator);
      store_relaxed(node.values(), value{left_id});
      store_relaxed(node.values() + 1, value{right_id});
    });
    store_head(team, node, top);
    return made;
  }
  static ESPALIER_INLINE void cut_left(Team team, node_at<Shape> left, const node_head<word>& h) {
    cut(team, left.keys(), h.count, unused);
    team.sync();
  }
};

/// Records what node_writer::halve() did to node n.
template <class Team, class Word>
ESPALIER_INLINE void note_halves(Team team, trace_node n, node_id left, node_id right, unsigned keep, Word separator) {
  note(team, trace::split(n, right, keep));
  if (left == n.id) {
    note(team, trace::link(n, right, keep, static_cast<Word>(separator - 1)));
  } else {
    note(team, trace::grow(n, left, right, keep, separator));
  }
}

}  // namespace espalier
