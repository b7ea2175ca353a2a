// run.hpp - bulk operations on a team: run(team, job, first, last) executes elements [first, last) of a job.
//
// Each operation has the same three steps: load keys as words, find the leaves at which the searches start
// (batch_descent.hpp), then execute element by element. Reads are in run_reads.hpp and run_ranges.hpp.
#pragma once

#include "espalier/blink_tree/policy.hpp"
#include "espalier/blink_tree/run_reads.hpp"

namespace espalier {

/// `Reads` is how this job may read; `Traits` is the implementation of writes for the tree's policy (policy.hpp).
template <class Team, class Reads, class Traits, class View>
struct blink_runner;

template <class Team, class Reads, class Traits, class Word, unsigned V, unsigned N>
struct blink_runner<Team, Reads, Traits, blink_view<Word, V, N>>
    : blink_read_runner<Team, Reads, blink_view<Word, V, N>> {
  using base = blink_read_runner<Team, Reads, blink_view<Word, V, N>>;
  using base::batch;
  using base::batch_size;
  using base::land;
  using base::prefetch_ahead;
  using base::prefetch_most_of;
  using base::run;
  using base::start;
  using base::word_at;
  using typename base::descent;
  using typename base::io;
  using typename base::reader;
  using typename base::shape;
  using typename base::starts;
  using typename base::value;
  using typename base::view;
  using writer = typename Traits::template writer<Team, view>;

  // ---- writes ------------------------------------------------------------------------------------------------
  template <split_policy Splits>
  static ESPALIER_INLINE blink_outcome one(Team team, const view& t, blink_op op, node_id id, Word x, const value& v,
                                           value& out) {
    switch (op) {
      case blink_op::find:
        return writer::find_from(team, t, id, x, out) ? blink_outcome::done : blink_outcome::not_done;
      case blink_op::insert:
        return writer::template insert_from<Splits>(team, t, id, x, v, false);
      case blink_op::insert_or_assign:
        return writer::template insert_from<Splits>(team, t, id, x, v, true);
      case blink_op::update:
        return writer::update_from(team, t, id, x, v);
      default:
        if constexpr (Splits == split_policy::never && requires { writer::try_erase_from(team, t, id, x); }) {
          return writer::try_erase_from(team, t, id, x);
        } else {
          return writer::erase_from(team, t, id, x);
        }
    }
  }
  /// Executes element e of the batch; returns false if no free node was left.
  template <split_policy Splits>
  static ESPALIER_INLINE bool element(Team team, const blink_write_job<view>& job, blink_op op, std::size_t e,
                                      node_id id, Word x) {
    const view& t = job.tree;
    value v{}, out{};
    if (op != blink_op::find && op != blink_op::erase) v = value_for(job, e);
    const blink_outcome r = one<Splits>(team, t, op, id, x, v, out);
    team.once([&] {
      tell(job, e, r);
      if (V != 0 && op == blink_op::find && job.out_values != nullptr)
        io::template store_value<V>(t.value_bytes, job.out_values, e, out);
    });
    return r != blink_outcome::out_of_nodes;
  }
  static ESPALIER_INLINE value value_for(const blink_write_job<view>& job, std::size_t e) {
    if (V != 0 && job.values != nullptr) return load_value<V>(job.tree.value_bytes, job.values, e);
    return {};
  }
  /// Stores the result of element e. Called by one lane.
  static ESPALIER_INLINE void tell(const blink_write_job<view>& job, std::size_t e, blink_outcome r) {
    if (r == blink_outcome::out_of_nodes) {
      job.refused[atomic_word_ref{job.refusals}.fetch_increment_aggregated()] = static_cast<std::uint32_t>(e);
    } else if (job.done != nullptr) {
      store_streaming(job.done + e, std::uint8_t{r == blink_outcome::done});
    }
  }
  static ESPALIER_COLD bool element_called(Team team, const blink_write_job<view>& job, std::size_t e, node_id id,
                                           Word x) {
    const blink_op op = job.ops == nullptr ? job.op : static_cast<blink_op>(job.ops[e]);
    return element<split_policy::allowed>(team, job, op, e, id, x);
  }

  /// Calls body(element, start leaf, key) for each element of [first, last).
  template <class Body>
  static ESPALIER_INLINE void elements(Team team, const blink_write_job<view>& job, std::size_t first, std::size_t last,
                                       Body body) {
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      const auto number = [&](unsigned j) -> std::size_t { return job.order == nullptr ? i + j : job.order[i + j]; };
      const starts s = start(team, job.tree, n, [&](unsigned j) { return word_at(job.tree, job.keys, number(j)); });
      for (unsigned j = 0; j < n; ++j) {
        prefetch_ahead(team, job.tree, s, n, j);
        body(number(j), s.id_of(team, j), s.key_of(team, j));
      }
    }
  }
  static ESPALIER_INLINE void run(Team team, const blink_write_job<view>& job, std::size_t first, std::size_t last) {
    elements(team, job, first, last,
             [&](std::size_t e, node_id id, Word x) { (void)element_called(team, job, e, id, x); });
  }

  // ---- runs of ascending keys, by a CPU thread --------------------------------------------------------------------
  /// Inserts into one leaf, and into those that it is split into, share a descent and a latch. `at` is the position
  /// where the last batch ended, and `before` is its last key.
  struct run_state {
    typename writer::run_place at;
    Word before = 0;
  };
  static ESPALIER_INLINE bool ascends(const Word* keys, unsigned n) {
    bool up = true;
    for (unsigned j = 1; j < n; ++j) up &= keys[j - 1] <= keys[j];
    return up;
  }
  /// A guess, from a header that may be changing concurrently.
  static ESPALIER_INLINE bool goes_on(const view& t, const run_state& s, const Word* keys, unsigned n) {
    if (s.at.leaf == no_node || keys[0] < s.before) return false;
    const auto leaf = t.leaf(s.at.leaf);
    return keys[n - 1] <= load_relaxed(leaf.high()) || load_relaxed(leaf.right()) == no_node;
  }
  /// Returns whether the caller's values have the size and alignment that they have in a node.
  static ESPALIER_INLINE bool are_slots(const blink_write_job<view>& job) {
    return job.tree.value_bytes == V && reinterpret_cast<std::uintptr_t>(job.values) % alignof(value) == 0;
  }
  /// Appends the first elements of [first, last) that belong after the last key of the tree; returns the first element
  /// that is left. It is separate from insert_all, because random inserts took a tenth longer when they shared a loop
  /// with this.
  static ESPALIER_COLD std::size_t append_all(Team team, const blink_write_job<view>& job, std::size_t first,
                                              std::size_t last) {
    constexpr unsigned least = 4;  // with fewer elements, the search for their leaf is most of the work either way
    const view& t = job.tree;
    if (job.order != nullptr || last - first < least) return first;
    const Word x = word_at(t, job.keys, first);
    for (unsigned j = 1; j < least; ++j) {
      if (word_at(t, job.keys, first + j) <= word_at(t, job.keys, first + j - 1)) return first;
    }
    const auto l = writer::latch_leaf(team, t, descent::leaf(team, t, x), x);
    writer::release_unchanged(team, l);
    typename writer::run_place at{l.id};
    while (first < last) {
      const unsigned n = append_some(team, job, at, first, last);
      if (n == 0) break;
      first += n;
    }
    return first;
  }
  /// Appends by append_run(), after the leaf of the run.
  template <class Place>
  static ESPALIER_INLINE unsigned append_some(Team team, const blink_write_job<view>& job, Place& at, std::size_t first,
                                              std::size_t last) {
    const view& t = job.tree;
    constexpr unsigned most = Team::batch;
    const unsigned n = last - first < most ? static_cast<unsigned>(last - first) : most;
    // The caller's arrays, if they have the layout of a node; otherwise copies.
    Word words[most];
    value slots[most];
    const Word* keys = words;
    const value* values = slots;
    if (t.key == (sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64)) {
      keys = static_cast<const Word*>(job.keys) + first;
    } else {
      for (unsigned j = 0; j < n; ++j) words[j] = word_at(t, job.keys, first + j);
    }
    if constexpr (V != 0) {
      if (job.values != nullptr && are_slots(job)) {
        values = static_cast<const value*>(job.values) + first;
      } else {
        for (unsigned j = 0; j < n; ++j) slots[j] = value_for(job, first + j);
      }
    }
    unsigned rising = 1;
    while (rising < n && keys[rising - 1] < keys[rising]) ++rising;
    const unsigned done = writer::append_run(team, t, at, keys, values, rising);
    if (job.done != nullptr) {
      for (unsigned j = 0; j < done; ++j) store_streaming(job.done + first + j, std::uint8_t{1});
    }
    return done;
  }
  static ESPALIER_INLINE void insert_all(Team team, const blink_write_job<view>& job, bool assign, std::size_t first,
                                         std::size_t last) {
    const view& t = job.tree;
    run_state state;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      const auto number = [&](unsigned j) -> std::size_t { return job.order == nullptr ? i + j : job.order[i + j]; };
      starts s{};  // GCC 12 does not see that land() writes the entries that are read
      for (unsigned j = 0; j < n; ++j) s.key[j] = word_at(t, job.keys, number(j));
      const bool ascending = ascends(s.key, n);
      bool in_run = ascending && goes_on(t, state, s.key, n);
      if (!in_run) {
        land(team, t, s, n);
        in_run = ascending && n > 1 && s.id[0] == s.id[n - 1];
        state.at.leaf = s.id[n - 1];
      }
      if (in_run) {
        writer::insert_run(
            team, t, state.at, s.key, n, assign, [&](unsigned j) { return value_for(job, number(j)); },
            [&](unsigned j, blink_outcome r) { team.once([&] { tell(job, number(j), r); }); });
      } else {
        for (unsigned j = 0; j < n; ++j) {
          prefetch_ahead(team, t, s, n, j);
          const blink_outcome r = writer::insert_from(team, t, s.id[j], s.key[j], value_for(job, number(j)), assign);
          team.once([&] { tell(job, number(j), r); });
        }
      }
      state.before = s.key[n - 1];
    }
  }

  template <blink_op Op>
  static ESPALIER_INLINE void run(Team team, const blink_first_pass_job<view, Op>& job, std::size_t first,
                                  std::size_t last) {
    constexpr bool inserts = Op == blink_op::insert || Op == blink_op::insert_or_assign;
    if constexpr (Team::batch > 1 && Traits::starts_at_leaf && inserts) {
      constexpr bool assign = Op == blink_op::insert_or_assign;
      if constexpr (is_traced<Team>) {
        insert_all(team, job, assign, first, last);  // its steps are recorded one by one
      } else {
        constexpr std::size_t piece = 512;
        while (first < last) {
          first = append_all(team, job, first, last);
          const std::size_t end = last - first < piece ? last : first + piece;
          insert_all(team, job, assign, first, end);
          first = end;
        }
      }
      return;
    }
    constexpr split_policy splits = Team::batch > 1 ? split_policy::allowed : split_policy::never;
    elements(team, job, first, last,
             [&](std::size_t e, node_id id, Word x) { (void)element<splits>(team, job, Op, e, id, x); });
  }

  /// Value of `done` for an element that, with the rest of its run, is still to be executed.
  static constexpr std::uint8_t refused_mark = 2;
  /// Executes all elements with the key x of position i of the sorted batch, in batch order, if i is the first of them.
  /// If one finds no free node, the rest of the run waits with it. start() returns the leaf.
  template <class Start>
  static ESPALIER_INLINE void run_of_equals(Team team, const blink_ordered_job<view>& job, std::size_t i, Word x,
                                            Start start) {
    const view& t = job.tree;
    if (i != 0 && word_at(t, job.keys, job.order[i - 1]) == x) return;
    const node_id id = start();
    bool room = true;
    for (std::size_t k = i; k < job.size && word_at(t, job.keys, job.order[k]) == x; ++k) {
      const std::size_t e = job.order[k];
      if (job.resumed && job.done[e] != refused_mark) continue;
      if (room) room = element_called(team, job, e, id, x);
      if (!room) team.once([&] { job.done[e] = refused_mark; });
      team.sync();
    }
  }
  static ESPALIER_INLINE void run(Team team, const blink_ordered_job<view>& job, std::size_t first, std::size_t last) {
    const view& t = job.tree;
    if constexpr (Team::batch > 1) {
      for (std::size_t i = first; i < last; i += batch) {
        const unsigned n = batch_size(i, last);
        const starts s = start(team, t, n, [&](unsigned j) { return word_at(t, job.keys, job.order[i + j]); });
        for (unsigned j = 0; j < n; ++j) {
          prefetch_ahead(team, t, s, n, j);
          run_of_equals(team, job, i + j, s.key[j], [&] { return s.id[j]; });
        }
      }
    } else {
      for (std::size_t i = first; i < last; ++i) {
        const Word x = word_at(t, job.keys, job.order[i]);
        run_of_equals(team, job, i, x, [&] { return descent::leaf(team, t, x); });
      }
    }
  }
};

}  // namespace espalier
