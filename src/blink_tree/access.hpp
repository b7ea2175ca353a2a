// access.hpp - a B-link tree on one kind of device with its access gate: the base of blink_index_impl (index_impl.hpp).
// access_gate.hpp states which calls exclude each other.
#pragma once

#include <cstddef>

#include "blink_tree/storage.hpp"
#include "device/access_gate.hpp"
#include "device/staging.hpp"

namespace espalier::detail {

template <class Context, class Storage>
class blink_access;

template <class Context, class Word, unsigned V, unsigned N, inner_index U>
class blink_access<Context, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;

 protected:
  blink_access(const device& dev, element_type elements, const blink_options& options)
      : tree_(dev, elements, options) {}
  ~blink_access() { tree_.set_stream(gate_.last(tree_.dev)); }

  [[nodiscard]] std::size_t leaves_now() const {
    const auto lock = gate_.lock_shared();
    return tree_.leaves_at_rebuild + tree_.leaves_since_rebuild;
  }
  [[nodiscard]] bool is_stale_for(std::size_t n) const {
    const auto lock = gate_.lock_shared();
    return tree_.is_stale_for(n);
  }

  [[nodiscard]] bool wants_ranks() const {
    return Context::on_gpu && U == inner_index::express_lane && !tree_.ranks_are_known && !tree_.has_live_refs;
  }

  /// Executes reads whose lane lines were found by another device: calls work(context), unless the lane was rebuilt
  /// since.
  template <class Work>
  [[nodiscard]] bool from_lines(std::size_t builds, const Work& work) const {
    if constexpr (Context::on_gpu) {
      throw error("blink_tree: searches that start at given lines are for a CPU.");
    } else {
      const auto lock = gate_.lock_shared();
      if (builds != tree_.lane_builds || tree_.view.lane.size == 0) return false;
      Context context(tree_.dev, tree_.dev.default_stream());
      work(context);
      return true;
    }
  }
  template <class Work>
  void run(const execution& ex, const Work& work) const {
    execute<Context>(tree_.dev, ex, work);
  }
  /// Executes work with exclusive access to the tree.
  template <class Work>
  void lock_exclusive(const execution& ex, const Work& work) {
    run(ex, [&, this, order = ex.order] { alone_now(order, work); });
  }
  template <class Work>
  void alone_now(const stream& order, const Work& work) {
    const auto lock = gate_.lock_exclusive();
    const auto turn = gate_.begin(order, true);
    tree_.set_stream(order);
    Context context(tree_.dev, order);
    work(context);
  }
  /// Executes reads of n queries. If it pays off, the inner levels are rebuilt first. `by_ranks` states that the reads
  /// use differences of ranks.
  template <class Work>
  void read(const execution& ex, std::size_t n, Work work, bool by_ranks = false) const {
    auto* self = const_cast<blink_access*>(this);
    run(ex, [self, n, work, by_ranks, order = ex.order] {
      // The condition seen under the shared lock is checked again under the exclusive one: a ref may have been created
      // in between.
      if (self->is_stale_for(n)) {
        self->alone_now(order, [&](Context& context) {
          if (self->tree_.is_stale_for(n)) self->tree_.refresh_upper(context, n);
        });
      }
      if (by_ranks && self->wants_ranks()) {
        self->alone_now(order, [&](Context& context) {
          if (self->wants_ranks()) self->tree_.build_leaf_ranks(context);
        });
      }
      const auto lock = self->gate_.lock_shared();
      const auto turn = self->gate_.begin(order, false);
      Context context(self->tree_.dev, order);
      work(context);
    });
  }

  storage tree_;
  mutable access_gate<Context> gate_;
};

}  // namespace espalier::detail
