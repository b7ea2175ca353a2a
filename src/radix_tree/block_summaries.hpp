// block_summaries.hpp - block aggregates of a radix tree's values (espalier/radix_tree/aggregate.hpp): built when a
// query needs them, invalidated by every write, including updates.
//
// Why blocks and not a team per range: with blocks a range of any length costs as much as one of 32 elements, and one
// pass over all values builds them, which a single long range would cost anyway. Their price is that pass after a
// write. On a GPU it takes less time than one thread that walks a few thousand leaves, so they are always built. On a
// CPU queries walk the leaves of their ranges as long as all queries since the last write have walked less than a part
// of the tree: a caller that alternates between changing a key and querying a short range never pays for the whole.
#pragma once

#include <utility>

#include "espalier/radix_tree/aggregate.hpp"
#include "radix_tree/scratch.hpp"
#include "static_tree/build_kernels.hpp"

namespace espalier::detail {

template <unsigned V>
struct sum_block_of_leaves {
  using agg = radix_aggregator<V>;
  radix_view<V> tree;
  typename agg::sum_type* sums;
  ESPALIER_HD void operator()(std::size_t block) const {
    const std::uint64_t first = block * block_summaries::block, end = first + block_summaries::block;
    sums[block] = agg::exact_between(tree, first, end < tree.size ? end : tree.size);
  }
};
template <unsigned V, class Op>
struct summarise_block_of_leaves {
  using agg = radix_aggregator<V>;
  radix_view<V> tree;
  typename Op::type* level;
  ESPALIER_HD void operator()(std::size_t block) const {
    const std::uint64_t first = block * block_summaries::block;
    const std::uint64_t end = first + block_summaries::block < tree.size ? first + block_summaries::block : tree.size;
    auto total = Op::identity();
    for (std::uint64_t r = first; r < end; ++r) {
      if constexpr (std::is_same_v<Op, add_doubles>) {
        total = Op::combine(total, agg::double_at(tree, r));
      } else {
        total = Op::combine(total, agg::word_at(tree, r));
      }
    }
    level[block] = total;
  }
};

/// Owns the block aggregates. `tree` is the same tree in all calls, and has ranks.
template <class Context, unsigned V>
class summary_keeper {
  using agg = radix_aggregator<V>;
  using word = typename agg::word;

 public:
  /// Queries may walk this part of the tree, one in 16 elements, before block aggregates are built.
  static constexpr std::uint64_t part_walked = 16;

  [[nodiscard]] const block_summaries& view() const { return view_; }
  [[nodiscard]] std::size_t bytes() const { return sums_.bytes() + minima_.bytes() + maxima_.bytes(); }
  [[nodiscard]] bool knows(aggregate_op op) const {
    return is_bound(op) ? view_.minima != nullptr : view_.prefix != nullptr || view_.sums != nullptr;
  }
  /// Called before a query walks this number of leaves. Returns false if block aggregates are cheaper.
  [[nodiscard]] bool may_walk(std::uint64_t leaves, std::uint64_t size) {
    if (Context::on_gpu || leaves > size / part_walked - std::min(walked_, size / part_walked)) return false;
    walked_ += leaves;
    return true;
  }
  void know(Context& context, const radix_view<V>& tree, aggregate_op op) {
    if (knows(op) || tree.size == 0) return;
    const std::uint64_t blocks = (tree.size - 1) / block_summaries::block + 1;
    if (is_bound(op)) {
      raw_buffer minima = block_tree<smaller_word<word>>(context, tree, blocks);
      maxima_ = block_tree<larger_word<word>>(context, tree, blocks);
      minima_ = std::move(minima);
      view_.minima = minima_.data();
      view_.maxima = maxima_.data();
    } else if (tree.value_kind == scalar_kind::f32 || tree.value_kind == scalar_kind::f64) {
      sums_ = block_tree<add_doubles>(context, tree, blocks);
      view_.sums = sums_.data();
    } else {
      sums_ = prefix_sums(context, tree);
      view_.prefix = sums_.data();
    }
    view_.blocks = blocks;
  }
  /// `s` must follow all other uses of the memory.
  void set_stream(const stream& s) {
    for (raw_buffer* const memory : {&sums_, &minima_, &maxima_}) memory->set_stream(s);
  }
  void forget() { *this = {}; }

 private:
  [[nodiscard]] static raw_buffer prefix_sums(Context& context, const radix_view<V>& tree) {
    using sum = typename agg::sum_type;
    const std::uint64_t entries = tree.size / block_summaries::block + 1;  // includes the block of rank `size`
    raw_buffer memory(context.get_device(), entries * sizeof(sum), context.order());
    auto* const sums = static_cast<sum*>(memory.data());
    context.for_each(entries, sum_block_of_leaves<V>{tree, sums});
    context.exclusive_scan(sums, sums, entries);
    return memory;
  }
  template <class Op>
  [[nodiscard]] static raw_buffer block_tree(Context& context, const radix_view<V>& tree, std::uint64_t blocks) {
    using type = typename Op::type;
    constexpr unsigned fanout = agg::shape::fanout;
    raw_buffer memory(context.get_device(), agg::shape::tree_nodes(blocks) * sizeof(type), context.order());
    auto* level = static_cast<type*>(memory.data());
    context.for_each(blocks, summarise_block_of_leaves<V, Op>{tree, level});
    for (std::uint64_t size = blocks; size > 1;) {
      const std::uint64_t above = (size + fanout - 1) / fanout;
      context.for_each(above, aggregate_node<Op, fanout>{level, size, level + size});
      level += size;
      size = above;
    }
    return memory;
  }

  block_summaries view_;
  raw_buffer sums_;  ///< prefix sums or a tree
  raw_buffer minima_, maxima_;
  std::uint64_t walked_ = 0;  ///< leaves walked since the last write
};

/// For values that are not numbers, which have no aggregates.
template <class Context>
struct no_summaries {
  [[nodiscard]] static std::size_t bytes() { return 0; }
  static void set_stream(const stream&) {}
  static void forget() {}
};
template <class Context, unsigned V>
using summaries_of = std::conditional_t<V == 4 || V == 8, summary_keeper<Context, V>, no_summaries<Context>>;

}  // namespace espalier::detail
