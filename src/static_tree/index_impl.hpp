// index_impl.hpp - the static tree on one kind of device: every operation of static_index, one implementation over a
// Context.
//
// An operation is staged, planned and launched:
//   staged   memory that the device cannot access is copied, in pieces, through device memory
//   planned  plan.hpp selects how the batch is answered
//   launched as a job (jobs.hpp) that any team can run
// On a CPU this happens in the stream's worker or, when the caller waits, in the caller's thread; on a GPU it is
// enqueued.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/build_event.hpp"
#include "device/staging.hpp"
#include "device/with_memory.hpp"
#include "static_tree/build.hpp"
#include "static_tree/plan.hpp"
#include "static_tree/validate.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned ValueBytes>
class index_impl final : public static_index {
  using shape = tree_shape<Word, ValueBytes>;

 public:
  index_impl(const device& dev, element_type elements) : device_(dev), elements_(elements) {}
  ~index_impl() override {
    try {
      if (building_) wait_for_build();
    } catch (...) {
    }
  }
  index_impl(const index_impl&) = delete;
  index_impl& operator=(const index_impl&) = delete;

  void build(const void* keys, const void* values, std::size_t n, const build_options& options, const execution& ex) {
    built_on_ = ex.order;
    building_ = true;
    run(ex, [this, keys, values, n, options, order = ex.order] {
      try {
        Context context(device_, order);
        tree_ = builder<Context, Word, ValueBytes>(context, elements_, options)(keys, values, n);
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
    });
    if constexpr (Context::on_gpu) built_.record(ex.order);
    if (ex.wait) building_ = false;
  }

  // ---- about the index -----------------------------------------------------------------------------------
  [[nodiscard]] const device& get_device() const override { return device_; }
  [[nodiscard]] element_type elements() const override { return elements_; }
  [[nodiscard]] tree_stats stats() const override { return settled().stats(); }
  [[nodiscard]] aggregates kept() const override { return settled().kept; }
  [[nodiscard]] const void* view() const override { return &settled().view; }
  [[nodiscard]] validation validate() const override {
    return check_tree(settled(), device_, device_.default_stream());
  }
  [[nodiscard]] explanation explain(std::size_t queries, const query_options& options) const override {
    settle();
    return detail::explain(planning(queries, options.order), options.plan);
  }

  // ---- point queries ---------------------------------------------------------------------------------------
  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const query_options& options,
            const execution& ex) const override {
    pieces(n, {input(keys, key_bytes()), output(values, elements_.value_bytes), output(found, 1)}, ex,
           [this, options](Context& context, const pointers& p, std::size_t count) {
             find_job<Word, ValueBytes> job;
             job.keys = p[0];
             job.values = p[1];
             job.found = static_cast<std::uint8_t*>(p[2]);
             answer(context, job, count, options);
           });
  }

  [[nodiscard]] any_inner_levels_view upper() const override { return inner_levels_view_of(settled()); }
  void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                 std::uint8_t* found) const override {
    find_job<Word, ValueBytes> job;
    job.values = elements_.value_bytes == 0 ? nullptr : values;
    job.found = found;
    answer_from(lines, keys, n, job);
  }

  void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks, const query_options& options,
            const execution& ex) const override {
    pieces(n, {input(keys, key_bytes()), output(ranks, 8)}, ex,
           [this, bound, options](Context& context, const pointers& p, std::size_t count) {
             rank_job<Word, ValueBytes> job;
             job.keys = p[0];
             job.upper = bound == bound_type::upper;
             job.ranks = static_cast<std::uint64_t*>(p[1]);
             answer(context, job, count, options);
           });
  }

  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
            const query_options& options, const execution& ex) const override {
    pieces(n,
           {input(keys, key_bytes()), output(out_keys, key_bytes()), output(out_values, elements_.value_bytes),
            output(found, 1)},
           ex, [this, kind, options](Context& context, const pointers& p, std::size_t count) {
             seek_job<Word, ValueBytes> job;
             job.keys = p[0];
             job.kind = kind;
             job.out_keys = p[1];
             job.out_values = p[2];
             job.found = static_cast<std::uint8_t*>(p[3]);
             answer(context, job, count, options);
           });
  }

  void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
              const execution& ex) const override {
    pieces(
        n,
        {input(ranks, 8), output(out_keys, key_bytes()), output(out_values, elements_.value_bytes), output(found, 1)},
        ex, [this](Context& context, const pointers& p, std::size_t count) {
          select_job<Word, ValueBytes> job;
          job.ranks = static_cast<const std::uint64_t*>(p[0]);
          job.out_keys = p[1];
          job.out_values = p[2];
          job.found = static_cast<std::uint8_t*>(p[3]);
          launch(context, job, count);
        });
  }

  // ---- ranges ----------------------------------------------------------------------------------------------
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
             const execution& ex) const override {
    pieces(n, {input(lo, key_bytes()), input(hi, key_bytes()), output(counts, 8)}, ex,
           [this, options](Context& context, const pointers& p, std::size_t count) {
             launch_ranges(context, counting(p[0], p[1], options, static_cast<std::uint64_t*>(p[2]), nullptr), count);
           });
  }

  void range_offsets(const void* lo, const void* hi, std::size_t n, const range_options& options,
                     std::uint64_t* offsets, const execution& ex) const override {
    submit(ex, [=, this, order = ex.order] {
      Context context(device_, order);
      staged_input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      staged_output out(context, offsets, (n + 1) * 8);
      auto* counts = static_cast<std::uint64_t*>(out.data());
      context.zero(counts + n, 8);
      launch(context, counting(low.data(), high.data(), options, counts, nullptr), n);
      context.exclusive_scan(counts, counts, n + 1);
      out.copy_back(context);
    });
  }

  void range_fill(const void* lo, std::size_t n, const range_options& options, const std::uint64_t* offsets,
                  std::uint64_t total, void* out_keys, void* out_values, const execution& ex) const override {
    submit(ex, [=, this, order = ex.order] {
      Context context(device_, order);
      staged_input low(context, lo, n * key_bytes()), off(context, offsets, (n + 1) * 8);
      staged_output keys(context, out_keys, total * key_bytes()),
          values(context, out_values, total * elements_.value_bytes);
      fill_job<Word, ValueBytes> job;
      job.offsets = static_cast<const std::uint64_t*>(off.data());
      job.lo = low.data();
      job.ends = options.ends;
      job.queries = n;
      job.capacity = total;
      job.out_keys = keys.data();
      job.out_values = values.data();
      // On a GPU each warp searches what it copies: the search reads the first line of a range, and the copy reads it
      // again from the cache.
      buffer<std::uint64_t> starts;
      if constexpr (!Context::on_gpu) {
        starts = buffer<std::uint64_t>(device_, n, order);
        launch(context, counting(low.data(), low.data(), options, nullptr, starts.data()), n);
        job.starts = starts.data();
      }
      launch(context, job, total);
      // Staged outputs have no content past the last offset, so only that much is copied back. Reading it costs a wait,
      // which a copy to host memory incurs anyway.
      const auto is_away = [this](const void* p) { return p != nullptr && !device_.is_local(p); };
      const bool staged = is_away(out_keys) || is_away(out_values);
      const std::uint64_t written =
          staged ? std::min(total, context.read(static_cast<const std::uint64_t*>(off.data()) + n)) : total;
      keys.copy_back(context, written * key_bytes());
      values.copy_back(context, written * elements_.value_bytes);
    });
  }

  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                    const execution& ex) const override {
    range_buffers result;
    const stream& order = ex.order;
    submit({order, ex.wait || !Context::on_gpu}, [&] {
      Context context(device_, order);
      staged_input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      result.offsets = buffer<std::uint64_t>(device_, n + 1, order);
      std::uint64_t* offsets = result.offsets.data();
      buffer<std::uint64_t> starts(device_, n, order);
      context.zero(offsets + n, 8);
      launch(context, counting(low.data(), high.data(), options, offsets, starts.data()), n);
      context.exclusive_scan(offsets, offsets, n + 1);
      result.total = context.read(offsets + n);
      result.keys = raw_buffer(device_, result.total * key_bytes(), order);
      result.values = raw_buffer(device_, result.total * elements_.value_bytes, order);
      fill_job<Word, ValueBytes> job;
      job.offsets = offsets;
      job.starts = starts.data();
      job.queries = n;
      job.capacity = result.total;
      job.out_keys = result.keys.data();
      job.out_values = result.values.data();
      launch(context, job, result.total);
    });
    return result;
  }

  void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
            void* out_values, std::uint64_t* counts, const execution& ex) const override {
    const std::size_t limit = options.limit;
    pieces(n,
           {input(lo, key_bytes()), input(hi, key_bytes()), output(out_keys, limit * key_bytes()),
            output(out_values, limit * elements_.value_bytes), output(counts, 8)},
           ex, [this, options](Context& context, const pointers& p, std::size_t count) {
             range_head_job<Word, ValueBytes> job =
                 row_wise(p[1], options, p[2], p[3], static_cast<std::uint64_t*>(p[4]));
             job.keys = p[0];
             launch(context, job, count);
           });
  }
  void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                 const range_options& options, void* out_keys, void* out_values, std::uint64_t* counts) const override {
    answer_from(lines, lo, n,
                row_wise(hi, options, out_keys, elements_.value_bytes == 0 ? nullptr : out_values, counts));
  }

  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found, const execution& ex) const override {
    const scalar_kind kind = ValueBytes == 0 ? elements_.key : elements_.value;
    if (kind == scalar_kind::opaque) throw error("aggregate: the values of this tree are not numbers.");
    require_kept(is_bound(op) ? aggregates::min_max : aggregates::sum);
    pieces(n, {input(lo, key_bytes()), input(hi, key_bytes()), output(out, result_bytes(op, kind)), output(found, 1)},
           ex, [this, op, ends](Context& context, const pointers& p, std::size_t count) {
             aggregate_job<Word, ValueBytes> job;
             job.lo = p[0];
             job.hi = p[1];
             job.ends = ends;
             job.op = op;
             job.out = p[2];
             job.found = static_cast<std::uint8_t*>(p[3]);
             launch_ranges(context, job, count);
           });
  }

  void for_each_piece(std::uint64_t first, std::uint64_t last, visit_order order,
                      const std::function<void(std::uint64_t, std::uint64_t, std::size_t)>& piece,
                      const execution& ex) const override {
    submit(ex, [this, first, last, order, piece, stream_order = ex.order] {
      Context(device_, stream_order).visit_pieces(first, last, order, piece);
    });
  }

 private:
  static constexpr std::size_t most_operands = 5;
  using pointers = std::array<void*, most_operands>;

  /// An array of a bulk call.
  struct operand {
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t element_bytes = 0;
    [[nodiscard]] const void* memory() const { return to != nullptr ? to : from; }
  };
  static operand input(const void* p, std::size_t bytes) { return {p, nullptr, bytes}; }
  static operand output(void* p, std::size_t bytes) { return {nullptr, bytes == 0 ? nullptr : p, bytes}; }

  [[nodiscard]] unsigned key_bytes() const { return bytes_of(elements_.key); }

  /// On a CPU this leaves the stream's errors to its synchronize(); on a GPU errors stay with the device.
  void wait_for_build() const {
    if constexpr (Context::on_gpu) {
      built_on_.synchronize();
    } else {
      device_.invoke_in_order(built_on_, [] {});
    }
  }
  /// Waits, once, for an enqueued build. If the build failed, every call rethrows its error.
  void settle() const {
    if (building_) {
      wait_for_build();
      building_ = false;
    }
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] const tree_storage<Word, ValueBytes>& settled() const {
    settle();
    return tree_;
  }
  void require_kept(aggregates wanted) const {
    if (!keeps(settled().kept, wanted)) {
      throw error("aggregate: this tree does not keep " + to_string(wanted) +
                  "; build it with options whose keep is aggregates::" + to_string(wanted) + " (or all).");
    }
  }

  /// Runs or enqueues work on the tree, ordered after its build. The work itself checks whether the build failed.
  template <class Work>
  void submit(const execution& ex, Work work) const {
    if constexpr (Context::on_gpu) {
      built_.make_wait(ex.order);  // the host does not wait for an asynchronous build
    } else if (!building_ || built_on_.state() != ex.order.state()) {
      settle();
    }
    const auto checked = [this, work = std::move(work)] {
      if (failure_) std::rethrow_exception(failure_);
      work();
    };
    run(ex, checked);
  }
  template <class Work>
  void run(const execution& ex, const Work& work) const {
    execute<Context>(device_, ex, work);
  }

  // ---- staging -----------------------------------------------------------------------------------------------
  using staged_input = detail::staged_input<Context>;
  using staged_output = detail::staged_output<Context>;

  /// Calls body with pointers that the device can access: once if it can access the caller's, otherwise piece by piece.
  template <class Body>
  void pieces(std::size_t n, std::initializer_list<operand> list, const execution& ex, Body body) const {
    if (n == 0) return;
    std::array<operand, most_operands> operands{};
    std::copy(list.begin(), list.end(), operands.begin());
    submit(ex, [this, n, operands, body, order = ex.order] {
      Context context(device_, order);
      const bool local = std::all_of(operands.begin(), operands.end(), [&](const operand& o) {
        return o.memory() == nullptr || device_.is_local(o.memory());
      });
      constexpr std::size_t piece = std::size_t{1} << 24,
                            widest = 64;  // queries per piece, for up to this number of bytes per query
      std::size_t wide = 0;
      for (const operand& o : operands) wide += o.element_bytes;
      const std::size_t step = local ? n : std::max<std::size_t>(1, wide <= widest ? piece : piece * widest / wide);
      for (std::size_t first = 0; first < n; first += step)
        run_piece(context, operands, first, std::min(step, n - first), body);
    });
  }

  template <class Body>
  void run_piece(Context& context, const std::array<operand, most_operands>& operands, std::size_t first,
                 std::size_t count, const Body& body) const {
    std::array<std::optional<staged_input>, most_operands> in;
    std::array<std::optional<staged_output>, most_operands> out;
    pointers p{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const operand& o = operands[i];
      const std::size_t offset = first * o.element_bytes, bytes = count * o.element_bytes;
      if (o.to != nullptr) {
        out[i].emplace(context, static_cast<std::byte*>(o.to) + offset, bytes);
        p[i] = out[i]->data();
      } else if (o.from != nullptr) {
        in[i].emplace(context, static_cast<const std::byte*>(o.from) + offset, bytes);
        p[i] = const_cast<void*>(in[i]->data());  // read only: jobs take inputs as const
      }
    }
    body(context, p, count);
    for (auto& o : out) {
      if (o) o->copy_back(context);
    }
  }

  // ---- plans -------------------------------------------------------------------------------------------------
  [[nodiscard]] plan_input planning(std::size_t queries, batch_order order) const {
    const tree_stats s = tree_.stats();
    return {queries, s.leaf_bytes, s.inner_bytes, device_.threads(), Context::on_gpu, sizeof(Word), order};
  }

  /// Point queries: find, bound, neighbour.
  template <class Job>
  void answer(Context& context, Job job, std::size_t n, const query_options& options) const {
    job.tree = tree_.view;
    batch_order order = options.order;
    if (order == batch_order::unknown && context.looks_ascending(elements_.key, job.keys, n))
      order = batch_order::ascending;
    switch (choose(planning(n, order), options.plan)) {
      case query_plan::small:
        return context.launch(job, n, true, options.search);
      case query_plan::ordered:
        job.ascending = true;
        return context.launch(job, n, false, options.search);
      case query_plan::sort_first:
        return sort_first(context, job, n, options);
      case query_plan::partition_first:
        if (in_buckets(context, job, n, options.plan == query_plan::partition_first, options.search)) return;
        [[fallthrough]];
      default:
        return context.launch(job, n, false, options.search);
    }
  }

  /// Returns false if the batch is to be answered in the caller's order. If memory runs out and the caller did not
  /// request the plan, that order needs none.
  template <class Job>
  [[nodiscard]] bool in_buckets(Context& context, const Job& job, std::size_t n, bool requested,
                                [[maybe_unused]] node_search search = node_search::linear) const {
    bool done = false;
    const auto work = [&] {
      if constexpr (Context::on_gpu) {
        done = context.launch_in_buckets(job, tree_.lines.bytes(), n);
      } else {
        done = context.launch_in_buckets(job, tree_.lines.bytes(), n, search);
      }
    };
    if (requested) {
      work();
      return done;
    }
    return with_memory(work) && done;
  }

  template <class Job>
  void answer_from(const std::uint32_t* lines, const void* keys, std::size_t n, Job job) const {
    if constexpr (Context::on_gpu) {
      throw error("static_tree: searches that start at given lines are for a CPU.");
    } else {
      job.tree = settled().view;
      job.keys = keys;
      job.lines = lines;
      Context context(device_, device_.default_stream());
      context.launch(job, n, n <= 1024, node_search::linear);
    }
  }

  /// Sorts words together with their positions; the results are written to the original positions.
  template <class Job>
  void sort_first(Context& context, Job job, std::size_t n, const query_options& options) const {
    if (n > 0xffffffffu) return context.launch(job, n, false, options.search);  // positions have 32 bits
    buffer<Word> words(device_, n, context.order()), words_alt(device_, n, context.order());
    buffer<std::uint32_t> place(device_, n, context.order()), place_alt(device_, n, context.order());
    context.for_each(n, encode_key<Word>{elements_.key, job.keys, words.data()});
    context.for_each(n, number_places{place.data()});
    const bool swapped = context.sort_pairs(words.data(), words_alt.data(), place.data(), place_alt.data(), 4, n);
    job.keys = swapped ? words_alt.data() : words.data();
    job.place = swapped ? place_alt.data() : place.data();
    job.ascending = true;
    context.launch(job, n, false, options.search);
  }

  /// Launches operations over ranges or ranks; few queries run in the calling thread.
  template <class Job>
  void launch(Context& context, Job job, std::size_t n) const {
    if (n == 0) return;
    job.tree = tree_.view;
    context.launch(job, n, n <= 1024, node_search::linear);
  }
  /// As launch(), for two searches per query.
  template <class Job>
  void launch_ranges(Context& context, Job job, std::size_t n) const {
    job.tree = tree_.view;
    const batch_order order =
        context.looks_ascending(elements_.key, job.lo, n) ? batch_order::ascending : batch_order::unknown;
    plan_input plan = planning(n, order);
    plan.searches = 2;
    if (partitions_first(plan) && in_buckets(context, job, n, false)) return;
    launch(context, job, n);
  }
  [[nodiscard]] count_job<Word, ValueBytes> counting(const void* lo, const void* hi, const range_options& options,
                                                     std::uint64_t* counts, std::uint64_t* starts) const {
    count_job<Word, ValueBytes> job;
    job.lo = lo;
    job.hi = hi;
    job.ends = options.ends;
    job.limit = options.limit;
    job.counts = counts;
    job.starts = starts;
    return job;
  }
  [[nodiscard]] static range_head_job<Word, ValueBytes> row_wise(const void* hi, const range_options& options,
                                                                 void* out_keys, void* out_values,
                                                                 std::uint64_t* counts) {
    range_head_job<Word, ValueBytes> job;
    job.hi = hi;
    job.ends = options.ends;
    job.limit = options.limit;
    job.out_keys = out_keys;
    job.out_values = out_values;
    job.counts = counts;
    return job;
  }

  device device_;
  element_type elements_;
  tree_storage<Word, ValueBytes> tree_;
  stream built_on_;
  build_event built_;
  std::exception_ptr failure_;
  mutable std::atomic<bool> building_{false};  // an asynchronous build may still be running; host calls wait for it
};

template <class Context, class Word>
[[nodiscard]] std::unique_ptr<static_index> build_index_on(const device& dev, element_type elements, const void* keys,
                                                           const void* values, std::size_t n,
                                                           const build_options& options, const execution& ex) {
  const auto make = [&]<unsigned ValueBytes>() -> std::unique_ptr<static_index> {
    auto index = std::make_unique<index_impl<Context, Word, ValueBytes>>(dev, elements);
    index->build(keys, values, n, options, ex);
    return index;
  };
  switch (value_slot(elements.value_bytes)) {
    case 0:
      return make.template operator()<0>();
    case 4:
      return make.template operator()<4>();
    case 8:
      return make.template operator()<8>();
    default:
      return make.template operator()<16>();
  }
}

}  // namespace espalier::detail
