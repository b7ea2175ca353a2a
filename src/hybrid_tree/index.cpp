// index.cpp - the hybrid tree: a tree in host memory whose inner levels a device has, too.
//
// Reads hold the tree together, a write has it alone and gives the device a new copy of the inner levels before anybody
// reads again: no reader sees half of one. If the device fails in the middle of a call, the host does the rest of it.
#include "espalier/hybrid_tree/index.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "hybrid_tree/balance.hpp"
#include "hybrid_tree/bucket_walker.hpp"
#include "hybrid_tree/host_side.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/pipeline.hpp"

namespace espalier {

std::string to_string(hybrid_layout l) { return l == hybrid_layout::implicit ? "implicit" : "regular"; }
std::string to_string(hybrid_placement p) {
  return p == hybrid_placement::automatic ? "automatic" : p == hybrid_placement::shared ? "shared" : "host_alone";
}
std::string to_string(bucket_handling b) {
  return b == bucket_handling::sequential  ? "sequential"
         : b == bucket_handling::pipelined ? "pipelined"
                                           : "double_buffered";
}

namespace detail {
namespace {

class hybrid_tree_index final : public hybrid_index {
 public:
  hybrid_tree_index(const device& where, element_type elements, const hybrid_options& options, const void* keys,
                    const void* values, std::size_t n)
      : where_(where), host_(device::cpu(options.threads)), elements_(elements), options_(options) {
    if (options.bucket == 0) throw error("hybrid_tree: a bucket has at least one query.");
    side_ = options.layout == hybrid_layout::implicit
                ? make_implicit_side(host_, elements, keys, values, n)
                : make_regular_side(host_, elements, options.fill, keys, values, n);
    renew();
  }

  [[nodiscard]] const device& where() const override { return where_; }
  [[nodiscard]] const device& host() const override { return host_; }
  [[nodiscard]] element_type elements() const override { return elements_; }
  [[nodiscard]] hybrid_stats stats() const override {
    const auto lock = together();
    const std::lock_guard device_lock(device_);
    hybrid_stats s;
    s.size = side_->size();
    s.host_bytes = side_->bytes();
    s.inner_bytes = std::visit([](const auto& image) { return image.bytes(); }, side_->upper());
    s.device_bytes = levels_ == nullptr ? 0 : levels_->bytes();
    if (walker_ != nullptr) s.device_bytes += bucket_walker::bytes(key_bytes(), options_.bucket);
    s.placement = chosen();
    s.balance = balance_;
    s.reason = reason_;
    return s;
  }
  [[nodiscard]] validation validate() const override {
    const auto lock = together();
    return side_->validate();
  }

  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found,
            const hybrid_query& how) const override {
    const auto lock = together();
    if (n == 0) return;
    std::size_t done = 0;
    if (how.placement != hybrid_placement::host_alone) {
      const std::lock_guard device_lock(device_);  // the slots serve one call at a time
      const bool large = n >= 4 * options_.bucket;
      if (how.placement == hybrid_placement::shared ? levels_ != nullptr
                                                    : large && chosen() == hybrid_placement::shared)
        done = find_shared(keys, n, values, found, how);
    }
    if (done < n) find_here(keys, done, n, values, found);
  }
  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
            std::uint8_t* found) const override {
    const auto lock = together();
    if (n != 0) side_->seek(kind, keys, n, out_keys, out_values, found);
  }
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options,
             std::uint64_t* counts) const override {
    const auto lock = together();
    if (n != 0) side_->count(lo, hi, n, options, counts);
  }
  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n,
                                    const range_options& options) const override {
    const auto lock = together();
    return side_->range(lo, hi, n, options);
  }
  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found) const override {
    const auto lock = together();
    if (n != 0) side_->aggregate(op, lo, hi, n, ends, out, found);
  }
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done) override {
    if (n == 0) return;
    const auto lock = alone();
    side_->write(op, keys, values, n, done);
    renew();
  }
  void tune(const void* keys, std::size_t n) override {
    const auto lock = together();
    const std::lock_guard device_lock(device_);
    if (levels_ == nullptr || n == 0) return;
    const std::size_t bucket = std::min(n, options_.bucket), buckets = std::min<std::size_t>(n / bucket, 16);
    const raw_buffer values(host_, buckets * bucket * elements_.value_bytes, host_.default_stream());
    const buffer<std::uint8_t> found(host_, buckets * bucket);
    const auto timed = [](const auto& work) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    std::size_t next = 0;
    balance_ = discover_balance([&](const load_balance& b) {
      const void* const sample = at(keys, next++ % buckets * bucket);
      return sample_times{timed([&] {
                            begin_bucket(b, sample, bucket, 0);
                            (void)walker_->wait(0);
                          }),
                          timed([&] { finish_bucket(b, sample, bucket, 0, values.data(), found.data()); })};
    });
    const double alone = timed([&] { find_here(keys, 0, buckets * bucket, values.data(), found.data()); });
    std::size_t done = 0;
    const double together = timed([&] { done = find_shared(keys, buckets * bucket, values.data(), found.data(), {}); });
    if (done != buckets * bucket) return;  // the device failed, and reason_ says so
    tuned_ = together < alone ? hybrid_placement::shared : hybrid_placement::host_alone;
    reason_ = "measured: " + rate(buckets * bucket, alone) + " by the host alone, " + rate(buckets * bucket, together) +
              " with inner levels on " + where_.name() + ", which are shared out as " +
              std::to_string(balance_.levels) + " levels for " + std::to_string(balance_.share) + " of a bucket.";
  }

 private:
  // Who waits to write holds the door: readers that come later wait behind it, however many there are.
  [[nodiscard]] std::shared_lock<std::shared_mutex> together() const {
    const std::lock_guard through(door_);
    return std::shared_lock(gate_);
  }
  [[nodiscard]] std::unique_lock<std::shared_mutex> alone() const {
    const std::lock_guard through(door_);
    return std::unique_lock(gate_);
  }

  [[nodiscard]] unsigned key_bytes() const { return bytes_of(elements_.key); }
  [[nodiscard]] const void* at(const void* keys, std::size_t i) const {
    return static_cast<const char*>(keys) + i * key_bytes();
  }
  [[nodiscard]] static std::string rate(std::size_t n, double seconds) {
    return std::to_string(static_cast<std::uint64_t>(static_cast<double>(n) / seconds / 1e6)) + " M/s";
  }
  /// Of large batches, by the one who holds the device.
  [[nodiscard]] hybrid_placement chosen() const {
    if (levels_ == nullptr) return hybrid_placement::host_alone;
    if (tuned_ != hybrid_placement::automatic) return tuned_;
    return where_.kind() == device_kind::cuda ? hybrid_placement::shared : hybrid_placement::host_alone;
  }

  /// A new copy of the inner levels for the device; without one the host works alone.
  void renew() {
    levels_.reset();
    tuned_ = hybrid_placement::automatic;
    balance_ = {};
    const any_upper_image image = side_->upper();
    const auto [elements, bytes] = std::visit([](const auto& i) { return std::pair{i.view.size, i.bytes()}; }, image);
    host_levels_ = borrow_inner_levels(host_, image);
    if (elements == 0) {
      reason_ = "the tree is too small to share.";
      return;
    }
    if (bytes + bucket_walker::bytes(key_bytes(), options_.bucket) > options_.device_memory) {
      reason_ = "inner levels and buckets take more than the " + std::to_string(options_.device_memory) +
                " bytes of the device's memory that the tree may have.";
      return;
    }
    try {
      if (walker_ == nullptr) walker_ = std::make_unique<bucket_walker>(where_, host_, key_bytes(), options_.bucket);
      levels_ = copy_inner_levels(where_, image);
      reason_ =
          where_.kind() == device_kind::cuda ? "there is a GPU; tune() measures." : "there is no GPU; tune() measures.";
    } catch (const error& e) {
      give_up(e);
    }
  }
  void give_up(const error& e) const {
    if (walker_ != nullptr) walker_->abandon();
    levels_.reset();
    walker_.reset();
    reason_ = std::string("the device failed, and the host works alone: ") + e.what();
  }

  // ---- finding -------------------------------------------------------------------------------------------
  void find_here(const void* keys, std::size_t first, std::size_t last, void* values, std::uint8_t* found) const {
    side_->find(at(keys, first), last - first, value_at(values, first), found == nullptr ? nullptr : found + first);
  }
  [[nodiscard]] void* value_at(void* values, std::size_t i) const {
    return values == nullptr || elements_.value_bytes == 0 ? nullptr
                                                           : static_cast<char*>(values) + i * elements_.value_bytes;
  }
  void begin_bucket(const load_balance& b, const void* keys, std::size_t n, unsigned slot) const {
    const bucket_parts parts = parts_of(b, n);
    if (parts.grouped != 0) {
      const stream order = host_.default_stream();
      host_levels_->table(at(keys, parts.plain), parts.grouped, walker_->groups(slot), order);
      order.synchronize();
    }
    walker_->start(slot, *levels_, keys, parts.plain, parts.grouped);
  }
  void finish_bucket(const load_balance& b, const void* keys, std::size_t n, unsigned slot, void* values,
                     std::uint8_t* found) const {
    const bucket_parts parts = parts_of(b, n);
    const std::size_t walked = parts.plain + parts.grouped;
    if (walked != 0) side_->find_from(walker_->wait(slot), keys, walked, values, found);
    if (parts.local != 0) find_here(keys, walked, n, values, found);
  }
  /// How many of them were found before the device failed: all of them, if it did not.
  [[nodiscard]] std::size_t find_shared(const void* keys, std::size_t n, void* values, std::uint8_t* found,
                                        const hybrid_query& how) const {
    const std::size_t bucket = options_.bucket, buckets = (n + bucket - 1) / bucket;
    const auto size_of = [&](std::size_t b) { return std::min(bucket, n - b * bucket); };
    std::size_t finished = 0;
    const load_balance b = how.balance.value_or(balance_);
    try {
      const pipeline_times times = run_pipeline(
          how.buckets, buckets, bucket_walker::slots, finished,
          [&](std::size_t i, unsigned slot) { begin_bucket(b, at(keys, i * bucket), size_of(i), slot); },
          [&](unsigned slot) { (void)walker_->wait(slot); },
          [&](std::size_t i, unsigned slot) {
            finish_bucket(b, at(keys, i * bucket), size_of(i), slot, value_at(values, i * bucket),
                          found == nullptr ? nullptr : found + i * bucket);
          });
      if (buckets >= 8 && how.buckets == bucket_handling::double_buffered && !how.balance)
        balance_ = rebalanced(balance_, times.waited, times.worked);
    } catch (const error& e) {
      give_up(e);
    }
    return std::min(n, finished * bucket);
  }

  device where_, host_;
  element_type elements_;
  hybrid_options options_;
  std::unique_ptr<host_side> side_;
  mutable std::mutex door_;
  mutable std::shared_mutex gate_;
  // What follows is changed by who holds the device, or the tree alone.
  mutable std::mutex device_;
  std::unique_ptr<inner_levels> host_levels_;
  mutable std::unique_ptr<inner_levels> levels_;  ///< null: the host works alone
  mutable std::unique_ptr<bucket_walker> walker_;
  mutable load_balance balance_;
  hybrid_placement tuned_ = hybrid_placement::automatic;
  mutable std::string reason_;
};

}  // namespace

std::unique_ptr<hybrid_index> build_hybrid_index(const device& where, element_type elements,
                                                 const hybrid_options& options, const void* keys, const void* values,
                                                 std::size_t n) {
  if (elements.value_bytes > 16)
    throw error("hybrid_tree: values have at most 16 bytes; store an index to larger ones.");
  return std::make_unique<hybrid_tree_index>(where, elements, options, keys, values, n);
}

}  // namespace detail
}  // namespace espalier
