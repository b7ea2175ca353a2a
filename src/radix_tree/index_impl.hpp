// index_impl.hpp - the radix tree on one kind of device: every operation of radix_index, one implementation over a
// Context.
//
// Queries hold the gate shared, writes exclusively (device/access_gate.hpp). A query that needs derived data (leaf
// order, block aggregates) which a write has invalidated takes the gate exclusively and builds it first.
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/access_gate.hpp"
#include "device/staging.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/jobs.hpp"
#include "radix_tree/block_summaries.hpp"
#include "radix_tree/build.hpp"
#include "radix_tree/gather_elements.hpp"
#include "radix_tree/host_key_verify.hpp"
#include "radix_tree/host_long_key_tree.hpp"
#include "radix_tree/node_copy.hpp"
#include "radix_tree/storage.hpp"
#include "radix_tree/validate.hpp"
#include "radix_tree/write.hpp"

namespace espalier::detail {

struct check_offset {
  const std::uint64_t* offsets;
  std::uint64_t bytes;
  std::uint32_t* wrong;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t length = offsets[i + 1] - offsets[i];  // wraps around if offsets descend
    if (offsets[i + 1] > bytes || length > bytes) {
      atomic_word_ref{wrong}.store_relaxed(1);
    } else if (length >= same_key) {
      atomic_word_ref{wrong + 1}.store_relaxed(1);
    }
  }
};

/// counts[i] is the number of elements of rank i of a query: 1 or 0.
struct count_rank {
  const std::uint64_t* ranks;
  std::uint64_t size;
  std::uint64_t* counts;
  ESPALIER_HD void operator()(std::size_t i) const { counts[i] = ranks[i] < size ? 1 : 0; }
};

/// A caller's keys in the device's memory.
template <class Context>
class staged_keys {
 public:
  staged_keys(Context& context, const byte_keys& keys, bool check = !Context::on_gpu)
      : offsets_(context, require_short(keys).batch.offsets, keys.batch.offsets == nullptr ? 0 : (keys.n + 1) * 8),
        bytes_(context, keys.batch.bytes, keys.bytes) {
    batch_.bytes = static_cast<const std::uint8_t*>(bytes_.data());
    batch_.offsets = static_cast<const std::uint64_t*>(offsets_.data());
    batch_.stride = keys.batch.stride;
    if (check && batch_.offsets != nullptr && keys.n != 0) check_offsets(context, keys);
  }
  [[nodiscard]] const byte_batch& batch() const { return batch_; }

 private:
  static const byte_keys& require_short(const byte_keys& keys) {
    if (keys.batch.offsets == nullptr && keys.batch.stride >= same_key) throw error(too_long);
    return keys;
  }
  /// On a GPU this check costs a wait, so queries omit it.
  void check_offsets(Context& context, const byte_keys& keys) const {
    const buffer<std::uint32_t> wrong = room<std::uint32_t>(context, 2);
    context.zero(wrong.data(), 8);
    context.for_each(keys.n, check_offset{batch_.offsets, keys.bytes, wrong.data()});
    if (context.read(wrong.data()) != 0)
      throw error("radix_tree: the offsets of keys must ascend and stay within their " + std::to_string(keys.bytes) +
                  " bytes.");
    if (context.read(wrong.data() + 1) != 0) throw error(too_long);
  }
  static constexpr const char* too_long = "radix_tree: a key has less than 2^32 - 1 bytes.";

  staged_input<Context> offsets_, bytes_;
  byte_batch batch_;
};

template <class Context, unsigned V>
class radix_index_impl final : public radix_index {
  using input = staged_input<Context>;
  using output = staged_output<Context>;
  using keys_in = staged_keys<Context>;

 public:
  radix_index_impl(const device& dev, element_type elements, const byte_keys& keys, const void* values,
                   const radix_options& options, const stream& order)
      : device_(dev), elements_(elements), options_(in_force(dev, options)), cpu_(cpu_for_long_keys(dev, options_)) {
    if (options.table_bits != radix_options::automatic && options.table_bits > count_cells::most_bits)
      throw error("radix_tree: a root table has at most " + std::to_string(count_cells::most_bits) + " bits.");
    if (keys.n >= 0xffffffffu)
      throw error("radix_tree: a build takes fewer than 2^32 - 1 keys; split them over several trees.");
    // Ordered by the gate: later streams are ordered after the build by its mark, not only by the host.
    const execution ex{device_.resolve(order), true};
    execute<Context>(device_, ex, [&] {
      alone_now(ex.order, [&](Context& context) {
        const keys_in in(context, keys, true);
        const input in_values(context, V == 0 ? nullptr : values, keys.n * elements.value_bytes);
        tree_ = radix_builder<Context, V>(context, elements, options_)(in.batch(), in_values.data(), keys.n);
        if (options_.long_keys == long_key_mode::host_replica)
          long_key_tree_.emplace(context, cpu_, options_.host_pool, elements_, in.batch(), in_values.data(), keys.n);
      });
    });
  }

  ~radix_index_impl() override {
    const stream order = gate_.last(device_);
    tree_.set_stream(order);
    summaries_.set_stream(order);
  }

  [[nodiscard]] const device& get_device() const override { return device_; }
  [[nodiscard]] element_type elements() const override { return elements_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] radix_stats stats() const override {
    const auto lock = gate_.lock_shared();
    radix_stats s = tree_.stats();
    s.summary_bytes = summaries_.bytes();
    s.bytes += s.summary_bytes;
    if (long_key_tree_) s.host_bytes += long_key_tree_->tree().stats().bytes;
    return s;
  }
  void view(void* to) const override {
    ask_by_rank({device_.default_stream(), true}, 1,
                [this, to](Context&) { *static_cast<radix_view<V>*>(to) = tree_.view; });
  }

  [[nodiscard]] validation validate() const override {
    validation result;
    const stream order = device_.default_stream();
    ask_by_rank(execution{order, true}, 1, [&](Context& context) {
      const radix_node_copy<V> image(context, tree_);
      result = validate_radix(image.view, image.counts);
    });
    if (result.ok && long_key_tree_) {
      result = long_key_tree_->tree().validate();
      if (result.ok && long_key_tree_->tree().stats().size != stats().leaves[long_class])
        result = {false, "the second tree, of long keys, has another number of them"};
    }
    return result;
  }
  void copy_nodes(const std::function<void(const void* view, std::uint32_t root_info)>& read) const override {
    ask({device_.default_stream(), true}, 1, [&](Context& context) {
      const radix_node_copy<V> image(context, tree_);
      read(&image.view, image.root_info);
    });
  }
  /// Calls work(context, storage, options), which may change the tree, while no other operation is in progress. Not in
  /// radix_index: src/inspect casts to this class.
  template <class Work>
  void change_storage(const Work& work) {
    const stream order = device_.default_stream();
    execute<Context>(device_, execution{order, true}, [&] {
      alone_now(order, [&](Context& context) {
        summaries_.forget();
        work(context, tree_, options_);
      });
    });
  }

  void find(const byte_keys& keys, void* values, std::uint8_t* found, const execution& ex) const override {
    ask(ex, keys.n, [=, this](Context& context) {
      const keys_in in(context, keys);
      output out(context, V == 0 ? nullptr : values, keys.n * elements_.value_bytes), mask(context, found, keys.n);
      const radix_find_job<V> job{tree_.view, in.batch(), out.data(), static_cast<std::uint8_t*>(mask.data())};
      if (!has_keys_for_cpu(keys)) {
        context.ask(job, keys.n);
      } else if (long_key_tree_) {
        long_key_tree_->find(context, keys, job);
      } else {
        verified_find<Context, V>(context, tree_, cpu_)(keys, job);
      }
      out.copy_back(context);
      mask.copy_back(context);
    });
  }
  void rank(bound_type what, const byte_keys& keys, std::uint64_t* ranks, const execution& ex) const override {
    ask_by_rank(ex, keys.n, [=, this](Context& context) {
      const keys_in in(context, keys);
      output out(context, ranks, keys.n * 8);
      context.ask(radix_rank_job<V>{tree_.view, what, in.batch(), static_cast<std::uint64_t*>(out.data())}, keys.n);
      out.copy_back(context);
    });
  }
  void count(radix_slice what, const byte_keys& lo, const byte_keys& hi, const range_options& options,
             std::uint64_t* counts, const execution& ex) const override {
    ask_by_rank(ex, lo.n, [=, this](Context& context) {
      const keys_in low(context, lo), high(context, hi);
      output out(context, counts, lo.n * 8);
      context.ask(slices(what, low, high, options, nullptr, static_cast<std::uint64_t*>(out.data())), lo.n);
      out.copy_back(context);
    });
  }
  [[nodiscard]] byte_range_buffers list(radix_slice what, const byte_keys& lo, const byte_keys& hi,
                                        const range_options& options, const execution& ex) const override {
    byte_range_buffers result;
    const stream& order = ex.order;
    const bool walks = walks_to_neighbours(what, lo.n);
    const auto work = [&](Context& context) {
      const keys_in low(context, lo), high(context, walks ? byte_keys{} : hi);
      result.offsets = buffer<std::uint64_t>(device_, lo.n + 1, order);
      const buffer<std::uint64_t> begins(device_, walks ? 0 : lo.n, order);
      const buffer<radix_link> links(device_, walks ? lo.n : 0, order);
      std::uint64_t* const offsets = result.offsets.data();
      context.zero(offsets + lo.n, 8);
      if (walks) {
        context.ask(radix_neighbour_job<V>{tree_.view, what, low.batch(), links.data(), offsets}, lo.n);
      } else if (lo.n != 0) {
        context.ask(slices(what, low, high, options, begins.data(), offsets), lo.n);
      }
      context.exclusive_scan(offsets, offsets, lo.n + 1);
      result.total = context.read(offsets + lo.n);
      element_gather<Context, V>{tree_.view, context}.list(result, begins.data(), lo.n, nullptr, links.data());
    };
    const execution launch{order, ex.wait || !Context::on_gpu};
    walks ? ask(launch, 1, work) : ask_by_rank(launch, 1, work);
    return result;
  }
  [[nodiscard]] byte_range_buffers select(const std::uint64_t* ranks, std::size_t n,
                                          const execution& ex) const override {
    byte_range_buffers result;
    const stream& order = ex.order;
    ask_by_rank({order, ex.wait || !Context::on_gpu}, 1, [&](Context& context) {
      const input in(context, ranks, n * 8);
      const auto* const wanted = static_cast<const std::uint64_t*>(in.data());
      result.offsets = buffer<std::uint64_t>(device_, n + 1, order);
      std::uint64_t* const offsets = result.offsets.data();
      context.zero(offsets + n, 8);
      context.for_each(n, count_rank{wanted, tree_.view.size, offsets});
      context.exclusive_scan(offsets, offsets, n + 1);
      result.total = context.read(offsets + n);
      element_gather<Context, V>{tree_.view, context}.list(result, wanted, n);
    });
    return result;
  }
  void aggregate(aggregate_op op, radix_slice what, const byte_keys& lo, const byte_keys& hi, interval ends, void* out,
                 std::uint8_t* found, const execution& ex) const override {
    const scalar_kind kind = elements_.value;
    if (kind == scalar_kind::opaque) throw error("aggregate: the values of this tree are not numbers.");
    if constexpr (V == 4 || V == 8) {
      const auto known = [this, op] { return tree_.order_is_known && summaries_.knows(op); };
      with_derived_data(known, ex, lo.n, [=, this](Context& context) {
        const keys_in low(context, lo), high(context, hi);
        output results(context, out, lo.n * result_bytes(op, kind)), mask(context, found, lo.n);
        const buffer<std::uint64_t> begins = room<std::uint64_t>(context, lo.n);
        const buffer<std::uint64_t> counts = room<std::uint64_t>(context, lo.n);
        build_leaf_order(context, tree_);
        context.ask(slices(what, low, high, {ends}, begins.data(), counts.data()), lo.n);
        if (!summaries_.knows(op) && !may_walk(counts)) summaries_.know(context, tree_.view, op);
        context.ask(radix_aggregate_job<V>{tree_.view, summaries_.view(), op, begins.data(), counts.data(),
                                           results.data(), static_cast<std::uint8_t*>(mask.data())},
                    lo.n);
        results.copy_back(context);
        mask.copy_back(context);
      });
    }
  }
  void write(write_op op, const byte_keys& keys, const void* values, std::uint8_t* done, radix_path path,
             const execution& ex) override {
    if (keys.n == 0) return;
    if (keys.n >= 0xffffffffu) throw error("radix_tree: a batch has fewer than 2^32 - 1 keys; split it.");
    execute<Context>(device_, ex, [=, this, order = ex.order] {
      alone_now(order, [&](Context& context) {
        const keys_in in(context, keys, true);
        const input in_values(context, V == 0 || op == write_op::erase ? nullptr : values,
                              keys.n * elements_.value_bytes);
        // A separate mask until everything is done; an update has nothing left that could fail.
        const bool direct = op == write_op::update && !long_key_tree_ && done != nullptr && device_.is_local(done);
        const buffer<std::uint8_t> own_mask(device_, done == nullptr || direct ? 0 : keys.n, order);
        std::uint8_t* const mask = direct || done == nullptr ? done : own_mask.data();
        summaries_.forget();
        in_step(context, op, in.batch(), keys.n, in_values.data(), path, [&] {
          radix_writer<Context, V>(context, tree_, elements_, options_)(op, in.batch(), keys.n, in_values.data(), mask,
                                                                        path);
        });
        if (mask != done) context.copy(done, mask, keys.n);
      });
    });
  }
  void longest_prefix(const byte_keys& keys, std::uint32_t* lengths, void* values, std::uint8_t* found,
                      const execution& ex) const override {
    ask(ex, keys.n, [=, this](Context& context) {
      const keys_in in(context, keys);
      output sizes(context, lengths, keys.n * 4),
          out(context, V == 0 ? nullptr : values, keys.n * elements_.value_bytes);
      output mask(context, found, keys.n);
      context.ask(radix_longest_prefix_job<V>{tree_.view, in.batch(), static_cast<std::uint32_t*>(sizes.data()),
                                              out.data(), static_cast<std::uint8_t*>(mask.data())},
                  keys.n);
      sizes.copy_back(context);
      out.copy_back(context);
      mask.copy_back(context);
    });
  }

 private:
  // ---- long keys ---------------------------------------------------------------------------------------------
  /// Returns the options that are effective on this device.
  [[nodiscard]] static radix_options in_force(const device& dev, radix_options options) {
    if (!Context::on_gpu && !options.long_keys_on_cpu) options.long_keys = long_key_mode::on_device;
    if (options.host_pool == nullptr) options.host_pool = dev.host_pool();
    return options;
  }
  /// Kept as long as the tree, to keep its threads.
  [[nodiscard]] static device cpu_for_long_keys(const device& dev, const radix_options& options) {
    return Context::on_gpu && options.long_keys != long_key_mode::on_device ? device::cpu() : dev;
  }
  /// Whether a find has keys that are compared on the CPU. Trees and batches without long keys take the normal path.
  [[nodiscard]] bool has_keys_for_cpu(const byte_keys& keys) const {
    const bool may_be_long =
        keys.batch.offsets == nullptr ? keys.batch.stride > most_leaf_bytes : keys.bytes > most_leaf_bytes;
    if (!may_be_long || tree_.leaf_counts[long_class] == 0) return false;
    return tree_.heap_pool != nullptr || (long_key_tree_ && keys.n < 0xffffffffu);
  }
  /// Writes the second tree, then the first one by `write_tree`: both or none.
  template <class WriteTree>
  void in_step(Context& context, write_op op, const byte_batch& keys, std::size_t n, const void* values,
               radix_path path, const WriteTree& write_tree) {
    if (options_.long_keys != long_key_mode::host_replica) return write_tree();
    if (!long_key_tree_) make_long_key_tree(context);
    const auto change = long_key_tree_->write(context, op, keys, n, values, path);
    try {
      write_tree();
    } catch (...) {
      try {
        long_key_tree_->undo(context, change);
      } catch (...) {
        long_key_tree_.reset();  // the next write rebuilds it
      }
      throw;
    }
  }
  void make_long_key_tree(Context& context) {
    build_leaf_order(context, tree_);
    const byte_range_buffers all = element_gather<Context, V>{tree_.view, context}.elements(nullptr, tree_.view.size);
    long_key_tree_.emplace(
        context, cpu_, options_.host_pool, elements_,
        byte_batch{static_cast<const std::uint8_t*>(all.key_bytes.data()), all.key_offsets.data(), 0},
        all.values.data(), tree_.view.size);
  }

  /// Neighbours of a few keys are found by a walk each, if the order of all leaves is unknown: building it takes a pass
  /// over the tree.
  [[nodiscard]] bool walks_to_neighbours(radix_slice what, std::size_t n) const {
    if (n == 0 || what == radix_slice::range || what == radix_slice::prefix) return false;
    const auto lock = gate_.lock_shared();
    return !tree_.order_is_known && n < tree_.view.size / 8;
  }
  [[nodiscard]] radix_slice_job<V> slices(radix_slice what, const keys_in& lo, const keys_in& hi,
                                          const range_options& options, std::uint64_t* begins,
                                          std::uint64_t* counts) const {
    return {tree_.view, what, lo.batch(), hi.batch(), options.ends, options.limit, begins, counts};
  }
  template <class Work>
  void ask(const execution& ex, std::size_t n, const Work& work) const {
    with_derived_data([] { return true; }, ex, n, work);
  }
  template <class Work>
  void ask_by_rank(const execution& ex, std::size_t n, const Work& work) const {
    with_derived_data([this] { return tree_.order_is_known; }, ex, n,
                      [this, work](Context& context) {
                        build_leaf_order(context, tree_);
                        work(context);
                      });
  }
  /// Runs concurrently with other queries if the derived data is known; otherwise exclusively.
  template <class Known, class Work>
  void with_derived_data(const Known& known, const execution& ex, std::size_t n, const Work& work) const {
    if (n == 0) return;
    execute<Context>(device_, ex, [this, known, work, order = ex.order] {
      {
        const auto lock = gate_.lock_shared();
        if (known()) {
          const auto turn = gate_.begin(order, false);
          Context context(device_, order);
          work(context);
          return;
        }
      }
      alone_now(order, work);
    });
  }
  template <class Work>
  void alone_now(const stream& order, const Work& work) const {
    const auto lock = gate_.lock_exclusive();
    const auto turn = gate_.begin(order, true);
    if constexpr (Context::on_gpu) {
      tree_.set_stream(order);
      summaries_.set_stream(order);
    }
    Context context(device_, order);
    work(context);
    size_ = tree_.view.size;
  }
  /// Returns whether a query may walk these leaves.
  [[nodiscard]] bool may_walk(const buffer<std::uint64_t>& counts) const {
    if constexpr (Context::on_gpu) {
      return false;
    } else {
      std::uint64_t leaves = 0;
      for (const std::uint64_t count : counts.span()) leaves += count;
      return summaries_.may_walk(leaves, tree_.view.size);
    }
  }

  device device_;
  element_type elements_;
  radix_options options_;
  device cpu_;  ///< takes part in finding long keys
  mutable access_gate<Context> gate_;
  mutable radix_storage<V> tree_;              ///< mutable: queries build the leaf order
  mutable std::atomic<std::size_t> size_ = 0;  ///< of the tree after the last write; read without the gate
  mutable summaries_of<Context, V> summaries_;
  std::optional<host_long_key_tree<Context, V>> long_key_tree_;
};

}  // namespace espalier::detail
