// per_key_writer.hpp - executes a batch of writes element by element, concurrently with other operations, or in batch
// order where keys are equal. Whatever can fail for lack of memory fails before an element changes anything; elements
// executed before are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "blink_tree/device_append.hpp"
#include "blink_tree/merge.hpp"
#include "blink_tree/plan.hpp"
#include "device/access_gate.hpp"
#include "espalier/blink_tree/jobs.hpp"

namespace espalier::detail {

/// Results of a launch in one struct, because each read of GPU memory costs a wait.
template <class Word>
struct pass_result {
  std::uint64_t change;  ///< change of the number of elements, modulo 2^64
  std::uint32_t refused;
  std::uint64_t leaf_tickets, inner_tickets;  ///< tickets of the pools after the launch
  append_plan<Word> append;                   ///< result of the check for an append
  std::uint32_t apart;                        ///< result of the sample: 0 if the keys fall into few leaves
};
/// Checks that a GPU makes before it writes a batch: if one succeeds, nothing is changed.
struct looks_for {
  bool append = false;   ///< checks for ascending keys after the last key of the tree
  float dense_from = 0;  ///< checks for this number of elements per touched leaf; 0 for no check
};
/// Runs in one thread, after the writes.
template <class Word>
struct note_tickets {
  const std::uint64_t *leaves, *inners;
  pass_result<Word>* to;
  ESPALIER_HD void operator()(std::size_t) const {
    to->leaf_tickets = *leaves;
    to->inner_tickets = *inners;
  }
};

/// The same, and the change of the number of elements, in one launch.
template <class Word>
struct note_change {
  add_up_part<true, change_of_count> change;
  note_tickets<Word> tickets;
  ESPALIER_HD void operator()(std::size_t i) const {
    change(i);
    if (i == 0) tickets(0);
  }
};

/// Clears the result of element list[i].
struct clear_answer {
  const std::uint32_t* list;
  std::uint8_t* done;
  ESPALIER_HD void operator()(std::size_t i) const { done[list[i]] = 0; }
};
/// Clears elements that were still to be executed (blink_runner::refused_mark) when memory ran out.
struct clear_refused {
  std::uint8_t* done;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (done[i] > 1) done[i] = 0;
  }
};

template <class Context, protocol P, class Storage>
struct key_writer;

template <class Context, protocol P, class Word, unsigned V, unsigned N, inner_index U>
struct key_writer<Context, P, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using traits = protocol_traits<P, U>;
  using write_reads = typename traits::reads;
  /// Kernels do not remove the leaves that they have emptied (blink_writer::erase_from).
  static constexpr bool erases_drop_leaves = !Context::on_gpu || P != protocol::blink;

  using result_type = pass_result<Word>;
  using merger = batch_merger<Context, storage>;
  /// Kernels of other protocols contend for latches, whatever the batch.
  static constexpr bool looks_first = Context::on_gpu && P == protocol::blink;
  /// A smaller batch is written faster than a sample of it could be examined.
  static constexpr std::size_t least_sampled = 64;
  /// A batch of at least this size is examined by the first pass: a sample takes about 10 us.
  static constexpr std::size_t least_judged = std::size_t{1} << 17;

  storage& tree;
  access_gate<Context>& gate;
  Context& context;
  /// The caller has exclusive access already: always on a GPU, where kernels of other calls may still run.
  bool has_it_alone = false;
  /// The path is chosen by the library: a batch may be appended or merged as a whole.
  bool may_merge = false;

  /// Handles a batch on a GPU while inner levels are still pending after the previous merge: if the batch is dense, it
  /// is merged too, and the rebuild is deferred further. Returns false if nothing was changed.
  [[nodiscard]] bool merge_again(const blink_write_job<view_type>& job, std::size_t n) {
    if constexpr (looks_first) {
      if (tree.pending.size == 0 || !may_be_merged(job)) return false;
      if (may_insert(job) && append(job, n)) return true;
      return n >= least_sampled && merges_first(spread_of(job, nullptr, n), n, write_sizes()) &&
             merge_listed(job, nullptr, static_cast<std::uint32_t>(n));
    } else {
      return false;
    }
  }
  /// A large batch is written into a small tree in pieces, so that most of it finds inner levels that name the leaves.
  void write_concurrently(const blink_write_job<view_type>& job, std::size_t n) {
    for (std::size_t first = 0; first < n;) {
      if constexpr (Context::on_gpu) tree.settle(context);  // the previous piece may have been merged
      const std::size_t most = most_of_a_piece();
      const std::size_t piece = std::min({n - first, most, std::size_t{1} << 31});
      const bool merged = write_piece(part_of(job, first), piece);
      after_piece(job, merged ? 0 : piece);  // a merge has counted its changes already
      first += piece;
    }
  }
  /// A GPU merges what its first pass refuses, so pieces may be larger than the tree.
  [[nodiscard]] std::size_t most_of_a_piece() {
    const std::size_t slots = leaves_now() * N;
    return looks_first ? std::max<std::size_t>(65536, 4 * slots) : std::max<std::size_t>(4096, slots);
  }
  [[nodiscard]] blink_write_job<view_type> part_of(blink_write_job<view_type> job, std::size_t first) const {
    const auto skip = [first](auto*& p, std::size_t bytes) {
      using target = std::remove_reference_t<decltype(p)>;
      if (p != nullptr) p = reinterpret_cast<target>(reinterpret_cast<std::uintptr_t>(p) + first * bytes);
    };
    skip(job.ops, 1);
    skip(job.keys, tree.key_bytes());
    skip(job.values, tree.elements.value_bytes);
    skip(job.out_values, tree.elements.value_bytes);
    skip(job.done, 1);
    return job;
  }
  /// Writes one piece; then the elements that found no free node, or a full leaf if that is left to a second pass.
  /// Returns true if the piece was appended or merged as a whole.
  bool write_piece(blink_write_job<view_type> job, std::size_t n) {
    job.size = n;
    buffer<std::uint32_t> refused(tree.dev, n, context.order());
    const bool inserts = may_insert(job);
    // The number of inserts of a mixed batch is unknown: elements that find no free node are reported.
    const bool never_splits = Context::two_passes && P == protocol::blink;
    make_room(inserts && job.ops == nullptr && !never_splits ? tree.likely_new_leaves(n) : 0);
    const looks_for looks = looks_of(job, n);
    const result_type r = launch_pass(job, n, refused, never_splits, looks);
    const bool is_append = looks.append && r.append.refused == 0;
    if (is_append || (looks.dense_from != 0 && r.apart == 0)) {  // no kernel has changed anything
      if ((is_append && append(job, n)) || merge_listed(job, nullptr, static_cast<std::uint32_t>(n))) return true;
      may_merge = false;  // there is no memory: do not check again
      refused = {};
      return write_piece(job, n);
    }
    if (looks.append) ++tree.append_misses;
    std::size_t left = r.refused;
    if (left == 0) return false;
    job.refused = refused.data();
    if (never_splits && merge_refused(job, static_cast<std::uint32_t>(left))) return false;
    write_listed(job, refused, left, room_for(job, left));
    return false;
  }
  /// While refs are in use, nothing is moved unless requested.
  [[nodiscard]] bool may_be_merged(const blink_write_job<view_type>& job) const {
    return may_merge && !tree.has_live_refs && job.ops == nullptr && job.op != blink_op::update &&
           tree.view.lane.size != 0;
  }
  /// Selects the checks of the first pass: none that recently failed, and none that a small batch does not repay.
  [[nodiscard]] looks_for looks_of(const blink_write_job<view_type>& job, std::size_t n) const {
    looks_for looks;
    if (!looks_first || !may_be_merged(job)) return looks;
    looks.append = may_insert(job) && tree.append_misses < 2 && merger::may_append(tree, n);
    if (n >= least_judged) looks.dense_from = merges_dense_from();
    return looks;
  }
  /// Samples how the keys of elements list[0], ..., list[n - 1] (all n if null) are distributed over the leaves that
  /// the lane names.
  [[nodiscard]] batch_spread spread_of(const blink_write_job<view_type>& job, const std::uint32_t* list,
                                       std::size_t n) {
    const buffer<batch_spread> spread(tree.dev, 1, context.order());
    context.sample_spread(tree.view, job.keys, list, n, spread.data());
    return context.read(spread.data());
  }
  [[nodiscard]] leaf_sizes write_sizes() { return {leaves_now(), storage::shape_type::bytes}; }
  /// Number of leaves to reserve for n elements. Each of a few elements may split a leaf. For many it is an estimate,
  /// so that they need less memory than the merge that may have failed before; those that find no leaf are retried. An
  /// erase must not fail for lack of memory.
  [[nodiscard]] static std::uint64_t room_for(const blink_write_job<view_type>& job, std::size_t n) {
    constexpr std::size_t few = std::size_t{1} << 20;
    if (!may_insert(job)) return 0;
    return n <= few ? n + 64 : storage::likely_new_leaves(n);
  }
  /// Writes elements numbered list[0], ..., list[n - 1]; then, until there are none, those that found no free node. On
  /// an exception, `list` and `n` are the elements that remain.
  void write_listed(blink_write_job<view_type> job, buffer<std::uint32_t>& list, std::size_t& n, std::uint64_t room) {
    buffer<std::uint32_t> refused(tree.dev, n, context.order());
    while (n != 0) {
      make_room(room);
      job.order = list.data();
      n = launch_pass(job, n, refused, false, {}).refused;
      if (n != 0) context.copy(list.data(), refused.data(), n * sizeof(std::uint32_t));
      room = room_for(job, n);
    }
  }
  /// `refused` receives the refused elements. With a `done` mask, zero before, the change of the number of elements is
  /// recorded in the tree; without one the caller records it.
  [[nodiscard]] result_type launch_pass(blink_write_job<view_type> job, std::size_t n, buffer<std::uint32_t>& refused,
                                        bool never_splits, const looks_for& looks) {
    const bool first = job.order == nullptr;
    const buffer<result_type> result(tree.dev, 1, context.order());
    job.refused = refused.data();
    job.refusals = &result.data()->refused;
    context.zero(result.data(), sizeof(result_type));
    const auto lock = to_write();
    const bool makes_leaves = may_insert(job) && !(never_splits && first && job.ops == nullptr);
    // Under the lock of the writes themselves, so that the next exclusive operation sees it.
    if (makes_leaves || (may_erase(job) && erases_drop_leaves)) tree.lists_end();
    tree.pools_in_use();  // any write that walks far posts leaves, and takes inner nodes for that
    tree.ranks_are_known = false;
    job.tree = tree.view;
    launch_writes(job, n, first, look(job, n, looks, result.data()));
    note_pass(job, n, result.data());
    const result_type r = context.read(result.data());
    if constexpr (Context::on_gpu) tree.learn_pools(r.leaf_tickets, r.inner_tickets);
    tree.count_changed(static_cast<std::int64_t>(r.change));
    return r;
  }
  /// Enqueues the checks. Returns a word that becomes 0 if the batch is to be written in another way; null without
  /// checks.
  [[nodiscard]] const std::uint32_t* look([[maybe_unused]] const blink_write_job<view_type>& job,
                                          [[maybe_unused]] std::size_t n, [[maybe_unused]] const looks_for& looks,
                                          [[maybe_unused]] result_type* result) {
    const std::uint32_t* wanted = nullptr;
    if constexpr (looks_first) {
      if (looks.append) {
        merger{tree, context, true}.look_for_append(job.keys, n, &result->append);
        wanted = &result->append.refused;
      }
      if (looks.dense_from != 0) {
        context.judge_spread(tree.view, job.keys, n, looks.dense_from, wanted, &result->apart);
        wanted = &result->apart;
      }
    }
    return wanted;
  }
  void note_pass(const blink_write_job<view_type>& job, std::size_t n, result_type* result) {
    if constexpr (Context::on_gpu) {
      const note_tickets<Word> tickets{tree.leaf_nodes.tickets(), tree.inner_nodes.tickets(), result};
      if (job.done == nullptr || !change_of_count::may(job.ops, job.op)) return context.for_each(1, tickets);
      using part = add_up_part<true, change_of_count>;
      const std::size_t parts = part::template parts_of<Context>(n);
      const change_of_count what{job.done, job.ops, job.order, job.op};
      context.for_each(parts, note_change<Word>{{what, n, parts, &result->change}, tickets});
    } else {
      add_up_change(job, n, job.order, result);
    }
  }
  void add_up_change(const blink_write_job<view_type>& job, std::size_t n, const std::uint32_t* order,
                     result_type* result) {
    if (job.done == nullptr || !change_of_count::may(job.ops, job.op)) return;
    add_up(context, n, change_of_count{job.done, job.ops, order, job.op}, &result->change);
  }
  /// Merges what the first pass refused like a bulk write, if that pays off.
  bool merge_refused(const blink_write_job<view_type>& job, std::uint32_t refused) {
    if (job.ops != nullptr) return false;
    const leaf_sizes sizes = write_sizes();
    batch_spread spread = even_spread(job.size, sizes);
    if constexpr (looks_first) {
      if (may_have_met(refused, job.size) && tree.view.lane.size != 0) spread = spread_of(job, job.refused, refused);
    }
    return merges_rest(spread, refused, sizes) && merge_listed(job, job.refused, refused);
  }
  /// Sorts and merges elements numbered list[0], ..., list[n - 1] (all n if null). Returns false, with nothing changed,
  /// if there is no memory for that or refs are in use.
  bool merge_listed(const blink_write_job<view_type>& job, const std::uint32_t* list, std::uint32_t n) {
    const auto lock = lock_exclusive();
    if (tree.has_live_refs) return false;
    const write_op op = job.op == blink_op::insert  ? write_op::insert
                        : job.op == blink_op::erase ? write_op::erase
                                                    : write_op::insert_or_assign;
    const bool merged = with_memory([&] {
      merger{tree, context, true}.merge(op, job.keys, job.values, list, n, job.done);
    });
    // Key by key needs less memory. The merge may have set results of elements that it did not write.
    if (!merged && job.done != nullptr) {
      if (list != nullptr) {
        context.for_each(n, clear_answer{list, job.done});
      } else {
        context.zero(job.done, n);
      }
    }
    return merged;
  }
  [[nodiscard]] bool append(const blink_write_job<view_type>& job, std::size_t n) {
    bool appended = false;
    static_cast<void>(with_memory([&] {
      appended =
          merger{tree, context, true}.append(job.op == blink_op::insert ? write_op::insert : write_op::insert_or_assign,
                                             job.keys, job.values, n, job.done);
    }));
    return appended;
  }
  /// Called before writes: reserves memory for this number of new leaves, and for posting them.
  void make_room(std::uint64_t leaves) {
    if (leaves == 0) return;
    const auto lock = lock_exclusive();
    tree.refresh_pools(context);
    tree.leaf_nodes.ensure(context, leaves, !tree.has_live_refs);
    tree.install_pools();  // nodes may have moved, and the following steps may fail
    // With a lane only every few leaves of a chain are posted; without nodes for them, ascending keys walk the whole
    // chain.
    const bool posts_all = U == inner_index::inner_nodes || tree.view.lane.size == 0;
    tree.inner_nodes.ensure(context, leaves / (posts_all ? N / 4 : N) + 64, !tree.has_live_refs);
    tree.install_pools();
  }
  /// `unless_zero` is the word that cancels the kernels; null if they are not cancelled.
  void launch_writes(const blink_write_job<view_type>& job, std::size_t n, bool first,
                     const std::uint32_t* unless_zero) {
    if constexpr (P == protocol::blink) {
      if (first && job.ops == nullptr) return launch_first_pass(job, n, unless_zero);
    }
    context.template launch_write<write_reads, traits, P == protocol::single_writer>(job, n);
  }
  void launch_first_pass(const blink_write_job<view_type>& job, std::size_t n, const std::uint32_t* unless_zero) {
    switch (job.op) {
      case blink_op::insert:
        return launch_first_pass<blink_op::insert>(job, n, unless_zero);
      case blink_op::insert_or_assign:
        return launch_first_pass<blink_op::insert_or_assign>(job, n, unless_zero);
      case blink_op::update:
        return launch_first_pass<blink_op::update>(job, n, unless_zero);
      default:
        return launch_first_pass<blink_op::erase>(job, n, unless_zero);
    }
  }
  template <blink_op Op>
  void launch_first_pass(const blink_write_job<view_type>& job, std::size_t n,
                         [[maybe_unused]] const std::uint32_t* unless_zero) {
    const blink_first_pass_job<view_type, Op> pass{job};
    if constexpr (Context::on_gpu) {
      context.template launch_write_if<write_reads, traits>(pass, n, unless_zero);
    } else {
      context.template launch_write<write_reads, traits, false>(pass, n);
    }
  }
  [[nodiscard]] static bool may_erase(const blink_write_job<view_type>& job) {
    return job.ops != nullptr || job.op == blink_op::erase;
  }
  [[nodiscard]] static bool may_insert(const blink_write_job<view_type>& job) {
    return job.ops != nullptr || job.op == blink_op::insert || job.op == blink_op::insert_or_assign;
  }

  void write_in_order(const blink_write_job<view_type>& batch, std::size_t n) {
    if (n >= 0xffffffffu) throw error("blink_tree: an ordered batch has at most 2^32 - 2 elements; split it.");
    buffer<std::uint32_t> sorted_places(tree.dev, n, context.order());
    {
      const buffer<Word> words = tree.load_words(context, batch.keys, n);
      const buffer<std::uint32_t> places(tree.dev, n, context.order());
      buffer<Word> sorted(tree.dev, n, context.order());
      context.for_each(n, number_places{places.data()});
      context.sort_from(words.data(), sorted, places.data(), sorted_places, n);
    }
    const buffer<std::uint8_t> own_mask(tree.dev, batch.done == nullptr ? n : 0, context.order());
    const buffer<std::uint32_t> refused(tree.dev, n, context.order());
    const buffer<result_type> result(tree.dev, 1, context.order());
    blink_ordered_job<view_type> job{batch};
    job.order = sorted_places.data();
    job.size = n;
    if (job.done == nullptr) job.done = own_mask.data();
    job.refused = refused.data();
    job.refusals = &result.data()->refused;
    std::uint64_t told = 0;
    for (std::uint64_t room = may_insert(job) ? tree.likely_new_leaves(n) : 0;; room = tree.likely_new_leaves(n)) {
      try {
        make_room(room);
      } catch (...) {
        context.for_each(n, clear_refused{job.done});
        throw;
      }
      context.zero(result.data(), sizeof(result_type));
      result_type r{};
      {
        const auto lock = to_write();
        tree.lists_end();
        tree.ranks_are_known = false;
        tree.pools_in_use();
        job.tree = tree.view;
        context.template launch_write<write_reads, traits, P == protocol::single_writer>(job, n);
        add_up_change(job, n, nullptr, result.data());
        r = context.read(result.data());
        // `done` covers all passes.
        tree.count_changed(static_cast<std::int64_t>(r.change - told));
        told = r.change;
      }
      if (r.refused == 0) break;
      job.resumed = true;
    }
    after_piece(job, n);
  }

  /// Counts the effect on the inner levels, and rebuilds them when they are too stale.
  void after_piece(const blink_write_job<view_type>& job, std::size_t n) {
    const auto lock = lock_exclusive();
    tree.refresh_pools(context);
    tree.leaves_since_rebuild = tree.leaf_nodes.taken();
    if (job.ops != nullptr || job.op == blink_op::erase) tree.erased += n;
    if (tree.has_live_refs) return;
    if (tree.has_outgrown_lane() || tree.looks_now()) tree.rebuild_inner_if_memory_allows(context);
  }

 private:
  /// The lock is shared with other writes and reads, unless the protocol provides no concurrency control.
  [[nodiscard]] auto to_write() {
    if constexpr (P == protocol::single_writer) {
      return lock_exclusive();
    } else {
      return lock_shared();
    }
  }
  [[nodiscard]] auto lock_shared() { return has_it_alone ? decltype(gate.lock_shared()){} : gate.lock_shared(); }
  [[nodiscard]] auto lock_exclusive() {
    return has_it_alone ? decltype(gate.lock_exclusive()){} : gate.lock_exclusive();
  }
  [[nodiscard]] std::size_t leaves_now() {
    const auto lock = lock_shared();
    return tree.leaves_at_rebuild + tree.leaves_since_rebuild;
  }
};

}  // namespace espalier::detail
