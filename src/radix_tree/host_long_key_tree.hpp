// host_long_key_tree.hpp - a second tree, on the CPU, with a tree's long keys. It answers finds of long keys while the
// device answers the others.
//
// The first tree holds all keys, including long ones: everything except find and contains needs them in one order. So
// the second tree is never required for a result. Writes change it before the first tree; if the first tree then fails,
// the change is undone, and if that fails as well, the second tree is dropped: finds do without it until the next write
// rebuilds it (index_impl.hpp).
//
// A find waits, in the calling thread, for the second tree's results, even in the _async form, for the reasons given in
// host_key_verify.hpp; merging them into the others is enqueued.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/staging.hpp"
#include "espalier/radix_tree/jobs.hpp"
#include "radix_tree/gather_elements.hpp"
#include "radix_tree/long_key_subset.hpp"

namespace espalier::detail {

/// Result j belongs to query numbers[j].
struct merge_answers {
  const std::uint32_t* numbers;
  const std::uint8_t* found;
  const void* values;
  unsigned value_bytes;
  std::uint8_t* to_found;
  void* to_values;
  ESPALIER_HD void operator()(std::size_t j) const {
    const std::size_t i = numbers[j];
    if (to_found != nullptr) to_found[i] = found[j];
    if (to_values != nullptr)
      memcpy(static_cast<std::uint8_t*>(to_values) + i * value_bytes,
             static_cast<const std::uint8_t*>(values) + j * value_bytes, value_bytes);
  }
};

template <class Context, unsigned V>
class host_long_key_tree {
 public:
  /// Builds the tree from the long ones among n elements in the device's memory.
  host_long_key_tree(Context& context, const device& cpu, const std::shared_ptr<memory_resource>& host_pool,
                     element_type elements, const byte_batch& keys, const void* values, std::size_t n)
      : home_(cpu), host_side_(context.get_device().with_pool(host_pool)), elements_(elements) {
    const long_key_subset part = take(context, keys, n, values);
    tree_ = build_radix_index(home_, elements_, part.keys(), part.values.data(), {}, order(context));
  }

  [[nodiscard]] const radix_index& tree() const { return *tree_; }

  /// `asked` are the caller's keys; those of the job are the same keys in the device's memory.
  void find(Context& context, const byte_keys& asked, const radix_find_job<V>& job) const {
    const buffer<std::uint32_t> numbers = number_long(context, job.keys, asked.n);
    const std::size_t m = numbers.size();
    if (m == 0) return context.ask(job, asked.n);
    const long_key_subset part = take_questions(context, asked, job.keys, numbers);
    context.ask(radix_short_find_job<V>{job}, asked.n);
    const unsigned bytes = job.values == nullptr ? 0 : elements_.value_bytes;
    const raw_buffer values(host_side_, m * bytes, context.order());
    const buffer<std::uint8_t> found(host_side_, m, context.order());
    tree_->find(part.keys(), values.data(), found.data(), {order(context), true});
    context.for_each(m, merge_answers{numbers.data(), found.data(), values.data(), bytes, job.found,
                                      bytes == 0 ? nullptr : job.values});
  }

  /// A write, with what is needed to undo it.
  struct change {
    long_key_subset part;
    raw_buffer values;  ///< previous values of keys that were present
    buffer<std::uint8_t> found;
  };
  /// `keys` and `values` are in the device's memory. Strong exception guarantee.
  [[nodiscard]] change write(Context& context, write_op op, const byte_batch& keys, std::size_t n, const void* values,
                             radix_path path) {
    change c;
    c.part = take(context, keys, n, values);
    const std::size_t m = c.part.n;
    if (m == 0) return c;
    const stream own = order(context);
    c.values = raw_buffer(home_, m * elements_.value_bytes, own);
    c.found = buffer<std::uint8_t>(home_, m, own);
    tree_->find(c.part.keys(), V == 0 ? nullptr : c.values.data(), c.found.data(), {own, true});
    tree_->write(op, c.part.keys(), c.part.values.data(), nullptr, path, {own, true});
    return c;
  }
  /// If it throws, the state of the tree is unknown.
  void undo(Context& context, const change& c) {
    if (c.part.n == 0) return;
    const stream own = order(context);
    tree_->write(write_op::erase, c.part.keys(), nullptr, nullptr, radix_path::automatic, {own, true});
    // Equal keys have equal old values, so it does not matter which of them is inserted.
    std::vector<std::uint8_t> bytes, values;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t j = 0; j < c.part.n; ++j) {
      if (c.found.data()[j] == 0) continue;
      const byte_key_view key = c.part.keys().batch[j];
      bytes.insert(bytes.end(), key.bytes, key.bytes + key.size);
      offsets.push_back(bytes.size());
      const auto* const value = static_cast<const std::uint8_t*>(c.values.data()) + j * elements_.value_bytes;
      values.insert(values.end(), value, value + elements_.value_bytes);
    }
    const byte_keys old{{bytes.data(), offsets.data(), 0}, offsets.size() - 1, bytes.size(), nullptr};
    tree_->write(write_op::insert, old, values.data(), nullptr, radix_path::automatic, {own, true});
  }

 private:
  /// Calls of the second tree are work of this tree's stream, or have a separate stream on a GPU.
  [[nodiscard]] stream order(Context& context) const { return Context::on_gpu ? home_.make_stream() : context.order(); }
  [[nodiscard]] long_key_subset take(Context& context, const byte_batch& keys, std::size_t n,
                                     const void* values) const {
    const buffer<std::uint32_t> numbers = number_long(context, keys, n);
    return at_host(
        context, host_side_,
        take_numbered(context, keys, numbers.data(), numbers.size(), V == 0 ? nullptr : values, elements_.value_bytes));
  }
  /// Keys that the host can read are not copied back from the device; their numbers are, because the device finds them
  /// faster.
  [[nodiscard]] long_key_subset take_questions(Context& context, const byte_keys& asked, const byte_batch& keys,
                                               const buffer<std::uint32_t>& numbers) const {
    const std::size_t m = numbers.size();
    if (!Context::on_gpu || context.get_device().is_local(asked.batch.bytes))
      return at_host(context, host_side_, take_numbered(context, keys, numbers.data(), m, nullptr, 0));
    const raw_buffer here = at_host(context, host_side_, numbers.data(), numbers.bytes());
    context.order().synchronize();
    cpu_executor cpu(home_, home_.make_stream());
    return take_numbered(cpu, asked.batch, static_cast<const std::uint32_t*>(here.data()), m, nullptr, 0);
  }

  device home_;       ///< device of the second tree
  device host_side_;  ///< memory that host and device access
  element_type elements_;
  std::unique_ptr<radix_index> tree_;
};

}  // namespace espalier::detail
