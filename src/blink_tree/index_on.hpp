// index_on.hpp - the B-link tree on one kind of device: every operation of blink_index, written once over a Context.
//
// Who may run beside whom (`gate_` on a CPU; on a GPU the order of streams, which `after_others` makes):
//   reads and per-key writes   beside each other (CPU); reads beside reads (GPU)
//   everything else            alone
// Strong guarantee: whatever can fail for lack of memory is done before the tree is touched, or builds new parts and swaps
// them in.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "blink_tree/bulk.hpp"
#include "blink_tree/parts.hpp"
#include "blink_tree/plan.hpp"
#include "blink_tree/pool.hpp"
#include "blink_tree/validate.hpp"
#include "device/staging.hpp"
#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/jobs.hpp"
#include "static_tree/build.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned V, unsigned N, protocol P, upper U>
class blink_index_on final : public blink_index {
  using view_type = blink_view<Word, V, N>;
  using shape_type = typename view_type::leaf_shape;
  using inner_shape = typename view_type::inner_shape;
  using value = typename shape_type::value;
  using reads = typename Context::template reads<P>;
  using how = writing<P, U>;
  using write_reads = typename how::reads;
  using lane_storage = tree_storage<Word, lines_elsewhere>;
  using input = staged_input<Context>;
  using output = staged_output<Context>;

 public:
  blink_index_on(const device& where, element_type elements, const blink_options& options, const void* keys,
                 const void* values, std::size_t n, const stream& order)
      : where_(where), elements_(elements), options_(options) {
    if (!(options.fill >= 0.25 && options.fill <= 1))
      throw error("blink_tree: fill is the used share of a leaf, from 0.25 to 1.");
    view_.key = elements.key;
    view_.value = elements.value;
    view_.value_bytes = elements.value_bytes;
    now({order, true}, [&](Context& context) {
      auto sorted = sort_pairs(context, keys, values, n);
      make_tree(context, sorted.words.data(), sorted.values.data(), sorted.words.size());
    });
  }

  // ---- about the index -----------------------------------------------------------------------------------
  [[nodiscard]] const device& where() const override { return where_; }
  [[nodiscard]] element_type elements() const override { return elements_; }
  [[nodiscard]] blink_shape shape() const override { return {P, U, N}; }

  [[nodiscard]] blink_stats stats() const override {
    blink_stats s;
    auto* self = const_cast<blink_index_on*>(this);
    self->alone({where_.default_stream(), true}, [&](Context& context) {
      const leaf_list list = self->list_leaves(context);
      self->inners_.refresh(context);
      s.leaves = list.highs.size();
      s.size = self->count_elements(context, list);
      s.free_nodes = leaves_.reusable() + (leaves_.capacity() - leaves_.high_water());
      s.dead_nodes = leaves_.high_water() - s.leaves - leaves_.reusable();
      s.inner_nodes = inners_.high_water();
      s.height = 2 + (context.read_word(view_.inner(view_type::root).info()) >> 16 & 0xffu) - 1;
    });
    s.node_bytes = shape_type::bytes;
    s.fill = static_cast<double>(s.size) / static_cast<double>(s.leaves * N);
    s.lane_leaves = view_.lane.size;
    s.lane_bytes = lane_bytes();
    s.lane_builds = lane_builds_;
    s.bytes = leaves_.bytes() + inners_.bytes() + s.lane_bytes;
    return s;
  }
  [[nodiscard]] validation validate() const override { return copy_nodes().validate(); }
  [[nodiscard]] std::string dump(bool graphviz) const override {
    return graphviz ? copy_nodes().graphviz() : copy_nodes().json();
  }
  [[nodiscard]] write_explanation explain(write_op op, std::size_t n, const write_options& options) const override {
    return plan_write(question(op, n), options);
  }
  [[nodiscard]] const void* view(std::size_t inserts) override {
    alone({where_.default_stream(), true}, [&](Context& context) {
      if (inserts != 0) {
        leaves_.ensure(context, most_new_leaves(inserts), !lent_);
        inners_.ensure(context, most_new_inners(inserts), !lent_);
      }
      adopt_pools();
      order_now(context);
      lent_ = true;
      list_is_whole_ = false;
      ranks_are_known_ = false;
    });
    return &view_;
  }

  // ---- writes --------------------------------------------------------------------------------------------
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
             const write_options& options, const execution& ex) override {
    if (n == 0) return;
    write_options wish = options;
    if (lent_ && wish.path == write_path::automatic) wish.path = write_path::per_key;
    if (plan_write(question(op, n), wish).chosen == write_path::bulk) {
      run(ex, [=, this, order = ex.order] {
        alone_now(order, [&](Context& context) { write_bulk(context, op, keys, values, n, done); });
      });
    } else {
      const bool ordered = options.semantics == batch_semantics::ordered;
      run(ex, [=, this, order = ex.order] { write_per_key(order, nullptr, as_blink_op(op), keys, values, n, nullptr, done, ordered); });
    }
  }
  void apply(const std::uint8_t* ops, const void* keys, const void* values, std::size_t n, void* out_values,
             std::uint8_t* done, const write_options& options, const execution& ex) override {
    if (n == 0) return;
    const bool ordered = options.semantics == batch_semantics::ordered;
    run(ex, [=, this, order = ex.order] {
      write_per_key(order, ops, blink_op::find, keys, values, n, out_values, done, ordered);
    });
  }
  void maintain(const stream& order) override {
    alone({order, true}, [&](Context& context) {
      lent_ = false;
      tidy(context, true);
    });
  }
  void clear(const stream& order) override {
    alone({order, true}, [&](Context& context) {
      make_tree(context, nullptr, nullptr, 0);
      lent_ = false;
    });
  }

  // ---- reads ---------------------------------------------------------------------------------------------
  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const execution& ex) const override {
    if (n == 0) return;
    read(ex, n, [=, this](Context& context) {
      const input in(context, keys, n * key_bytes());
      output out(context, elements_.value_bytes == 0 ? nullptr : values, n * elements_.value_bytes);
      output mask(context, found, n);
      blink_find_job<view_type> job{view_, in.data(), out.data(), static_cast<std::uint8_t*>(mask.data())};
      context.template launch_read<reads, how>(job, n);
      out.deliver(context);
      mask.deliver(context);
    });
  }
  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
            const execution& ex) const override {
    if (n == 0) return;
    read(ex, n, [=, this](Context& context) {
      const input in(context, keys, n * key_bytes());
      output k(context, out_keys, n * key_bytes());
      output v(context, elements_.value_bytes == 0 ? nullptr : out_values, n * elements_.value_bytes);
      output mask(context, found, n);
      blink_seek_job<view_type> job{view_, kind, in.data(), k.data(), v.data(), static_cast<std::uint8_t*>(mask.data())};
      context.template launch_read<reads, how>(job, n);
      k.deliver(context);
      v.deliver(context);
      mask.deliver(context);
    });
  }
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
             const execution& ex) const override {
    if (n == 0) return;
    read(ex, n, [=, this](Context& context) {
      const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      output out(context, counts, n * 8);
      count_ranges(context, low.data(), high.data(), n, options, static_cast<std::uint64_t*>(out.data()));
      out.deliver(context);
    }, true);
  }
  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                    const stream& order) const override {
    range_buffers result;
    const auto once = [&](Context& context) {
      const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      result = range_once(context, low.data(), high.data(), n, options);
    };
    // A writer came between counting and copying: again, and in the end without it.
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
      read({order, true}, n, once, true);
      if (result.total != changed_) return result;
    }
    const_cast<blink_index_on*>(this)->alone({order, true}, once);
    if (result.total == changed_)
      throw error("range: refs wrote to the tree all the while; ask when they are done.");
    return result;
  }
  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found, const execution& ex) const override {
    const scalar_kind kind = V == 0 ? elements_.key : elements_.value;
    if (kind == scalar_kind::opaque) throw error("aggregate: the values of this tree are not numbers.");
    if (n == 0) return;
    const bool bounds = op == aggregate_op::min || op == aggregate_op::max;
    const bool floats = kind == scalar_kind::f32 || kind == scalar_kind::f64;
    const unsigned sum_bytes = floats || bytes_of(kind) < 8 ? 8 : 16;
    const unsigned out_bytes = bounds ? bytes_of(kind) : op == aggregate_op::sum ? sum_bytes : 8;
    read(ex, n, [=, this](Context& context) {
      const input low(context, lo, n * key_bytes()), high(context, hi, n * key_bytes());
      output results(context, out, n * out_bytes);
      output mask(context, found, n);
      blink_aggregate_job<view_type> job;
      job.tree = view_;
      job.lo = low.data();
      job.hi = high.data();
      job.ends = ends;
      job.op = static_cast<aggregate_kind>(op);
      job.out = results.data();
      job.found = static_cast<std::uint8_t*>(mask.data());
      context.template launch_read<reads, how>(job, n);
      results.deliver(context);
      mask.deliver(context);
    });
  }
  [[nodiscard]] range_buffers all(const stream& order) const override {
    range_buffers result;
    auto* self = const_cast<blink_index_on*>(this);
    self->alone({order, true}, [&](Context& context) {
      const pairs sorted = self->elements_of(context, self->list_leaves(context));
      result.total = sorted.words.size();
      result.keys = raw_buffer(where_, result.total * key_bytes(), order);
      result.values = raw_buffer(where_, result.total * elements_.value_bytes, order);
      context.for_each(result.total, decode_key<Word>{elements_.key, sorted.words.data(), result.keys.data()});
      if constexpr (V != 0) {
        context.for_each(result.total, narrow_value<value>{sorted.values.data(), elements_.value_bytes,
                                                           static_cast<unsigned char*>(result.values.data())});
      }
      order_now(context);
    });
    return result;
  }

 private:
  static constexpr std::uint64_t changed_ = ~std::uint64_t{0};  // as a total: count again

  struct pairs {
    buffer<Word> words;
    buffer<value> values;
  };
  struct leaf_list {
    buffer<Word> highs;
    buffer<node_id> ids;  ///< empty: numbered in key order
  };

  [[nodiscard]] unsigned key_bytes() const { return bytes_of(elements_.key); }
  static blink_op as_blink_op(write_op op) { return static_cast<blink_op>(static_cast<unsigned>(op) + 1); }
  [[nodiscard]] std::size_t lane_bytes() const {
    return lane_.headers.bytes() + lane_.cells.bytes() + lane_.subtables.bytes() + list_.highs.bytes() +
           list_.ids.bytes() + ranks_.bytes();
  }
  [[nodiscard]] write_question question(write_op op, std::size_t n) const {
    return {op, n, leaves_now() * N, shape_type::bytes, where_.threads(), Context::on_gpu,
            P == protocol::none};
  }
  [[nodiscard]] std::size_t leaves_now() const {
    const std::shared_lock lock(gate_);
    return known_leaves_ + stale_;
  }
  /// Leaves that n inserts can make, all at once at worst; more is asked for when they are refused.
  [[nodiscard]] static std::uint64_t likely_new_leaves(std::uint64_t n) { return n / (N / 2) + 64; }
  /// At worst every insert splits a leaf that was full, and from then on it takes half a leaf of them.
  [[nodiscard]] std::uint64_t most_new_leaves(std::uint64_t n) const {
    return std::min<std::uint64_t>(n, known_leaves_ + stale_ + 1) + n / (N / 2) + 2;
  }
  [[nodiscard]] static std::uint64_t most_new_inners(std::uint64_t n) { return n / (N / 4) + 64; }

  // ---- who runs beside whom ------------------------------------------------------------------------------
  template <class Work>
  void run(const execution& ex, const Work& work) const {
    if constexpr (Context::on_gpu) {
      work();
      if (ex.wait) ex.order.synchronize();
    } else if (ex.wait) {
      where_.run_now(ex.order, work);
    } else {
      where_.enqueue(ex.order, work);
    }
  }
  /// Work that has the tree to itself.
  template <class Work>
  void alone(const execution& ex, const Work& work) {
    run(ex, [&, this, order = ex.order] { alone_now(order, work); });
  }
  template <class Work>
  void alone_now(const stream& order, const Work& work) {
    const std::unique_lock lock(gate_);
    after_others(order, true);
    Context context(where_, order);
    work(context);
  }
  template <class Work>
  void now(const execution& ex, const Work& work) {
    run(ex, [&, this, order = ex.order] {
      Context context(where_, order);
      work(context);
    });
  }
  /// Reads of n queries. If that pays, the upper levels are made anew first. `by_ranks`: it asks for differences of ranks.
  template <class Work>
  void read(const execution& ex, std::size_t n, Work work, bool by_ranks = false) const {
    auto* self = const_cast<blink_index_on*>(this);
    run(ex, [self, n, work, by_ranks, order = ex.order] {
      if (self->is_stale_for(n))
        self->alone_now(order, [&](Context& context) { self->tidy_if_there_is_memory(context); });
      if (Context::on_gpu && U == upper::express && by_ranks && !self->ranks_are_known_ && !self->lent_)
        self->alone_now(order, [&](Context& context) { self->know_ranks(context); });
      const std::shared_lock lock(self->gate_);
      self->after_others(order, false);
      Context context(self->where_, order);
      work(context);
    });
  }
  /// On a GPU: waits for streams whose work must not overlap this.
  void after_others(const stream& order, bool writes) {
    if constexpr (Context::on_gpu) {
      const std::lock_guard lock(streams_mutex_);
      for (const auto& [other, wrote] : streams_) {
        if (other.state() != order.state() && (writes || wrote)) other.synchronize();
      }
      if (writes) streams_.clear();
      streams_.emplace_back(order, writes);
      if (streams_.size() > 64) streams_.erase(streams_.begin(), streams_.begin() + 32);
    }
  }
  static void order_now(Context& context) {
    if constexpr (Context::on_gpu) context.order().synchronize();
  }

  // ---- elements in and out -------------------------------------------------------------------------------
  [[nodiscard]] buffer<Word> load_words(Context& context, const void* keys, std::size_t n) const {
    const input in(context, keys, n * key_bytes());
    buffer<Word> words(where_, n, context.order());
    context.for_each(n, encode_key<Word>{elements_.key, in.data(), words.data()});
    return words;
  }
  [[nodiscard]] buffer<value> load_values(Context& context, const void* values, std::size_t n) const {
    if constexpr (V == 0) {
      return {};
    } else {
      const input in(context, values, n * elements_.value_bytes);
      buffer<value> slots(where_, n, context.order());
      if (elements_.value_bytes == V) {
        context.copy(slots.data(), in.data(), n * V);
      } else {
        context.for_each(n, widen_value<V>{static_cast<const unsigned char*>(in.data()), elements_.value_bytes, slots.data()});
      }
      return slots;
    }
  }
  /// The caller's pairs in key order, each key once: the last of equal ones.
  [[nodiscard]] pairs sort_pairs(Context& context, const void* keys, const void* values, std::size_t n) const {
    if (n == 0) return {};
    pairs sorted;
    {
      const buffer<Word> words = load_words(context, keys, n);
      const buffer<value> slots = load_values(context, values, n);
      sorted.words = buffer<Word>(where_, n, context.order());
      sorted.values = buffer<value>(where_, V == 0 ? 0 : n, context.order());
      context.sort_from(words.data(), sorted.words, slots.data(), sorted.values, n);
    }
    buffer<std::uint64_t> ranks(where_, n + 1, context.order());
    context.zero(ranks.data() + n, 8);
    context.for_each(n, mark_last_of_run<Word>{sorted.words.data(), n, ranks.data()});
    context.exclusive_scan(ranks.data(), ranks.data(), n + 1);
    const std::uint64_t distinct = context.read(ranks.data() + n);
    if (distinct == n) return sorted;
    pairs kept{buffer<Word>(where_, distinct, context.order()),
               buffer<value>(where_, V == 0 ? 0 : distinct, context.order())};
    context.for_each(n, keep_marked<Word, value>{sorted.words.data(), V == 0 ? nullptr : sorted.values.data(),
                                                 ranks.data(), kept.words.data(), kept.values.data()});
    return kept;
  }

  // ---- making a tree -------------------------------------------------------------------------------------
  /// Replaces whatever there is by a tree of n sorted elements.
  void make_tree(Context& context, const Word* words, const value* values, std::size_t n) {
    const auto per_leaf = static_cast<std::uint32_t>(std::clamp(options_.fill * N + 0.5, 1.0, double{N}));
    const std::uint64_t count = std::max<std::uint64_t>(1, (n + per_leaf - 1) / per_leaf);
    node_pool leaves(context, shape_type::bytes, std::max<std::uint64_t>(count + count / 16, 64),
                     static_cast<std::uint32_t>(count));
    view_type t = view_;
    t.leaves = leaves.view();
    leaf_list list;
    list.highs = buffer<Word>(where_, count, context.order());
    context.for_each(count * N, write_leaf_slot<view_type>{t, words, values, n, static_cast<std::uint32_t>(count),
                                                           per_leaf, list.highs.data()});
    upper_levels made = make_upper(context, t, std::move(list));
    leaves_ = std::move(leaves);
    adopt(std::move(made), count);
    order_now(context);  // callers' buffers may go now
  }

  /// All that lies above the leaves.
  struct upper_levels {
    leaf_list list;
    lane_storage lane;
    node_pool inners;
    unsigned height = 2;
  };
  [[nodiscard]] upper_levels make_upper(Context& context, view_type t, leaf_list&& list) {
    upper_levels made;
    made.list = std::move(list);
    const std::uint64_t count = made.list.highs.size();
    if (U == upper::express && count >= least_lane_leaves) {
      build_options none;
      made.lane = builder<Context, Word, lines_elsewhere>(context, elements_, none).over(made.list.highs.data(), count);
      make_inner(context, t, made, 1);
    } else {
      make_inner(context, t, made, count);
    }
    return made;
  }
  /// Inner nodes over the first `count` leaves in key order; those to the right of the last one are reached by links.
  void make_inner(Context& context, view_type t, upper_levels& made, std::uint64_t count) {
    constexpr std::uint32_t per_node = N * 3 / 4;
    std::vector<std::uint64_t> sizes;
    std::uint64_t total = 0;
    for (std::uint64_t n = count; n != 1 || sizes.empty(); total += n) sizes.push_back(n = (n + per_node - 1) / per_node);
    made.inners = node_pool(context, inner_shape::bytes, std::max<std::uint64_t>(total + total / 16, 64),
                            static_cast<std::uint32_t>(total));
    t.inners = made.inners.view();
    made.height = static_cast<unsigned>(sizes.size()) + 1;
    buffer<Word> lows(where_, count, context.order());
    context.for_each(count, low_from_highs<Word>{made.list.highs.data(), lows.data()});
    std::uint64_t below = count;
    node_id first = static_cast<node_id>(total), first_below = 0;
    for (std::uint32_t level = 1; level <= sizes.size(); ++level) {
      const std::uint64_t nodes = sizes[level - 1];
      first -= static_cast<node_id>(nodes);  // the root is number 0
      buffer<Word> node_lows(where_, nodes, context.order());
      const node_id* ids = level == 1 && made.list.ids.size() != 0 ? made.list.ids.data() : nullptr;
      context.for_each(nodes, write_inner_node<view_type>{t, lows.data(), ids, first_below, below, per_node, level, first,
                                                          static_cast<std::uint32_t>(nodes), node_lows.data()});
      lows = std::move(node_lows);
      below = nodes;
      first_below = first;
    }
  }
  void adopt(upper_levels&& made, std::uint64_t leaves) {
    list_ = std::move(made.list);
    lane_ = std::move(made.lane);
    inners_ = std::move(made.inners);
    if (lane_.view.size == 0) {  // nobody needs it
      list_ = {};
    } else {
      ++lane_builds_;
    }
    known_leaves_ = leaves;
    erased_ = 0;
    stale_ = 0;
    list_is_whole_ = list_.highs.size() != 0;
    ranks_are_known_ = false;
    adopt_pools();
    view_.lane = lane_.view;
    view_.lane_leaves = list_.ids.size() == 0 ? nullptr : list_.ids.data();
  }
  void adopt_pools() {
    view_.leaves = leaves_.view();
    view_.inners = inners_.view();
  }

  // ---- keeping it tidy -----------------------------------------------------------------------------------
  /// Live leaves in key order.
  [[nodiscard]] leaf_list list_leaves(Context& context) {
    leaves_.refresh(context);
    const std::uint32_t nodes = leaves_.high_water();
    buffer<std::uint64_t> ranks(where_, nodes + 1, context.order());
    const std::uint64_t live = mark(context, ranks, nodes, false);
    buffer<Word> highs(where_, live, context.order());
    buffer<node_id> ids(where_, live, context.order());
    context.for_each(nodes, list_leaf<view_type>{view_, ranks.data(), highs.data(), ids.data()});
    leaf_list sorted{buffer<Word>(where_, live, context.order()), buffer<node_id>(where_, live, context.order())};
    context.sort_from(highs.data(), sorted.highs, ids.data(), sorted.ids, live);
    return sorted;
  }
  /// ranks[i] = how many of the first i nodes are dead (or alive); the total is returned.
  [[nodiscard]] std::uint64_t mark(Context& context, buffer<std::uint64_t>& ranks, std::uint32_t nodes, bool dead) {
    context.zero(ranks.data() + nodes, 8);
    context.for_each(nodes, mark_leaf<view_type>{view_, dead, ranks.data()});
    context.exclusive_scan(ranks.data(), ranks.data(), nodes + 1);
    return context.read(ranks.data() + nodes);
  }
  /// Makes the upper levels anew, after which no node names a dead leaf, and gives those out again. If leaves have become
  /// too empty, they are made anew as well.
  void tidy(Context& context, bool thorough) {
    leaf_list list = list_leaves(context);
    const std::uint64_t live = list.highs.size();
    if (thorough || erased_ != 0) {
      const std::uint64_t size = count_elements(context, list);
      if (live > 8 && size < live * N * 2 / 5) {
        const auto sorted = elements_of(context, list);
        make_tree(context, sorted.words.data(), sorted.values.data(), sorted.words.size());
        return;
      }
    }
    upper_levels made = make_upper(context, view_, std::move(list));
    const std::uint32_t nodes = leaves_.high_water();
    buffer<std::uint64_t> ranks(where_, nodes + 1, context.order());
    const std::uint64_t dead = mark(context, ranks, nodes, true);
    buffer<node_id> ids(where_, dead, context.order());
    context.for_each(nodes, list_leaf<view_type>{view_, ranks.data(), nullptr, ids.data()});
    leaves_.gather(context);
    leaves_.recycle(context, std::move(ids), static_cast<std::uint32_t>(dead));
    adopt(std::move(made), live);
    order_now(context);
  }
  /// Counts the elements before each leaf, so that ranges of any length are found by their ends. Without a lane, or without
  /// memory, they are walked along.
  void know_ranks(Context& context) {
    if (!list_is_whole_) tidy_if_there_is_memory(context);
    if (!list_is_whole_) return;
    try {
      ranks_ = {};
      ranks_ = leaf_offsets(context, list_);
      ranks_are_known_ = true;
    } catch (const out_of_memory&) {
    }
  }
  [[nodiscard]] const std::uint64_t* known_ranks() const { return ranks_are_known_ && !lent_ ? ranks_.data() : nullptr; }
  [[nodiscard]] bool is_stale_for(std::size_t n) const {
    const std::shared_lock lock(gate_);
    const std::size_t stale = stale_;
    return U == upper::express && !lent_ && stale * 8 > known_leaves_ && n * 4 >= known_leaves_ && stale > 64;
  }

  [[nodiscard]] std::uint64_t count_elements(Context& context, const leaf_list& list) {
    return context.read(leaf_offsets(context, list).data() + list.highs.size());
  }
  [[nodiscard]] buffer<std::uint64_t> leaf_offsets(Context& context, const leaf_list& list) {
    const std::uint64_t live = list.highs.size();
    buffer<std::uint64_t> offsets(where_, live + 1, context.order());
    context.zero(offsets.data() + live, 8);
    context.for_each(live, leaf_count<view_type>{view_, list.ids.data(), offsets.data()});
    context.exclusive_scan(offsets.data(), offsets.data(), live + 1);
    return offsets;
  }
  [[nodiscard]] pairs elements_of(Context& context, const leaf_list& list) {
    const buffer<std::uint64_t> offsets = leaf_offsets(context, list);
    const std::uint64_t live = list.highs.size();
    const std::uint64_t size = context.read(offsets.data() + live);
    pairs sorted{buffer<Word>(where_, size, context.order()), buffer<value>(where_, V == 0 ? 0 : size, context.order())};
    context.for_each(live * N, copy_leaf_slot<view_type>{view_, list.ids.data(), offsets.data(), sorted.words.data(),
                                                         sorted.values.data()});
    return sorted;
  }

  // ---- writing key by key --------------------------------------------------------------------------------
  void write_per_key(const stream& order, const std::uint8_t* ops, blink_op op, const void* keys, const void* values,
                     std::size_t n, void* out_values, std::uint8_t* done, bool ordered) {
    Context context(where_, order);
    const input in_ops(context, ops, n), in_keys(context, keys, n * key_bytes());
    const input in_values(context, V == 0 ? nullptr : values, n * elements_.value_bytes);
    output out(context, V == 0 ? nullptr : out_values, n * elements_.value_bytes), mask(context, done, n);
    if (mask.data() != nullptr) context.zero(mask.data(), n);
    // Only finds answer: the caller's other elements travel there and back.
    if (out.data() != nullptr && out.data() != out_values) context.copy(out.data(), out_values, n * elements_.value_bytes);
    blink_write_job<view_type> job;
    job.ops = static_cast<const std::uint8_t*>(in_ops.data());
    job.op = op;
    job.keys = in_keys.data();
    job.values = in_values.data();
    job.out_values = out.data();
    job.done = static_cast<std::uint8_t*>(mask.data());
    const auto deliver = [&] {
      out.deliver(context);
      mask.deliver(context);
      order_now(context);
    };
    try {
      if (ordered) {
        write_in_order(context, job, n);
      } else {
        write_concurrently(context, job, n);
      }
    } catch (const out_of_memory&) {
      deliver();  // what was changed is in `done`
      throw;
    }
    deliver();
  }

  /// Into a small tree a large batch goes in pieces, so that most of it finds upper levels that know the leaves.
  void write_concurrently(Context& context, const blink_write_job<view_type>& job, std::size_t n) {
    for (std::size_t first = 0; first < n;) {
      const std::size_t most = std::max<std::size_t>(4096, leaves_now() * N);
      const std::size_t piece = std::min({n - first, most, std::size_t{1} << 31});
      write_piece(context, part_of(job, first), piece);
      after_piece(context, job, piece);
      first += piece;
    }
  }
  [[nodiscard]] blink_write_job<view_type> part_of(blink_write_job<view_type> job, std::size_t first) const {
    const auto skip = [first](auto*& p, std::size_t bytes) {
      using target = std::remove_reference_t<decltype(p)>;
      if (p != nullptr) p = reinterpret_cast<target>(reinterpret_cast<std::uintptr_t>(p) + first * bytes);
    };
    skip(job.ops, 1);
    skip(job.keys, key_bytes());
    skip(job.values, elements_.value_bytes);
    skip(job.out_values, elements_.value_bytes);
    skip(job.done, 1);
    return job;
  }
  /// One piece; then, until there are none, those elements that found no room, or a full leaf where that is left to a second
  /// pass. Numbers of such elements change between two lists.
  void write_piece(Context& context, blink_write_job<view_type> job, std::size_t n) {
    job.size = n;
    buffer<std::uint32_t> lists[2] = {{where_, n, context.order()}, {}};
    const buffer<std::uint32_t> refusals(where_, 1, context.order());
    job.refusals = refusals.data();
    const bool inserts = may_insert(job);
    // Of a mixed batch nobody knows how much of it inserts: those that find no room say so.
    const bool never_splits = Context::two_passes && P == protocol::link;
    std::uint64_t room = inserts && job.ops == nullptr && !never_splits ? likely_new_leaves(n) : 0;
    for (unsigned pass = 0;; ++pass) {
      make_room(context, room);
      job.refused = lists[pass % 2].data();
      context.zero(refusals.data(), 4);
      std::uint32_t refused = 0;
      {
        const std::shared_lock lock(gate_);
        // Under the lock of the writes themselves: whoever is alone next must know.
        if (!(never_splits && pass == 0) || job.op == blink_op::erase || job.ops != nullptr) list_is_whole_ = false;
        ranks_are_known_ = false;
        job.tree = view_;
        launch_writes(context, job, n, pass == 0);
        refused = context.read(refusals.data());
      }
      if (refused == 0) return;
      if (never_splits && pass == 0 && merge_refused(context, job, refused)) return;
      if (lists[1].size() == 0) lists[1] = buffer<std::uint32_t>(where_, refused, context.order());
      job.order = lists[pass % 2].data();
      n = refused;
      room = n + 64;
    }
  }
  /// What the first pass left over is merged like a bulk write, if it is a large part of the leaves, and done.
  bool merge_refused(Context& context, const blink_write_job<view_type>& job, std::uint32_t refused) {
    const std::unique_lock lock(gate_);
    if (lent_ || job.ops != nullptr || !merges_refused(refused, known_leaves_ + stale_)) return false;
    const write_op op = job.op == blink_op::insert ? write_op::insert : write_op::insert_or_assign;
    try {
      merge(context, op, job.keys, job.values, job.refused, refused, job.done);
      return true;
    } catch (const out_of_memory&) {
      return false;  // key by key it takes less
    }
  }
  /// Before writes: memory for so many new leaves, and for what posting them takes.
  void make_room(Context& context, std::uint64_t leaves) {
    const std::unique_lock lock(gate_);
    after_others(context.order(), true);
    if (leaves == 0) return;
    leaves_.ensure(context, leaves, !lent_);
    inners_.ensure(context, U == upper::classic ? leaves / (N / 4) + 64 : 64, !lent_);
    adopt_pools();
  }
  void launch_writes(Context& context, const blink_write_job<view_type>& job, std::size_t n, bool first) const {
    if constexpr (P == protocol::link) {
      if (first && job.ops == nullptr) return launch_first_pass(context, job, n);
    }
    context.template launch_write<write_reads, how, P == protocol::none>(job, n);
  }
  void launch_first_pass(Context& context, const blink_write_job<view_type>& job, std::size_t n) const {
    switch (job.op) {
      case blink_op::insert:
        return launch_first_pass<blink_op::insert>(context, job, n);
      case blink_op::insert_or_assign:
        return launch_first_pass<blink_op::insert_or_assign>(context, job, n);
      case blink_op::update:
        return launch_first_pass<blink_op::update>(context, job, n);
      default:
        return launch_first_pass<blink_op::erase>(context, job, n);
    }
  }
  template <blink_op Op>
  void launch_first_pass(Context& context, const blink_write_job<view_type>& job, std::size_t n) const {
    context.template launch_write<write_reads, how, false>(blink_first_pass_job<view_type, Op>{job}, n);
  }
  [[nodiscard]] static bool may_insert(const blink_write_job<view_type>& job) {
    return job.ops != nullptr || job.op == blink_op::insert || job.op == blink_op::insert_or_assign;
  }

  void write_in_order(Context& context, const blink_write_job<view_type>& batch, std::size_t n) {
    if (n >= 0xffffffffu) throw error("blink_tree: an ordered batch has at most 2^32 - 2 elements; split it.");
    buffer<std::uint32_t> sorted_places(where_, n, context.order());
    {
      const buffer<Word> words = load_words(context, batch.keys, n);
      const buffer<std::uint32_t> places(where_, n, context.order());
      buffer<Word> sorted(where_, n, context.order());
      context.for_each(n, number_places{places.data()});
      context.sort_from(words.data(), sorted, places.data(), sorted_places, n);
    }
    const buffer<std::uint8_t> own_mask(where_, batch.done == nullptr ? n : 0, context.order());
    const buffer<std::uint32_t> refused(where_, n, context.order()), refusals(where_, 1, context.order());
    blink_ordered_job<view_type> job{batch};
    job.order = sorted_places.data();
    job.size = n;
    if (job.done == nullptr) job.done = own_mask.data();
    job.refused = refused.data();
    job.refusals = refusals.data();
    for (std::uint64_t room = may_insert(job) ? likely_new_leaves(n) : 0;; room = likely_new_leaves(n)) {
      make_room(context, room);
      context.zero(refusals.data(), 4);
      std::uint32_t short_of_room = 0;
      {
        const std::shared_lock lock(gate_);
        list_is_whole_ = false;
        ranks_are_known_ = false;
        job.tree = view_;
        context.template launch_write<write_reads, how, P == protocol::none>(job, n);
        short_of_room = context.read(refusals.data());
      }
      if (short_of_room == 0) break;
      job.resumed = true;
    }
    after_piece(context, job, n);
  }

  /// Counts what this did to the upper levels, and makes them anew when they hardly help any more.
  void after_piece(Context& context, const blink_write_job<view_type>& job, std::size_t n) {
    const std::unique_lock lock(gate_);
    leaves_.refresh(context);
    stale_ = leaves_.taken();
    if (job.ops != nullptr || job.op == blink_op::erase) erased_ += n;
    if (lent_) return;
    const bool grown = U == upper::express && stale_ > known_leaves_ / 2 + 64;
    if (grown || erased_ > known_leaves_ * N / 2 + 1024) tidy_if_there_is_memory(context);
  }
  /// What was asked for is done, or can be: that upper levels could not be made anew is no reason to report a failure.
  void tidy_if_there_is_memory(Context& context) {
    try {
      tidy(context, false);
    } catch (const out_of_memory&) {
    }
  }

  // ---- writing in bulk -----------------------------------------------------------------------------------
  void write_bulk(Context& context, write_op op, const void* keys, const void* values, std::size_t n,
                  std::uint8_t* done) {
    if (n > bulk_batch<view_type>::most) throw error("blink_tree: a bulk write has at most 2^32 - 2^16 elements; split it.");
    const input in_keys(context, keys, n * key_bytes());
    const input in_values(context, V == 0 || op == write_op::erase ? nullptr : values, n * elements_.value_bytes);
    const buffer<std::uint8_t> mask(where_, done == nullptr ? 0 : n, context.order());  // until all is done
    merge(context, op, in_keys.data(), in_values.data(), nullptr, n, done == nullptr ? nullptr : mask.data());
    if (done != nullptr) context.copy(done, mask.data(), n);
    order_now(context);
  }
  /// Elements numbered list[0], ..., list[n - 1] of a batch (list null: all n of it), sorted and merged into the leaves.
  /// Nobody else is at the tree. What is pointed to is in this device's memory.
  void merge(Context& context, write_op op, const void* keys, const void* values, const std::uint32_t* list,
             std::size_t n, std::uint8_t* done) {
    leaf_list fresh;
    const leaf_list* leaves = &list_;
    leaves_.refresh(context);
    if (!list_is_whole_) {
      fresh = list_leaves(context);
      leaves = &fresh;
    }
    const std::uint64_t live = leaves->highs.size();
    buffer<std::uint32_t> places(where_, n, context.order());
    buffer<Word> words(where_, n, context.order());
    sort_batch(context, keys, list, n, words, places);
    const buffer<std::uint64_t> new_nodes(where_, live + 1, context.order());
    const buffer<std::uint32_t> cuts(where_, live + 1, context.order());

    bulk_batch<view_type> b{};
    b.tree = view_;
    b.op = op;
    b.n = n;
    b.words = words.data();
    b.place = places.data();
    b.values = values;
    b.done = done;
    b.leaves = live;
    b.highs = leaves->highs.data();
    b.by_lane = list_is_whole_;
    b.ids = leaves->ids.size() == 0 ? nullptr : leaves->ids.data();
    b.cuts = cuts.data();
    b.new_nodes = new_nodes.data();
    b.per_node = N * 3 / 4;
    context.for_each(live + 1, cut_batch<view_type>{b});
    context.zero(new_nodes.data() + live, 8);
    if (!merge_few(context, b)) merge_many(context, b);
    order_now(context);
  }
  /// The batch in key order, and where its elements come from.
  void sort_batch(Context& context, const void* keys, const std::uint32_t* list, std::size_t n, buffer<Word>& words,
                  buffer<std::uint32_t>& places) {
    buffer<std::uint32_t> numbers(where_, list == nullptr ? n : 0, context.order());
    if (list == nullptr) context.for_each(n, number_places{numbers.data()});
    // Unsigned keys are words already.
    const bool plain = list == nullptr && elements_.key == (sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64);
    buffer<Word> encoded(where_, plain ? 0 : n, context.order());
    if (!plain) context.for_each(n, encode_listed<Word>{elements_.key, keys, list, encoded.data()});
    context.sort_from(plain ? static_cast<const Word*>(keys) : encoded.data(), words,
                      list == nullptr ? numbers.data() : list, places, n);
  }
  /// False, and nothing is changed: too many elements fall into one leaf.
  bool merge_few(Context& context, bulk_batch<view_type> b) {
    if constexpr (bulk_batch<view_type>::few == 0) {
      return false;
    } else {
      const bool brings_values = V != 0 && b.op != write_op::erase;
      const buffer<value> sorted(where_, brings_values ? b.n : 0, context.order());
      const buffer<std::uint8_t> positions(where_, b.n, context.order()), changes(where_, b.leaves, context.order());
      const buffer<std::uint32_t> many(where_, 1, context.order());
      b.sorted = sorted.data();
      b.positions = positions.data();
      b.changes = changes.data();
      context.zero(many.data(), 4);
      context.for_each(b.leaves, judge_leaf<typename Context::lone_team, view_type>{b, many.data()});
      if (context.read(many.data()) != 0) return false;
      if (brings_values) context.for_each(b.n, sort_value<view_type>{b, sorted.data()});
      const std::uint64_t new_nodes = count_new_nodes(context, b);
      const buffer<std::uint32_t> splits(where_, new_nodes, context.order());
      b.splits = splits.data();
      leaf_list after = make_new_leaves(context, b, new_nodes);
      context.for_each_whole_leaf(b.leaves, change_leaf<view_type>{b});
      context.for_each_leaf(new_nodes, split_leaf<view_type>{b});
      after_merge(context, b, std::move(after));
      return true;
    }
  }
  void merge_many(Context& context, bulk_batch<view_type> b) {
    const buffer<std::uint64_t> moved(where_, b.n + 1, context.order());
    const buffer<std::uint32_t> leaf(where_, b.n, context.order());
    const buffer<std::uint16_t> slot(where_, b.n, context.order()), counts(where_, b.leaves, context.order());
    b.moved = moved.data();
    b.leaf = leaf.data();
    b.slot = slot.data();
    b.counts = counts.data();
    context.zero(moved.data() + b.n, 8);
    context.for_each(b.n, place_element<typename Context::lone_team, view_type>{b, false});
    context.exclusive_scan(b.moved, b.moved, b.n + 1);
    context.for_each(b.leaves, count_nodes<view_type>{b});
    leaf_list after = make_new_leaves(context, b, count_new_nodes(context, b));
    if (b.assigns()) context.for_each(b.n, place_element<typename Context::lone_team, view_type>{b, true});
    if (b.op != write_op::update) {
      context.for_each_leaf(b.leaves, move_leaf<view_type>{b});
      context.for_each(b.n, write_element<view_type>{b});
    }
    after_merge(context, b, std::move(after));
  }
  [[nodiscard]] std::uint64_t count_new_nodes(Context& context, const bulk_batch<view_type>& b) {
    context.exclusive_scan(b.new_nodes, b.new_nodes, b.leaves + 1);
    return context.read(b.new_nodes + b.leaves);
  }
  /// Memory for them, and for the list of leaves afterwards. From here on the tree is changed.
  [[nodiscard]] leaf_list make_new_leaves(Context& context, bulk_batch<view_type>& b, std::uint64_t wanted) {
    leaf_list after;
    if (wanted != 0) {
      leaves_.ensure(context, wanted + leaves_.reusable(), true);
      after = {buffer<Word>(where_, b.leaves + wanted, context.order()),
               buffer<node_id>(where_, b.leaves + wanted, context.order())};
      b.first_new = leaves_.take_fresh(context, static_cast<std::uint32_t>(wanted));
      b.after_highs = after.highs.data();
      b.after_ids = after.ids.data();
    }
    adopt_pools();
    b.tree = view_;
    if (b.op != write_op::update) list_is_whole_ = ranks_are_known_ = false;
    return after;
  }
  void after_merge(Context& context, const bulk_batch<view_type>& b, leaf_list&& after) {
    lent_ = false;
    const std::uint64_t leaves = after.highs.size() == 0 ? b.leaves : after.highs.size();
    known_leaves_ = leaves;
    if (b.op == write_op::erase) {
      erased_ += b.n;
      tidy_if_there_is_memory(context);
    } else if (leaves != b.leaves) {
      try {
        adopt(make_upper(context, view_, std::move(after)), leaves);
      } catch (const out_of_memory&) {
        stale_ += leaves - b.leaves;  // the lane that there was still leads to every leaf, by links
      }
    }
  }

  // ---- ranges --------------------------------------------------------------------------------------------
  void count_ranges(Context& context, const void* lo, const void* hi, std::size_t n, const range_options& options,
                    std::uint64_t* counts, leaf_place* starts = nullptr, std::uint32_t* long_ones = nullptr) const {
    blink_count_job<view_type> job;
    job.tree = view_;
    job.lo = lo;
    job.hi = hi;
    job.ends = options.ends;
    job.limit = options.limit;
    job.counts = counts;
    job.starts = starts;
    job.ranks = known_ranks();
    job.long_ones = long_ones;
    context.template launch_read<reads, how>(job, n);
  }
  /// total is changed_ if a writer came between.
  [[nodiscard]] range_buffers range_once(Context& context, const void* lo, const void* hi, std::size_t n,
                                         const range_options& options) const {
    range_buffers result;
    const stream& order = context.order();
    result.offsets = buffer<std::uint64_t>(where_, n + 1, order);
    std::uint64_t* offsets = result.offsets.data();
    context.zero(offsets + n, 8);
    const buffer<leaf_place> starts(where_, Context::on_gpu ? n : 0, order);
    // First: not 0 if there are long ranges. Second, where writers may be about: how many ranges have changed meanwhile.
    const buffer<std::uint32_t> flags(where_, 2, order);
    context.zero(flags.data(), 8);
    count_ranges(context, lo, hi, n, options, offsets, Context::on_gpu ? starts.data() : nullptr, flags.data());
    context.exclusive_scan(offsets, offsets, n + 1);
    result.total = context.read(offsets + n);
    result.keys = raw_buffer(where_, result.total * key_bytes(), order);
    result.values = raw_buffer(where_, result.total * elements_.value_bytes, order);
    blink_fill_job<view_type> job;
    job.tree = view_;
    job.lo = lo;
    job.hi = hi;
    job.ends = options.ends;
    job.limit = options.limit;
    job.offsets = offsets;
    job.starts = starts.data();
    job.ranks = known_ranks();
    job.out_keys = result.keys.data();
    job.out_values = result.values.data();
    job.changed = Context::on_gpu ? nullptr : flags.data() + 1;
    std::size_t pieces = n;
    buffer<std::uint64_t> parts;
    if (job.ranks != nullptr && context.read(flags.data()) != 0) {
      parts = buffer<std::uint64_t>(where_, n + 1, order);
      context.zero(parts.data() + n, 8);
      context.for_each(n, parts_of_range{offsets, parts.data()});
      context.exclusive_scan(parts.data(), parts.data(), n + 1);
      pieces = context.read(parts.data() + n);
      job.parts = parts.data();
      job.ranges = n;
    }
    context.template launch_read<reads, how>(job, pieces);
    if (!Context::on_gpu && context.read(flags.data() + 1) != 0) result.total = changed_;
    return result;
  }

  // ---- looking at it as a whole --------------------------------------------------------------------------
  [[nodiscard]] node_image copy_nodes() const {
    node_image image;
    auto* self = const_cast<blink_index_on*>(this);
    self->alone({where_.default_stream(), true}, [&](Context& context) {
      self->leaves_.refresh(context);
      self->inners_.refresh(context);
      image.key = elements_.key;
      image.leaves = node_level_image::of<shape_type>(self->leaves_.host_copy(context));
      image.inners = node_level_image::of<inner_shape>(self->inners_.host_copy(context));
      image.unused = self->leaves_.unused_numbers(context);
      image.has_lane = view_.lane.size != 0;
      for (const Word w : host_copy(context, self->list_.highs)) image.lane_highs.push_back(w);
      image.lane_ids = host_copy(context, self->list_.ids);
    });
    return image;
  }
  template <class T>
  [[nodiscard]] std::vector<T> host_copy(Context& context, const buffer<T>& b) const {
    std::vector<T> host(b.size());
    if (!host.empty()) context.copy(host.data(), b.data(), b.bytes());
    order_now(context);
    return host;
  }

  device where_;
  element_type elements_;
  blink_options options_;
  node_pool leaves_, inners_;
  leaf_list list_;  ///< what the lane was made from
  lane_storage lane_;
  view_type view_;
  std::uint64_t known_leaves_ = 0;  ///< when the upper levels were made
  std::uint64_t stale_ = 0;         ///< leaves made since
  std::uint64_t erased_ = 0;        ///< elements asked to be erased since
  std::size_t lane_builds_ = 0;
  std::atomic<bool> list_is_whole_ = false;  ///< list_ names all live leaves and no others
  buffer<std::uint64_t> ranks_;              ///< how many elements lie before each leaf of list_, on a GPU
  std::atomic<bool> ranks_are_known_ = false;
  std::atomic<bool> lent_ = false;  ///< a ref may be in use: nothing is tidied, moved or given out again unasked
  mutable std::shared_mutex gate_;
  mutable std::mutex streams_mutex_;
  mutable std::vector<std::pair<stream, bool>> streams_;

  /// Below this a lane is not worth its memory: one or two levels of inner nodes do as well.
  static constexpr std::uint64_t least_lane_leaves = 64;
};

}  // namespace espalier::detail
