// access.hpp - a B-link tree on one kind of device, and the calls that run at it one after the other or at the same
// time: what blink_index_on (index_on.hpp) stands on. turns.hpp says which ones exclude each other.
#pragma once

#include <cstddef>

#include "blink_tree/storage.hpp"
#include "device/staging.hpp"
#include "device/turns.hpp"

namespace espalier::detail {

template <class Context, class Storage>
class blink_access;

template <class Context, class Word, unsigned V, unsigned N, upper U>
class blink_access<Context, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;

 protected:
  blink_access(const device& where, element_type elements, const blink_options& options)
      : tree_(where, elements, options) {}
  ~blink_access() { tree_.tie(beside_.last(tree_.where)); }

  [[nodiscard]] std::size_t leaves_now() const {
    const auto lock = beside_.together();
    return tree_.known_leaves + tree_.stale;
  }
  [[nodiscard]] bool is_stale_for(std::size_t n) const {
    const auto lock = beside_.together();
    return tree_.is_stale_for(n);
  }

  [[nodiscard]] bool wants_ranks() const {
    return Context::on_gpu && U == upper::express && !tree_.ranks_are_known && !tree_.lent;
  }

  /// Reads that somebody has walked the lane for: work(context), unless there is another lane since.
  template <class Work>
  [[nodiscard]] bool from_lines(std::size_t builds, const Work& work) const {
    if constexpr (Context::on_gpu) {
      throw error("blink_tree: searches that start at given lines are for a CPU.");
    } else {
      const auto lock = beside_.together();
      if (builds != tree_.lane_builds || tree_.view.lane.size == 0) return false;
      Context context(tree_.where, tree_.where.default_stream());
      work(context);
      return true;
    }
  }
  template <class Work>
  void run(const execution& ex, const Work& work) const {
    execute<Context>(tree_.where, ex, work);
  }
  /// Work that has the tree to itself.
  template <class Work>
  void alone(const execution& ex, const Work& work) {
    run(ex, [&, this, order = ex.order] { alone_now(order, work); });
  }
  template <class Work>
  void alone_now(const stream& order, const Work& work) {
    const auto lock = beside_.alone();
    const auto turn = beside_.begin(order, true);
    tree_.tie(order);
    Context context(tree_.where, order);
    work(context);
  }
  /// Reads of n queries. If that pays, the upper levels are rebuilt first. `by_ranks`: it asks for differences of
  /// ranks.
  template <class Work>
  void read(const execution& ex, std::size_t n, Work work, bool by_ranks = false) const {
    auto* self = const_cast<blink_access*>(this);
    run(ex, [self, n, work, by_ranks, order = ex.order] {
      // What was seen under the shared lock is checked again under the exclusive one: a ref may have been lent in
      // between.
      if (self->is_stale_for(n)) {
        self->alone_now(order, [&](Context& context) {
          if (self->tree_.is_stale_for(n)) self->tree_.refresh_upper(context, n);
        });
      }
      if (by_ranks && self->wants_ranks()) {
        self->alone_now(order, [&](Context& context) {
          if (self->wants_ranks()) self->tree_.know_ranks(context);
        });
      }
      const auto lock = self->beside_.together();
      const auto turn = self->beside_.begin(order, false);
      Context context(self->tree_.where, order);
      work(context);
    });
  }

  storage tree_;
  mutable turns<Context> beside_;
};

}  // namespace espalier::detail
