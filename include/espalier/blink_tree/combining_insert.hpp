// combining_insert.hpp - combining of inserts by teams of a warp that wait for the same leaf: one of them takes the
// latch and inserts for all.
//
// A tree that thousands of teams fill from empty, or at its end, has few leaves for all of them. With combining, a
// latch is held once for a whole warp, and a warp requests a latch once instead of once per team.
//
// Invariants:
// (1) The teams of a meeting (Team::meet) are at the same leaf, which each of them reached independently: its lowest
// key
//     is never above any of their keys. Whether the leaf still covers a key is checked under the latch; a team whose
//     key is not covered continues its search by itself.
// (2) A meeting consists of teams that happen to run converged. No team waits for a team outside the meeting, and the
//     teams of a meeting stay together until each has its result. The leading team does not wait for a latch during a
//     meeting.
// (3) The leading team executes the insert of every other team as a separate insert: each result is the result of that
//     insert, in sequence, under one latch.
#pragma once

#include "espalier/blink_tree/node_write.hpp"

namespace espalier {

enum class blink_outcome : std::uint8_t {
  done,          ///< insert, insert_or_assign: the key was new; update, erase: it was present
  not_done,      ///< the opposite; insert_or_assign has then assigned the value of the present key
  out_of_nodes,  ///< the pool of nodes is exhausted; nothing was changed
};

template <class Writer, class Team, class View>
struct blink_together;

template <class Writer, class Team, class Word, unsigned V, unsigned N>
struct blink_together<Writer, Team, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using reader = node_reader<Team, own_reads, shape>;
  using writer = node_writer<Team, shape>;
  static constexpr bool in_registers = shape::in_one_piece;  // keeps a whole leaf in registers until it is stored

  static ESPALIER_INLINE auto values_of([[maybe_unused]] Team team, [[maybe_unused]] node_at<shape> node) {
    if constexpr (in_registers) {
      return Writer::leaf_values(team, node);
    } else {
      return typename value_raw<0>::type{};  // values stay in memory
    }
  }

  /// State of the leaf and of the teams that the leading team serves. Teams are numbered within a meeting.
  struct work {
    decltype(reader::look(std::declval<Team>(), std::declval<node_at<shape>>())) seen;
    decltype(values_of(std::declval<Team>(), std::declval<node_at<shape>>())) values;
    node_head<Word> head;
    unsigned from = N;                    ///< first slot that changed
    unsigned next = none, next_slot = 0;  ///< lane of the first team for which the leaf was full, and its slot
    std::uint32_t settled = 0, done = 0;  ///< one bit per team
    [[nodiscard]] ESPALIER_INLINE bool changed() const { return from != N; }
  };
  static constexpr unsigned none = ~0u;
  /// What a team receives from the leading team.
  struct answer {
    bool settled = false;
    blink_outcome outcome = blink_outcome::not_done;
    node_id made = no_node;  ///< new leaf that the leading team has to post
    Word low{};              ///< lowest key of that leaf
  };

  template <class Walk>
  static ESPALIER_COLD blink_outcome insert(Team team, const view& t, Walk w, Word x, const value& v, bool assign) {
    answer a;
    for (unsigned turn = 0; !a.settled;) {  // a single loop keeps teams that wait together converged
      const bool is_free = approach(team, t, w, x);
      const auto node = t.leaf(w.id);
      const auto meeting = team.meet(is_free ? node.p : nullptr);
      std::uint32_t before = 1;
      if (is_free && meeting.leads()) before = version_latch::try_latch(team, node.version());
      before = meeting.from_leader(before);
      if ((before & 1) != 0) {
        backoff(turn++);
      } else {
        turn = 0;
        a = serve(team, t, meeting, w.id, before, x, v, assign);
        if (a.made != no_node && Writer::posts(t, w.asked))
          Writer::post(team, t, a.low, a.made);  // no team waits for the post
      }
    }
    return a.outcome;
  }

 private:
  /// Moves to the leaf that covers x. Returns false if a leaf on the way is latched by another team.
  template <class Walk>
  static ESPALIER_INLINE bool approach(Team team, const view& t, Walk& w, Word x) {
    for (;;) {
      const auto node = t.leaf(w.id);
      const std::uint32_t version = team.once([=] { return atomic_word_ref{node.version()}.load_acquire(); });
      team.sync();
      if ((version & 1) != 0) return false;
      const auto h = reader::head_alone(team, node);
      if (!h.dead && x <= h.high) return true;
      if (!version_latch::read_valid(team, node.version(), version)) return false;
      Writer::go_on(team, t, h, w, x);
    }
  }
  /// Serves all teams of the meeting. The leading team holds the latch and releases it.
  template <class Meeting>
  static ESPALIER_COLD answer serve(Team team, const view& t, const Meeting meeting, node_id id, std::uint32_t before,
                                    Word x, const value& v, bool assign) {
    const auto node = t.leaf(id);
    work b;
    if (meeting.leads()) begin(team, node, b);
    meeting.each([&](unsigned i, unsigned lane) {
      const Word xi = meeting.from(x, lane);
      const value vi = meeting.from(v, lane);
      const bool assigns = meeting.from(unsigned{assign}, lane) != 0;
      if (meeting.leads()) add(team, node, b, i, lane, xi, vi, assigns);
    });
    answer a;
    const unsigned next = meeting.from_leader(b.next);
    if (next != none) {
      const Word xi = meeting.from(x, next);
      const value vi = meeting.from(v, next);
      if (meeting.leads()) a = split(team, t, node, id, before, b, xi, vi);
      a.outcome = meeting.from_leader(a.outcome);
      a.settled = meeting.is_at(next);
    } else if (meeting.leads()) {
      store(team, node, b);
      if (b.changed()) {
        version_latch::release(team, node.version(), before);
      } else {
        version_latch::release_unchanged(team, node.version(), before);
      }
    }
    const std::uint32_t mine = 1u << meeting.number();
    const bool settled = (meeting.from_leader(b.settled) & mine) != 0;
    const bool done = (meeting.from_leader(b.done) & mine) != 0;
    if (settled) a.outcome = done ? blink_outcome::done : blink_outcome::not_done;
    a.settled = a.settled || settled;
    return a;
  }
  static ESPALIER_INLINE void begin(Team team, node_at<shape> node, work& b) {
    b.seen = reader::look(team, node);
    b.values = values_of(team, node);
    b.head = reader::head(team, node, b.seen);
  }
  static ESPALIER_INLINE void add(Team team, node_at<shape> node, work& b, unsigned i, unsigned lane, Word x,
                                  const value& v, bool assign) {
    if (b.head.dead || x > b.head.high) return;
    const auto place = reader::rank(team, node, b.seen, x);
    if (place.equal && place.slot < b.head.count) {
      b.settled |= 1u << i;
      if (V != 0 && assign) replace(team, node, b, place.slot, v);
    } else if (b.head.count < N) {
      b.settled |= 1u << i;
      b.done |= 1u << i;
      put(team, node, b, place.slot, x, v);
    } else if (b.next == none) {
      b.next = lane;
      b.next_slot = place.slot;
    }
  }
  static ESPALIER_INLINE void put(Team team, node_at<shape> node, work& b, unsigned slot, Word x, const value& v) {
    if constexpr (in_registers) {
      b.seen = team.insert_at(b.seen, shape::head_words + slot, x);
      if constexpr (V != 0) b.values = team.insert_at(b.values, slot, v);
    } else {
      writer::insert_at(team, node, slot, b.head.count, x, v);
    }
    if (slot < b.from) b.from = slot;
    ++b.head.count;
  }
  static ESPALIER_INLINE void replace([[maybe_unused]] Team team, [[maybe_unused]] node_at<shape> node, work& b,
                                      unsigned slot, [[maybe_unused]] const value& v) {
    if constexpr (V != 0 && in_registers) {
      b.values = team.insert_at(team.erase_at(b.values, slot, value{}), slot, v);
    } else if constexpr (V != 0) {
      team.once([&] { store_relaxed(node.values() + slot, v); });
    }
    if (slot < b.from) b.from = slot;
  }
  static ESPALIER_INLINE void store(Team team, node_at<shape> node, const work& b) {
    if (!b.changed()) return;
    if constexpr (in_registers) {
      team.store_shared_from(reinterpret_cast<Word*>(node.p), b.seen, shape::head_words + b.from);
      if constexpr (V != 0) team.store_shared_from(node.values(), b.values, b.from);
    }
    team.once([&] { store_relaxed(node.info(), b.head.info()); });
  }
  /// Splits the full leaf, inserts x into one half and releases the latch.
  static ESPALIER_INLINE answer split(Team team, const view& t, node_at<shape> node, node_id id, std::uint32_t before,
                                      const work& b, Word x, const value& v) {
    store(team, node, b);
    team.sync();  // the split reads what was stored
    typename Writer::latched_leaf l{node, id, before, b.seen, b.head, false};
    const auto made = Writer::split_and_insert(team, t, l, b.next_slot, x, v, b.changed());
    return {true, made.id == no_node ? blink_outcome::out_of_nodes : blink_outcome::done, made.id, made.low};
  }
};

}  // namespace espalier
