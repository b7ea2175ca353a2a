// index_impl.hpp - the B-link tree on one kind of device: every operation of blink_index, one implementation over a
// Context.
//
// Its parts are storage.hpp (the data of the tree), access.hpp (mutual exclusion of calls), per_key_writer.hpp and
// merge.hpp (writes), and ranges.hpp. Exception guarantee: whatever can fail for lack of memory is done before the tree
// is changed, or builds new parts and swaps them in; only writes key by key keep what they have written.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "blink_tree/access.hpp"
#include "blink_tree/coalesce_batch.hpp"
#include "blink_tree/estimate.hpp"
#include "blink_tree/merge.hpp"
#include "blink_tree/node_copy.hpp"
#include "blink_tree/per_key_writer.hpp"
#include "blink_tree/plan.hpp"
#include "blink_tree/ranges.hpp"
#include "blink_tree/small_batch_writer.hpp"
#include "blink_tree/storage.hpp"
#include "device/staging.hpp"
#include "device/with_memory.hpp"
#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/jobs.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned V, unsigned N, protocol P, inner_index U>
class blink_index_impl final : public blink_index, blink_access<Context, blink_storage<Context, Word, V, N, U>> {
  using access = blink_access<Context, blink_storage<Context, Word, V, N, U>>;
  using access::alone_now;
  using access::from_lines;
  using access::gate_;
  using access::is_stale_for;
  using access::leaves_now;
  using access::lock_exclusive;
  using access::read;
  using access::run;
  using access::tree_;
  using view_type = blink_view<Word, V, N>;
  using shape_type = typename view_type::leaf_shape;
  using inner_shape = typename view_type::inner_shape;
  using storage = blink_storage<Context, Word, V, N, U>;
  using value = typename storage::value;
  using leaf_list = typename storage::leaf_list;
  using merger = batch_merger<Context, storage>;
  using writer = key_writer<Context, P, storage>;
  using small_writer = small_batch_writer<Context, P, storage>;
  using combiner = batch_combiner<Context, P, storage>;
  using ranges = range_reader<Context, P, storage>;
  using reads = typename Context::template reads<P>;
  using traits = protocol_traits<P, U>;
  using input = staged_input<Context>;
  using output = staged_output<Context>;

 public:
  blink_index_impl(const device& dev, element_type elements, const blink_options& options, const void* keys,
                   const void* values, std::size_t n, const stream& order)
      : access(dev, elements, options) {
    if (!(options.fill >= 0.25 && options.fill <= 1))
      throw error("blink_tree: fill is the used share of a leaf, from 0.25 to 1.");
    // Ordered by the gate: later streams are ordered after the build by its mark, not only by the host.
    lock_exclusive({dev.resolve(order), true}, [&](Context& context) {
      const auto sorted = tree_.sort_pairs(context, keys, values, n, equal_keys::keep_last);
      tree_.make_tree(context, sorted.words, sorted.values, sorted.n);
    });
  }

  // ---- about the index -----------------------------------------------------------------------------------
  [[nodiscard]] const device& get_device() const override { return tree_.dev; }
  [[nodiscard]] element_type elements() const override { return tree_.elements; }
  [[nodiscard]] blink_shape shape() const override { return {P, U, N}; }

  [[nodiscard]] std::size_t size(const stream& order) const override {
    std::size_t n = 0;
    auto* self = const_cast<blink_index_impl*>(this);
    run({tree_.dev.resolve(order), !Context::on_gpu}, [&, this] {
      {
        const auto lock = gate_.lock_shared();
        n = tree_.count();
        if (tree_.count_is_known()) return;
      }
      self->alone_now(tree_.dev.resolve(order),
                      [&](Context& context) { n = self->tree_.count_leaves(context).elements; });
    });
    return n;
  }
  [[nodiscard]] blink_stats stats(const stream& order) const override {
    blink_stats s;
    auto* self = const_cast<blink_index_impl*>(this);
    self->lock_exclusive({tree_.dev.resolve(order), true}, [&](Context& context) {
      const live_counts live = self->tree_.count_leaves(context);
      s.leaves = live.leaves;
      s.size = live.elements;
      s.free_nodes = tree_.leaf_nodes.reusable() + (tree_.leaf_nodes.capacity() - tree_.leaf_nodes.high_water());
      s.dead_nodes = tree_.leaf_nodes.high_water() - s.leaves - tree_.leaf_nodes.reusable();
      s.inner_nodes = tree_.inner_nodes.high_water();
      s.height = 2 + (context.read_word(tree_.view.inner(view_type::root).info()) >> 16 & 0xffu) - 1;
      s.node_bytes = shape_type::bytes;
      s.fill = static_cast<double>(s.size) / static_cast<double>(s.leaves * N);
      s.lane_leaves = tree_.view.lane.size;
      s.lane_bytes = tree_.lane_bytes();
      s.lane_builds = tree_.lane_builds;
      s.bytes = tree_.leaf_nodes.bytes() + tree_.inner_nodes.bytes() + s.lane_bytes;
    });
    return s;
  }
  [[nodiscard]] blink_node_copy copy_nodes() const override {
    blink_node_copy image;
    auto* self = const_cast<blink_index_impl*>(this);
    self->lock_exclusive({tree_.dev.default_stream(), true}, [&](Context& context) {
      self->tree_.refresh_pools(context);
      image.key = tree_.elements.key;
      image.leaves = node_level_image::of<shape_type>(self->tree_.leaf_nodes.host_copy(context));
      image.inners = node_level_image::of<inner_shape>(self->tree_.inner_nodes.host_copy(context));
      image.unused = self->tree_.leaf_nodes.unused_numbers(context);
      image.has_lane = tree_.view.lane.size != 0;
      for (const Word w : host_copy(context, self->tree_.listed.highs)) image.lane_highs.push_back(w);
      image.lane_ids = host_copy(context, self->tree_.listed.ids);
    });
    return image;
  }
  [[nodiscard]] write_explanation explain(write_op op, std::size_t n, const write_options& options) const override {
    write_explanation e = plan_write(question(op, n), wish_for(options));
    if (writes_small(op, n, options)) e.text += "; a small batch: first tried in one kernel";
    // Per-element execution may combine equal keys, as in apply().
    return e.chosen == write_path::bulk || options.semantics == batch_semantics::concurrent
               ? e
               : plan_mixed(n, false, options, Context::on_gpu, tree_.has_live_refs);
  }
  [[nodiscard]] write_explanation explain_apply(std::size_t n, const write_options& options) const override {
    return plan_mixed(n, true, options, Context::on_gpu, tree_.has_live_refs);
  }
  [[nodiscard]] explanation explain_reads(const void* keys, std::size_t n,
                                          const query_options& options) const override {
    // Neither the inner levels nor a stream: a read that is explained is not executed.
    const auto lock = gate_.lock_shared();
    const read_question q = reading(n);
    batch_sample seen = batch_sample::none;
    if constexpr (!Context::on_gpu) {
      if (keys != nullptr && partitions_reads(q, options)) seen = Context::sample_of(tree_.view, keys, n);
    }
    return plan_reads(q, options, seen);
  }
  void view(std::size_t inserts, void* to) override {
    lock_exclusive({tree_.dev.default_stream(), true}, [&](Context& context) {
      tree_.settle(context, P == protocol::latch_coupling);
      if (inserts != 0) {
        tree_.refresh_pools(context);
        tree_.leaf_nodes.ensure(context, tree_.most_new_leaves(inserts), !tree_.has_live_refs);
        tree_.install_pools();  // nodes may have moved, and the following steps may fail
        tree_.inner_nodes.ensure(context, tree_.most_new_inners(inserts), !tree_.has_live_refs);
      }
      tree_.install_pools();
      tree_.sync_if_gpu(context);
      tree_.has_live_refs = true;
      tree_.pools_in_use();
      tree_.count_unknown();
      tree_.lists_end();
      tree_.ranks_are_known = false;
      if (to != nullptr) *static_cast<view_type*>(to) = tree_.view;
    });
  }

  // ---- writes --------------------------------------------------------------------------------------------
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
             const write_options& options, const execution& ex) override {
    if (n == 0) return;
    // The path is chosen when the call is executed: a ref may be created between the call and its execution.
    run(ex, [=, this, order = ex.order] {
      if (writes_small(op, n, options) && write_small(order, op, keys, values, n, done)) return;
      if (plan_write(question(op, n), wish_for(options)).chosen == write_path::bulk) {
        bool done_in_bulk = false;
        alone_now(order, [&](Context& context) {
          if (wish_for(options).path == write_path::per_key) return;
          write_bulk(context, op, keys, values, n, done);
          done_in_bulk = true;
        });
        if (done_in_bulk) return;
      }
      write_elements(order, nullptr, as_blink_op(op), keys, values, n, nullptr, done, options);
    });
  }
  void apply(const std::uint8_t* ops, const void* keys, const void* values, std::size_t n, void* out_values,
             std::uint8_t* done, const write_options& options, const execution& ex) override {
    if (n == 0) return;
    run(ex, [=, this, order = ex.order] {
      write_elements(order, ops, blink_op::find, keys, values, n, out_values, done, options);
    });
  }
  void maintain(const stream& order) override {
    lock_exclusive({order, true}, [&](Context& context) {
      tree_.has_live_refs = false;
      tree_.rebuild_inner(context, true);
    });
  }
  [[nodiscard]] bool needs_rebuild() const override {
    const auto lock = gate_.lock_shared();
    return tree_.needs_rebuild() || tree_.looks_now();
  }
  void clear(const stream& order) override {
    lock_exclusive({order, true}, [&](Context& context) {
      tree_.make_tree(context, nullptr, nullptr, 0);
      tree_.has_live_refs = false;
      tree_.count_is(0);
    });
  }

  // ---- reads ---------------------------------------------------------------------------------------------
  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const query_options& options,
            const execution& ex) const override {
    if (n == 0) return;
    read(ex, n, [=, this](Context& context) {
      const input in(context, keys, n * key_bytes());
      output out(context, tree_.elements.value_bytes == 0 ? nullptr : values, n * tree_.elements.value_bytes);
      output mask(context, found, n);
      blink_find_job<view_type> job{tree_.view, in.data(), out.data(), static_cast<std::uint8_t*>(mask.data())};
      answer(context, job, in.data(), n, options);
      out.copy_back(context);
      mask.copy_back(context);
    });
  }
  [[nodiscard]] any_inner_levels_view upper(std::size_t& builds) const override {
    if (is_stale_for(0)) {
      auto* self = const_cast<blink_index_impl*>(this);
      self->alone_now(tree_.dev.default_stream(), [&](Context& context) { self->tree_.settle(context); });
    }
    const auto lock = gate_.lock_shared();
    builds = tree_.lane_builds;
    inner_levels_view<Word> image = inner_levels_view_of(tree_.lane);
    image.view.key = tree_.elements.key;  // a lane is built from words
    return image;
  }
  [[nodiscard]] bool find_from(std::size_t builds, const std::uint32_t* lines, const void* keys, std::size_t n,
                               void* values, std::uint8_t* found) const override {
    return from_lines(builds, [=, this](Context& context) {
      blink_find_job<view_type> job{tree_.view, keys, tree_.elements.value_bytes == 0 ? nullptr : values, found, lines};
      context.template launch_read<reads, traits>(job, n, tree_.reads_ask_inner_nodes());
    });
  }
  [[nodiscard]] bool rows_from(std::size_t builds, const std::uint32_t* lines, const void* lo, const void* hi,
                               std::size_t n, const range_options& options, void* out_keys, void* out_values,
                               std::uint64_t* counts) const override {
    return from_lines(builds, [=, this](Context& context) {
      ranges{tree_, context}.fill_rows(lo, hi, n, options, out_keys,
                                       tree_.elements.value_bytes == 0 ? nullptr : out_values, counts, lines);
    });
  }
  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
            const query_options& options, const execution& ex) const override {
    if (n == 0) return;
    read(ex, n, [=, this](Context& context) {
      const input in(context, keys, n * key_bytes());
      output k(context, out_keys, n * key_bytes());
      output v(context, tree_.elements.value_bytes == 0 ? nullptr : out_values, n * tree_.elements.value_bytes);
      output mask(context, found, n);
      blink_seek_job<view_type> job{tree_.view, kind,     in.data(),
                                    k.data(),   v.data(), static_cast<std::uint8_t*>(mask.data())};
      answer(context, job, in.data(), n, options);
      k.copy_back(context);
      v.copy_back(context);
      mask.copy_back(context);
    });
  }
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
             const execution& ex) const override {
    if (n == 0) return;
    read(
        ex, n,
        [=, this](Context& context) {
          const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
          output out(context, counts, n * 8);
          const auto job = ranges{tree_, context}.counting(low.data(), high.data(), options,
                                                           static_cast<std::uint64_t*>(out.data()));
          answer(context, job, low.data(), n, {});
          out.copy_back(context);
        },
        true);
  }
  [[nodiscard]] std::uint64_t estimate(const void* lo, const void* hi) const override {
    const execution now{tree_.dev.default_stream(), true};
    range_sample<Word> sample;
    if constexpr (!Context::on_gpu) {
      read(now, leaves_now(), [&](Context&) {
        const scalar_kind kind = tree_.elements.key;
        const auto word = [&](const void* key) { return encode_bits(kind, load_bits<Word>(kind, key, 0)); };
        sample = range_sample<Word>::of({tree_.listed.highs.data(), tree_.listed.highs.size()}, word(lo), word(hi));
      });
    }
    if (sample.lo.empty()) {
      std::uint64_t counted = 0;
      count(lo, hi, 1, {}, &counted, now);
      return counted;
    }
    const std::size_t n = sample.lo.size();
    std::vector<std::byte> keys(2 * n * key_bytes());
    for (std::size_t i = 0; i < n; ++i) {
      decode_key<Word>{tree_.elements.key, sample.lo.data(), keys.data()}(i);
      decode_key<Word>{tree_.elements.key, sample.hi.data(), keys.data() + n * key_bytes()}(i);
    }
    std::vector<std::uint64_t> counts(n);
    count(keys.data(), keys.data() + n * key_bytes(), n, {interval::closed, most_leaves_of_a_line * N}, counts.data(),
          now);
    return sample.total(counts);
  }
  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                    const execution& ex) const override {
    const execution shared{ex.order, ex.wait || !Context::on_gpu};
    range_buffers result;
    const auto once = [&](Context& context) {
      const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      result = ranges{tree_, context}.range_once(low.data(), high.data(), n, options);
    };
    // If a write took place between counting and copying, the read is repeated, finally with exclusive access.
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
      read(shared, n, once, true);
      if (result.total != ranges::changed) return result;
    }
    const_cast<blink_index_impl*>(this)->lock_exclusive(shared, once);
    if (result.total == ranges::changed)
      throw error("range: refs changed the range during three attempts; repeat the call when they are done.");
    return result;
  }
  void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
            void* out_values, std::uint64_t* counts, const execution& ex) const override {
    if (n == 0) return;
    read(
        ex, n,
        [=, this](Context& context) {
          const std::size_t places = n * options.limit;
          const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
          output k(context, out_keys, places * key_bytes());
          output v(context, tree_.elements.value_bytes == 0 ? nullptr : out_values,
                   places * tree_.elements.value_bytes);
          output written(context, counts, n * 8);
          ranges{tree_, context}.fill_rows(low.data(), high.data(), n, options, k.data(), v.data(),
                                           static_cast<std::uint64_t*>(written.data()));
          k.copy_back(context);
          v.copy_back(context);
          written.copy_back(context);
        },
        true);
  }
  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found, const execution& ex) const override {
    const scalar_kind kind = V == 0 ? tree_.elements.key : tree_.elements.value;
    if (kind == scalar_kind::opaque) throw error("aggregate: the values of this tree are not numbers.");
    if (n == 0) return;
    // Counted only if there might be too many.
    if (!is_bound(op) && !is_float(kind) && bytes_of(kind) < 8 && leaves_now() * N >> 32 != 0)
      require_sums_fit(size(ex.order));
    read(ex, n, [=, this](Context& context) {
      const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      output results(context, out, n * result_bytes(op, kind));
      output mask(context, found, n);
      blink_aggregate_job<view_type> job;
      job.tree = tree_.view;
      job.lo = low.data();
      job.hi = high.data();
      job.ends = ends;
      job.op = op;
      job.out = results.data();
      job.found = static_cast<std::uint8_t*>(mask.data());
      answer(context, job, low.data(), n, {});
      results.copy_back(context);
      mask.copy_back(context);
    });
  }
  void visit(visit_concurrency others, const std::function<void(const leaf_table&)>& work,
             const stream& order) const override {
    auto* self = const_cast<blink_index_impl*>(this);
    const execution ex{order, !Context::on_gpu};
    const auto with = [&](const leaf_list& list) {
      work({&tree_.view, list.highs.data(), list.ids.size() == 0 ? nullptr : list.ids.data(), list.highs.size()});
    };
    // A GPU needs the number of each leaf; CPU threads find their parts by inner nodes.
    bool alone_at_it = others == visit_concurrency::none;
    if (!alone_at_it) {
      read(ex, leaves_now(), [&](Context&) {
        alone_at_it = Context::on_gpu && tree_.listed.highs.size() == 0;
        if (!alone_at_it) with(tree_.listed);
      });
    }
    if (!alone_at_it) return;
    self->lock_exclusive(ex, [&](Context& context) {
      self->tree_.settle(context);
      if (Context::on_gpu && tree_.listed.highs.size() == 0) {
        with(self->tree_.list_leaves(context));
      } else {
        with(tree_.listed);
      }
    });
  }
  [[nodiscard]] range_buffers all(const stream& order) const override {
    range_buffers result;
    auto* self = const_cast<blink_index_impl*>(this);
    self->lock_exclusive({order, true}, [&](Context& context) {
      const auto sorted = self->tree_.elements_of(context, self->tree_.list_leaves(context));
      result.total = sorted.words.size();
      result.keys = raw_buffer(tree_.dev, result.total * key_bytes(), order);
      result.values = raw_buffer(tree_.dev, result.total * tree_.elements.value_bytes, order);
      context.for_each(result.total, decode_key<Word>{tree_.elements.key, sorted.words.data(), result.keys.data()});
      if constexpr (V != 0) {
        context.for_each(result.total, narrow_value<value>{sorted.values.data(), tree_.elements.value_bytes,
                                                           static_cast<unsigned char*>(result.values.data())});
      }
      tree_.sync_if_gpu(context);
    });
    return result;
  }

 private:
  [[nodiscard]] unsigned key_bytes() const { return tree_.key_bytes(); }
  /// Called under the gate's shared lock, which leaves_now() would take again.
  [[nodiscard]] read_question reading(std::size_t n) const {
    return {n,
            (tree_.leaves_at_rebuild + tree_.leaves_since_rebuild) * shape_type::bytes,
            sizeof(Word),
            tree_.dev.threads(),
            Context::on_gpu,
            U == inner_index::express_lane && tree_.view.lane.size != 0 &&
                tree_.view.lane.groups >= (Context::on_gpu ? 1 : 2) && !tree_.reads_ask_inner_nodes()};
  }
  /// Answers a batch in the order of its plan. `keys` are those of the queries, or the lower ends of their ranges.
  template <class Job>
  void answer(Context& context, const Job& job, const void* keys, std::size_t n, const query_options& options) const {
    if (!answer_in_buckets(context, job, keys, n, options))
      context.template launch_read<reads, traits>(job, n, tree_.reads_ask_inner_nodes());
  }
  /// Returns false if the batch is to be answered in the caller's order. If memory runs out and the caller did not
  /// request the plan, that order needs none. On a GPU only finds are answered in buckets.
  template <class Job>
  [[nodiscard]] bool answer_in_buckets([[maybe_unused]] Context& context, [[maybe_unused]] const Job& job,
                                       [[maybe_unused]] const void* keys, [[maybe_unused]] std::size_t n,
                                       [[maybe_unused]] const query_options& options) const {
    constexpr bool is_find = std::is_same_v<Job, blink_find_job<view_type>>;
    if constexpr (U != inner_index::express_lane || (Context::on_gpu && !is_find)) {
      return false;
    } else {
      const read_question q = reading(n);
      if (!partitions_reads(q, options)) return false;
      bool done = false;
      const auto work = [&] { done = context.template launch_in_buckets<reads, traits>(job, q.leaf_bytes, n); };
      if (options.plan == query_plan::partition_first) {
        work();
        return done;
      }
      if constexpr (!Context::on_gpu) {  // a GPU examines the order of the batch itself
        if (context.sample_of(tree_.view, keys, n) != batch_sample::spread) return false;
      }
      return with_memory(work) && done;
    }
  }
  static blink_op as_blink_op(write_op op) { return static_cast<blink_op>(static_cast<unsigned>(op) + 1); }
  [[nodiscard]] write_question question(write_op op, std::size_t n) const {
    const std::size_t leaves = leaves_now();
    return {op,
            n,
            leaves,
            leaves * N,
            shape_type::bytes,
            tree_.dev.threads(),
            Context::on_gpu,
            P == protocol::single_writer};
  }
  /// While a ref is in use, nothing is moved unless requested.
  [[nodiscard]] write_options wish_for(write_options options) const {
    if (tree_.has_live_refs && options.path == write_path::automatic) options.path = write_path::per_key;
    return options;
  }

  // ---- writing element by element, or key by key ---------------------------------------------------------
  void write_elements(const stream& order, const std::uint8_t* ops, blink_op op, const void* keys, const void* values,
                      std::size_t n, void* out_values, std::uint8_t* done, const write_options& options) {
    Context context(tree_.dev, order);
    const input in_ops(context, ops, n), in_keys(context, keys, n * key_bytes());
    const input in_values(context, V == 0 ? nullptr : values, n * tree_.elements.value_bytes);
    output out(context, V == 0 ? nullptr : out_values, n * tree_.elements.value_bytes), mask(context, done, n);
    if (mask.data() != nullptr) context.zero(mask.data(), n);
    // Only finds write results: the caller's other elements are copied in and out.
    if (out.data() != nullptr && out.data() != out_values)
      context.copy(out.data(), out_values, n * tree_.elements.value_bytes);
    blink_write_job<view_type> job;
    job.ops = static_cast<const std::uint8_t*>(in_ops.data());
    job.op = op;
    job.keys = in_keys.data();
    job.values = in_values.data();
    job.out_values = out.data();
    job.done = static_cast<std::uint8_t*>(mask.data());
    if (job.ops != nullptr) require_known(context, job, n);
    const bool ordered = options.semantics == batch_semantics::ordered;
    // On a GPU the gate is held from before the first kernel until the last one, because reads of other streams do not
    // check for writes.
    const auto lock = Context::on_gpu ? gate_.lock_exclusive() : decltype(gate_.lock_exclusive()){};
    const auto turn = gate_.begin(order, true);
    tree_.set_stream(order);
    const auto deliver = [&] {
      out.copy_back(context);
      mask.copy_back(context);
      tree_.sync_if_gpu(context);
    };
    writer keys_one_by_one{tree_, gate_, context, Context::on_gpu, options.path == write_path::automatic};
    try {
      if (keys_one_by_one.merge_again(job, n)) return deliver();
      settle_first(context);
      const bool combine =
          plan_mixed(n, ops != nullptr, options, Context::on_gpu, tree_.has_live_refs).chosen == write_path::bulk;
      if (combine && combine_alone(context, job, n)) return deliver();
      const bool counts = job.done == nullptr && change_of_count::may(job.ops, job.op);
      const buffer<std::uint8_t> own_mask(tree_.dev, counts ? n : 0, order);
      if (counts) {
        context.zero(own_mask.data(), n);
        job.done = own_mask.data();
      }
      if (ordered) {
        keys_one_by_one.write_in_order(job, n);
      } else {
        keys_one_by_one.write_concurrently(job, n);
      }
    } catch (...) {
      tree_.count_unknown();
      deliver();  // `done` marks what was changed
      throw;
    }
    deliver();
  }
  /// Builds pending inner levels first, because single keys descend through them.
  void settle_first(Context& context) {
    constexpr bool required = P == protocol::latch_coupling;
    if constexpr (Context::on_gpu) {
      tree_.settle(context, required);  // the caller has exclusive access
    } else if (is_stale_for(0)) {
      const auto lock = gate_.lock_exclusive();
      tree_.settle(context, required);
    }
  }
  /// Checks operation codes, which come from the caller's memory: an invalid one would be executed as another.
  void require_known(Context& context, const blink_write_job<view_type>& job, std::size_t n) const {
    const buffer<std::uint32_t> problems(tree_.dev, 1, context.order());
    context.zero(problems.data(), 4);
    context.for_each(n, check_op{job.ops, V == 0 || job.values != nullptr, problems.data()});
    const std::uint32_t found = context.read(problems.data());
    if ((found & check_op::unknown) != 0)
      throw error("apply: ops has a value that is not a blink_op; nothing was changed.");
    if ((found & check_op::needs_values) != 0)
      throw error("apply: ops has inserts, assignments or updates, which need values; nothing was changed.");
  }

  /// Returns false, with nothing changed, if the batch has to be executed element by element.
  bool combine_alone(Context& context, const blink_write_job<view_type>& job, std::size_t n) {
    const auto lock = Context::on_gpu ? decltype(gate_.lock_exclusive()){} : gate_.lock_exclusive();
    return !tree_.has_live_refs && combiner{tree_, gate_, context}.combine(job, n);
  }

  // ---- writing in one kernel -------------------------------------------------------------------------------
  [[nodiscard]] bool writes_small(write_op op, std::size_t n, const write_options& options) const {
    if (!small_writer::is_small(n, options)) return false;
    const auto lock = gate_.lock_shared();
    return small_writer::is_worth(tree_, op, n);
  }
  /// Returns false, with nothing changed, if the batch has to be written in another way.
  [[nodiscard]] bool write_small([[maybe_unused]] const stream& order, [[maybe_unused]] write_op op,
                                 [[maybe_unused]] const void* keys, [[maybe_unused]] const void* values,
                                 [[maybe_unused]] std::size_t n, [[maybe_unused]] std::uint8_t* done) {
    if constexpr (!small_writer::is_compiled) {
      return false;
    } else {
      Context context(tree_.dev, order);
      const input in_keys(context, keys, n * key_bytes());
      const input in_values(context, V == 0 || op == write_op::erase ? nullptr : values,
                            n * tree_.elements.value_bytes);
      output mask(context, done, n);
      const auto lock = gate_.lock_exclusive();
      small_writer small{tree_, context};
      {
        // The mark of this turn is enqueued before the wait, so that the caller's wait finds nothing left to do.
        const auto turn = gate_.begin(order, true);
        tree_.set_stream(order);
        if (!small.enqueue(op, in_keys.data(), in_values.data(), n, static_cast<std::uint8_t*>(mask.data())))
          return false;
      }
      if (!small.finish(op, n)) return false;
      mask.copy_back(context);
      if (small.needs_rebuild()) {
        const auto turn = gate_.begin(order, true);
        tree_.rebuild_inner_if_memory_allows(context);
      }
      return true;
    }
  }

  // ---- writing in bulk -----------------------------------------------------------------------------------
  void write_bulk(Context& context, write_op op, const void* keys, const void* values, std::size_t n,
                  std::uint8_t* done) {
    if (n > bulk_batch<view_type>::most)
      throw error("blink_tree: a bulk write has at most 2^32 - 2^16 elements; split it.");
    const input in_keys(context, keys, n * key_bytes());
    const input in_values(context, V == 0 || op == write_op::erase ? nullptr : values, n * tree_.elements.value_bytes);
    merger merging{tree_, context, true};
    // A CPU thread writes to the caller's memory; a GPU may not be able to.
    if (!Context::on_gpu && merging.append(op, in_keys.data(), in_values.data(), n, done)) return;
    // Holds the results until everything is done.
    const buffer<std::uint8_t> mask(tree_.dev, done == nullptr ? 0 : n, context.order());
    std::uint8_t* const answers = done == nullptr ? nullptr : mask.data();
    const bool appended =
        Context::on_gpu && tree_.appends && merging.append(op, in_keys.data(), in_values.data(), n, answers);
    // Updates move nothing: only the affected leaves are read.
    if (!appended &&
        (op != write_op::update || !update_in_place(context, in_keys.data(), in_values.data(), n, answers)))
      merging.merge(op, in_keys.data(), in_values.data(), nullptr, n, answers);
    if (done != nullptr) context.copy(done, mask.data(), n);
    tree_.sync_if_gpu(context);
  }

  bool update_in_place(Context& context, const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
    if (tree_.has_live_refs) return false;
    blink_write_job<view_type> job;
    job.op = blink_op::update;
    job.keys = keys;
    job.values = values;
    job.done = done;
    return combiner{tree_, gate_, context}.combine(job, n);
  }

  // ---- whole-tree operations -------------------------------------------------------------------------------
  template <class T>
  [[nodiscard]] std::vector<T> host_copy(Context& context, const buffer<T>& b) const {
    std::vector<T> host(b.size());
    if (!host.empty()) context.copy(host.data(), b.data(), b.bytes());
    tree_.sync_if_gpu(context);
    return host;
  }
};

}  // namespace espalier::detail
