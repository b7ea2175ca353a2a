// small_batch_writer.hpp - the host's part of writing a small batch on a GPU in one kernel (small_batch.hpp): one
// launch and one wait. It selects the batches, reserves nodes, and records in the tree what the kernel did.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "blink_tree/small_batch.hpp"
#include "blink_tree/storage.hpp"
#include "device/with_memory.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::detail {

/// The memory that the kernel writes its result to; a CPU has none.
template <class Context>
struct small_batch_reply {
  struct type {};
};
template <class Context>
requires(Context::on_gpu) struct small_batch_reply<Context> {
  using type = typename Context::template mapped<small_batch_result>;
};

template <class Context, protocol P, class Storage>
struct small_batch_writer;

template <class Context, protocol P, class Word, unsigned V, unsigned N, inner_index U>
struct small_batch_writer<Context, P, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using job_type = small_batch_job<view_type>;
  /// The kernel is compiled for the default nodes (src/instantiate/blink_small_batch.ipp).
  static constexpr bool is_compiled =
      Context::on_gpu && P == protocol::blink && U == inner_index::express_lane && N == node_slots<Word>(0);
  /// Batches of up to this size are written by the kernel. Larger ones that ascend are appended or merged: with 2^16
  /// keys the kernel, of at most 16 multiprocessors, takes twice as long as an append (H200,
  /// docs/design/blink-tree.md).
  static constexpr std::size_t most = 4096;
  /// Batches of up to this size are sorted by the kernel, and written to trees of any size. Larger ones must ascend:
  /// others are faster key by key if they are spread over the tree. A larger batch that adds many leaves to a small
  /// tree is merged, because a merge builds the inner levels that the kernel would only post to.
  static constexpr std::size_t most_unordered = 512;

  storage& tree;
  Context& context;

  small_batch_writer(storage& of, Context& with) : tree(of), context(with) {}

  /// Whether batches of n elements are small.
  [[nodiscard]] static bool is_small(std::size_t n, const write_options& options) {
    return is_compiled && options.path == write_path::automatic && n <= most;
  }
  /// Whether the kernel is tried for a small batch of n elements; what it declines is written in another way. Under the
  /// gate's lock.
  [[nodiscard]] static bool is_worth(const storage& tree, write_op op, std::size_t n) {
    // While the list of leaves is known, an append is a copy, which is faster from some thousand keys on and keeps the
    // list: without it the next large append takes ten times as long.
    const bool list_is_known = tree.pending.size != 0 ? tree.pending_is_whole.load() : tree.leaf_list_is_current.load();
    const bool may_be_append = tree.appends || (n > most_unordered && tree.append_misses == 0);
    if (inserts(op) && list_is_known && !tree.has_live_refs && may_be_append) return false;
    if (n <= most_unordered) return true;
    return n <= 4 * (tree.leaves_at_rebuild + tree.leaves_since_rebuild) && tree.ascending_misses < most_misses;
  }
  /// Batches in a row that did not ascend, after which none that must ascend is tried until the lane is rebuilt.
  static constexpr unsigned most_misses = 2;

  /// Reserves nodes and enqueues the kernel. All pointers refer to memory of this device. Returns false, with nothing
  /// changed, if there is no memory.
  [[nodiscard]] bool enqueue(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
    return with_memory([&] {
      tree.settle(context);
      // While a ref is in use, the host does not know how many nodes are left: the kernel finds out.
      if (inserts(op) && !tree.has_live_refs) {
        tree.refresh_pools(context);
        const std::uint64_t leaves = tree.most_new_leaves(n);
        tree.leaf_nodes.ensure(context, leaves, true);
        tree.install_pools();  // nodes may have moved, and the following steps may fail
        tree.inner_nodes.ensure(context, leaves / (tree.view.lane.size == 0 ? N / 4 : N) + 64, true);
        tree.install_pools();
      }
      scratch_ = raw_buffer(tree.dev, small_batch_arrays<Word>::bytes(n), context.order());
      result_.emplace(context.template map_result<small_batch_result>());
      job_type job{};
      job.tree = tree.view;
      job.op = op;
      job.n = static_cast<std::uint32_t>(n);
      job.sorts = n <= most_unordered;
      job.keys = keys;
      job.values = values;
      job.done = done;
      job.scratch = static_cast<std::byte*>(scratch_.data());
      job.result = result_->memory();
      tree.pools_in_use();
      context.launch_small(job);
      scratch_ = {};
    });
  }
  /// Waits for the kernel and records what it did. Returns false if it declined the batch.
  [[nodiscard]] bool finish(write_op op, std::size_t n) {
    const small_batch_result r = result_->wait();
    tree.learn_pools(r.leaf_tickets, r.inner_tickets);
    tree.leaves_since_rebuild = tree.leaf_nodes.taken();
    if (n > most_unordered)
      tree.ascending_misses = r.outcome == small_batch_outcome::unordered ? tree.ascending_misses + 1 : 0;
    if (r.outcome != small_batch_outcome::done) return false;
    tree.count_changed(static_cast<std::int64_t>(r.change));
    if (r.change != 0) tree.ranks_are_known = false;
    if (r.leaves != 0) tree.lists_end();
    if (r.posts != 0) tree.has_posted_leaves = true;
    if (op == write_op::erase) tree.erased += n;
    return true;
  }
  /// Whether the inner levels are to be rebuilt after the batch.
  [[nodiscard]] bool needs_rebuild() const {
    return !tree.has_live_refs && (tree.has_outgrown_lane() || tree.looks_now());
  }

 private:
  [[nodiscard]] static bool inserts(write_op op) { return op == write_op::insert || op == write_op::insert_or_assign; }
  raw_buffer scratch_;
  std::optional<typename small_batch_reply<Context>::type> result_;
};

}  // namespace espalier::detail
