// coalesce_batch.hpp - executes a batch of mixed operations with equal keys combined (fold.hpp): every key is accessed
// once.
//
//   sort       the batch by key; elements of one key stay in batch order
//   fold       composes the operations of each run of equal keys
//   settle     one thread per key searches it, writes a changed value in place, and lists inserted and erased keys
//   write      merges the listed keys into the leaves, or inserts and erases them key by key
//   answer     computes each result from the state before the run and the elements of the run before it
// No other operation is in progress, so no latch is held, and all keys are settled before any is written.
#pragma once

#include <exception>
#include <optional>

#include "blink_tree/fold.hpp"
#include "blink_tree/merge.hpp"
#include "blink_tree/per_key_writer.hpp"
#include "espalier/blink_tree/read.hpp"

namespace espalier::detail {

/// Checks each operation of a mixed batch.
struct check_op {
  static constexpr std::uint32_t unknown = 1, needs_values = 2;
  const std::uint8_t* ops;
  bool has_values;
  std::uint32_t* problems;
  ESPALIER_HD void operator()(std::size_t i) const {
    const auto op = static_cast<blink_op>(ops[i]);
    if (op > blink_op::erase) {
      atomic_word_ref{problems}.fetch_or_acquire_no_fence(std::uint32_t{unknown});
    } else if (!has_values && op != blink_op::find && op != blink_op::erase) {
      atomic_word_ref{problems}.fetch_or_acquire_no_fence(std::uint32_t{needs_values});
    }
  }
};

struct listed_keys {
  std::uint32_t inserts, erases;
};

template <class View>
struct combined_batch {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;

  View tree;
  batch_runs<word> runs;
  const folded* folds;
  const void* values;  ///< the caller's values; may be null
  /// State of the key at the start of each run.
  enum state : std::uint8_t { absent, present, lost };  ///< lost: memory ran out before the run was executed
  std::uint8_t* states;
  value* before;           ///< and its value; null if it is not needed
  std::uint32_t* inserts;  ///< elements whose values are inserted
  std::uint32_t* erases;   ///< one element of each erased key
  listed_keys* listed;     ///< their numbers
  void* out_values;        ///< results; may be null
  std::uint8_t* done;

  [[nodiscard]] ESPALIER_INLINE value value_of(std::uint32_t element) const {
    return values == nullptr ? value{} : load_value<shape::value_bytes>(tree.value_bytes, values, element);
  }
};

/// `Team` is one thread. Runs for positions of the sorted batch; the last position of a run handles the run.
template <class Team, class View>
struct apply_run {
  using batch = combined_batch<View>;
  using reader = blink_reader<Team, stable_reads, View>;
  batch b;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (!b.runs.is_last(i)) return;
    const folded f = b.folds[i];
    const auto x = b.runs.words[i];
    const auto p = reader::move_right(Team{}, b.tree, descender<Team, stable_reads, View>::leaf(Team{}, b.tree, x), x);
    const auto place = reader::rank(Team{}, p, x);
    const bool present = place.equal && place.slot < p.head.count;
    b.states[f.start] = present ? batch::present : batch::absent;
    if (present && b.before != nullptr) b.before[f.start] = p.node.values()[place.slot];
    const std::uint32_t after = f.of(present ? stored::keep_previous : stored::nothing);
    if (!present) {
      if (after != stored::nothing) b.inserts[atomic_word_ref{&b.listed->inserts}.fetch_increment_aggregated()] = after;
    } else if (after == stored::nothing) {
      b.erases[atomic_word_ref{&b.listed->erases}.fetch_increment_aggregated()] = b.runs.places[i];
    } else if (after != stored::keep_previous) {
      p.node.values()[place.slot] = b.value_of(after);
    }
  }
};

/// Runs for elements that could not be written: marks their runs as lost.
template <class View>
struct fail_run {
  combined_batch<View> b;
  scalar_kind key;
  const void* keys;
  const std::uint32_t* elements;
  ESPALIER_HD void operator()(std::size_t j) const {
    using word = typename combined_batch<View>::word;
    const word x = encode_bits(key, load_bits<word>(key, keys, elements[j]));
    b.states[first_not_below(b.runs.words, 0, b.runs.n, x)] = combined_batch<View>::lost;
  }
};

template <class Team, class View>
struct answer_element {
  using batch = combined_batch<View>;
  batch b;
  ESPALIER_HD void operator()(std::size_t i) const {
    constexpr unsigned bytes = batch::shape::value_bytes;
    const std::uint32_t e = b.runs.places[i], start = b.folds[i].start;
    const std::uint8_t state = b.states[start];
    std::uint32_t now = state == batch::present ? stored::keep_previous : stored::nothing;
    if (i != start) now = b.folds[i - 1].of(now);
    const blink_op op = b.runs.op_of(e);
    const bool present = now != stored::nothing;
    const bool brings = op == blink_op::insert || op == blink_op::insert_or_assign;
    if (b.done != nullptr) b.done[e] = state != batch::lost && present != brings ? 1 : 0;
    if constexpr (bytes != 0) {
      if (op != blink_op::find || b.out_values == nullptr || state == batch::lost) return;
      const auto v = !present                       ? typename batch::value{}
                     : now == stored::keep_previous ? b.before[start]
                                                    : b.value_of(now);
      runner<Team>::template store_value<bytes>(b.tree.value_bytes, b.out_values, e, v);
    }
  }
};

template <class Context, protocol P, class Storage>
struct batch_combiner;

template <class Context, protocol P, class Word, unsigned V, unsigned N, inner_index U>
struct batch_combiner<Context, P, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using value = typename storage::value;
  using team = typename Context::single_thread_team;
  using numbers = buffer<std::uint32_t>;

  storage& tree;  ///< no other operation is in progress, and no ref is in use
  access_gate<Context>& gate;
  Context& context;

  /// Returns false, with nothing changed, if there is no memory for it. Throws if part of it was executed; `done` then
  /// marks that part.
  bool combine(const blink_write_job<view_type>& batch, std::size_t n) {
    if (n > stored::most) return false;
    std::optional<scratch> memory;
    const bool folded_all = with_memory([&] {
      memory.emplace(tree, context, batch, n);
      fold(*memory, batch, n);
    });
    if (!folded_all) return false;
    scratch& s = *memory;
    tree.refresh_upper(context, n);
    combined_batch<view_type> b = parts_of(s, batch, n);
    context.for_each(n, apply_run<team, view_type>{b});
    const listed_keys listed = context.read(s.listed.data());
    std::exception_ptr problem;
    const auto write = [&](blink_op op, numbers& list, std::size_t count) {
      try {
        write_listed(batch, op, list, count);
      } catch (...) {
        problem = std::current_exception();
        context.for_each(count, fail_run<view_type>{b, tree.elements.key, batch.keys, list.data()});
      }
    };
    write(blink_op::insert_or_assign, s.inserts, listed.inserts);
    write(blink_op::erase, s.erases, listed.erases);
    if (b.done != nullptr || b.out_values != nullptr) context.for_each(n, answer_element<team, view_type>{b});
    if (problem != nullptr) std::rethrow_exception(problem);
    return true;
  }

 private:
  /// All memory needed for settling and answering.
  struct scratch {
    scratch(const storage& tree, Context& context, const blink_write_job<view_type>& batch, std::size_t n)
        : sorted(context, tree.elements.key, batch.keys, nullptr, n, true),
          inserts(tree.dev, may(batch, blink_op::insert) || may(batch, blink_op::insert_or_assign) ? n : 0,
                  context.order()),
          erases(tree.dev, may(batch, blink_op::erase) ? n : 0, context.order()),
          folds(tree.dev, n, context.order()),
          states(tree.dev, n, context.order()),
          before(tree.dev, V != 0 && batch.out_values != nullptr ? n : 0, context.order()),
          listed(tree.dev, 1, context.order()) {}
    static bool may(const blink_write_job<view_type>& batch, blink_op op) {
      return batch.ops != nullptr || batch.op == op;
    }

    ordered_batch<Word> sorted;
    numbers inserts, erases;
    buffer<folded> folds;
    buffer<std::uint8_t> states;
    buffer<value> before;
    buffer<listed_keys> listed;
  };
  void fold(scratch& s, const blink_write_job<view_type>& batch, std::size_t n) {
    context.fold(batch_runs<Word>{s.sorted.words(), s.sorted.places(), batch.ops, batch.op, n}, s.folds.data());
    context.zero(s.listed.data(), sizeof(listed_keys));
  }
  [[nodiscard]] combined_batch<view_type> parts_of(scratch& s, const blink_write_job<view_type>& batch,
                                                   std::size_t n) const {
    combined_batch<view_type> b{};
    b.tree = tree.view;
    b.runs = {s.sorted.words(), s.sorted.places(), batch.ops, batch.op, n};
    b.folds = s.folds.data();
    b.values = V == 0 ? nullptr : batch.values;
    b.states = s.states.data();
    b.before = s.before.size() == 0 ? nullptr : s.before.data();
    b.inserts = s.inserts.data();
    b.erases = s.erases.data();
    b.listed = s.listed.data();
    b.out_values = V == 0 ? nullptr : batch.out_values;
    b.done = batch.done;
    return b;
  }
  /// On an exception, `list` and `count` are the elements that remain.
  void write_listed(const blink_write_job<view_type>& batch, blink_op op, numbers& list, std::size_t& count) {
    if (count == 0) return;
    const bool erase = op == blink_op::erase;
    if (merges_refused(count, tree.leaves_at_rebuild + tree.leaves_since_rebuild)) {
      const bool merged = with_memory([&] {
        batch_merger<Context, storage>{tree, context}.merge(erase ? write_op::erase : write_op::insert_or_assign,
                                                            batch.keys, erase ? nullptr : batch.values, list.data(),
                                                            count, nullptr);
      });
      if (merged) return;  // otherwise key by key, which needs less memory
    }
    blink_write_job<view_type> job = batch;
    job.ops = nullptr;
    job.op = op;
    job.done = nullptr;
    job.out_values = nullptr;
    key_writer<Context, P, storage> writer{tree, gate, context, true};
    const std::size_t all = count;
    // Every listed key is inserted or erased, because settling has searched it.
    const auto tell = [&] {
      const auto changed = static_cast<std::int64_t>(all - count);
      tree.count_changed(erase ? -changed : changed);
    };
    try {
      writer.write_listed(job, list, count, erase ? 0 : tree.likely_new_leaves(count));
    } catch (...) {
      tell();
      throw;
    }
    tell();
    writer.after_piece(job, all);
  }
};

}  // namespace espalier::detail
