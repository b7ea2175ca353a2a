// regular_side.cpp - the regular layout: a B-link tree in host memory.
#include "espalier/blink_tree/index.hpp"
#include "hybrid_tree/host_side.hpp"

namespace espalier::detail {
namespace {

class regular_side final : public host_side {
 public:
  regular_side(const device& host, element_type elements, double fill, const void* keys, const void* values,
               std::size_t n)
      : order_(host.default_stream()), tree_(build_blink_index(host, elements, {}, keys, values, n, {fill}, order_)) {}

  [[nodiscard]] std::size_t size() const override { return tree_->stats().size; }
  [[nodiscard]] std::size_t bytes() const override { return tree_->stats().bytes; }
  [[nodiscard]] validation validate() const override { return tree_->validate(); }
  [[nodiscard]] any_upper_image upper() const override { return tree_->upper(builds_); }

  void find(const void* keys, std::size_t n, void* values, std::uint8_t* found) const override {
    tree_->find(keys, n, values, found, now());
  }
  void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                 std::uint8_t* found) const override {
    if (!tree_->find_from(builds_, lines, keys, n, values, found)) find(keys, n, values, found);
  }
  void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
            std::uint8_t* found) const override {
    tree_->seek(kind, keys, n, out_keys, out_values, found, now());
  }
  void count(const void* lo, const void* hi, std::size_t n, const range_options& options,
             std::uint64_t* counts) const override {
    tree_->count(lo, hi, n, options, counts, now());
  }
  [[nodiscard]] range_buffers range(const void* lo, const void* hi, std::size_t n,
                                    const range_options& options) const override {
    return tree_->range(lo, hi, n, options, now());
  }
  void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                 std::uint8_t* found) const override {
    tree_->aggregate(op, lo, hi, n, ends, out, found, now());
  }
  /// In batch order where keys are equal. Upper levels are made anew at once: the copy on the device follows.
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done) override {
    tree_->write(op, keys, values, n, done, {batch_semantics::ordered, write_path::bulk}, now());
    try {
      tree_->maintain(order_);
    } catch (const out_of_memory&) {  // the write is done; older upper levels lead there, too
    }
  }

 private:
  [[nodiscard]] execution now() const { return {order_, true}; }

  stream order_;
  std::unique_ptr<blink_index> tree_;
  mutable std::size_t builds_ = 0;  ///< of the lane that upper() told of last; asked for by one thread at a time
};

}  // namespace

std::unique_ptr<host_side> make_regular_side(const device& host, element_type elements, double fill, const void* keys,
                                             const void* values, std::size_t n) {
  return std::make_unique<regular_side>(host, elements, fill, keys, values, n);
}

}  // namespace espalier::detail
