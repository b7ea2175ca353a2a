// ranges.hpp - batches of ranges: counted, then copied compactly; or each copied into a separate row.
#pragma once

#include "blink_tree/storage.hpp"
#include "espalier/blink_tree/jobs.hpp"

namespace espalier::detail {

/// Totals between counting and copying, in one struct, because each read of GPU memory costs a wait.
struct range_totals {
  std::uint64_t elements;
  std::uint32_t long_ones;  ///< not 0 if there are long ranges
  std::uint32_t changed;    ///< with concurrent writers: number of ranges that have changed since they were counted
};
struct note_total {
  const std::uint64_t* total;
  range_totals* to;
  ESPALIER_HD void operator()(std::size_t) const { to->elements = *total; }
};

template <class Context, protocol P, class Storage>
struct range_reader;

template <class Context, protocol P, class Word, unsigned V, unsigned N, inner_index U>
struct range_reader<Context, P, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using reads = typename Context::template reads<P>;
  using traits = protocol_traits<P, U>;

  const storage& tree;
  Context& context;

  /// Value of a total if a write took place in between and the ranges must be counted again.
  static constexpr std::uint64_t changed = ~std::uint64_t{0};

  /// Fills the members that jobs for counting, copying and rows have in common.
  template <template <class> class Job>
  [[nodiscard]] Job<view_type> job_over(const void* lo, const void* hi, const range_options& options) const {
    Job<view_type> job;
    job.tree = tree.view;
    job.lo = lo;
    job.hi = hi;
    job.ends = options.ends;
    job.limit = options.limit;
    job.ranks = tree.leaf_ranks_if_valid();
    return job;
  }
  [[nodiscard]] blink_count_job<view_type> counting(const void* lo, const void* hi, const range_options& options,
                                                    std::uint64_t* counts) const {
    auto job = job_over<blink_count_job>(lo, hi, options);
    job.counts = counts;
    return job;
  }
  void fill_rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                 void* out_values, std::uint64_t* counts, const std::uint32_t* lines = nullptr) const {
    auto job = job_over<blink_rows_job>(lo, hi, options);
    job.counts = counts;
    job.lines = lines;
    if (lines != nullptr) job.ranks = {};
    job.out_keys = out_keys;
    job.out_values = out_values;
    context.template launch_read<reads, traits>(job, n, tree.reads_ask_inner_nodes());
  }
  /// The total is `changed` if a write took place in between.
  [[nodiscard]] range_buffers range_once(const void* lo, const void* hi, std::size_t n,
                                         const range_options& options) const {
    range_buffers result;
    const stream& order = context.order();
    result.offsets = buffer<std::uint64_t>(tree.dev, n + 1, order);
    std::uint64_t* offsets = result.offsets.data();
    context.zero(offsets + n, 8);
    const buffer<leaf_position> starts(tree.dev, Context::on_gpu ? n : 0, order);
    const buffer<std::uint32_t> lines(tree.dev, !Context::on_gpu && tree.view.lane.size != 0 ? n : 0, order);
    const buffer<range_totals> totals(tree.dev, 1, order);
    range_totals* const noted = totals.data();
    context.zero(noted, sizeof(range_totals));
    auto count = counting(lo, hi, options, offsets);
    count.starts = starts.data();
    count.lines = lines.data();
    count.long_ones = &noted->long_ones;
    context.template launch_read<reads, traits>(count, n, tree.reads_ask_inner_nodes());
    context.exclusive_scan(offsets, offsets, n + 1);
    context.for_each(1, note_total{offsets + n, noted});
    const range_totals counted = context.read(noted);
    result.total = counted.elements;
    result.keys = raw_buffer(tree.dev, result.total * tree.key_bytes(), order);
    result.values = raw_buffer(tree.dev, result.total * tree.elements.value_bytes, order);
    auto job = job_over<blink_fill_job>(lo, hi, options);
    job.offsets = offsets;
    job.starts = starts.data();
    job.lines = lines.data();
    job.out_keys = result.keys.data();
    job.out_values = result.values.data();
    job.changed = Context::on_gpu ? nullptr : &noted->changed;
    std::size_t pieces = n;
    buffer<std::uint64_t> parts;
    if (job.ranks && counted.long_ones != 0) {
      parts = buffer<std::uint64_t>(tree.dev, n + 1, order);
      context.zero(parts.data() + n, 8);
      context.for_each(n, parts_of_range{offsets, parts.data()});
      context.exclusive_scan(parts.data(), parts.data(), n + 1);
      pieces = context.read(parts.data() + n);
      job.parts = parts.data();
      job.ranges = n;
    }
    context.template launch_read<reads, traits>(job, pieces, false);  // starts at the leaves that were found
    if (!Context::on_gpu && context.read(&noted->changed) != 0) result.total = changed;
    return result;
  }
};

}  // namespace espalier::detail
