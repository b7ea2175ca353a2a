// blink_under_test.hpp - the B-link tree under measurement, by its untyped interface: types and policy are known at run
// time only, so that one harness serves every tree the library has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/harness/device_array.hpp"
#include "bench/index/blink/blink_script.hpp"
#include "bench/index/request.hpp"
#include "espalier/blink_tree/index.hpp"

namespace espalier::bench {

using espalier::detail::range_buffers;

/// A step's columns where the device can use them, with room for answers other than those of ranges.
class device_step {
 public:
  device_step(const blink_step& step, const data_spec& spec, const device& dev);

  [[nodiscard]] const blink_step& step() const { return *step_; }
  [[nodiscard]] const std::uint8_t* ops() const { return static_cast<const std::uint8_t*>(ops_.data()); }
  /// Keys, or the lower ends of ranges.
  [[nodiscard]] const void* keys() const { return keys_.data(); }
  [[nodiscard]] const void* hi() const { return hi_.data(); }
  [[nodiscard]] const void* values() const { return values_.data(); }
  /// Columns: values, done.
  [[nodiscard]] const device_answers& out() const { return out_; }

 private:
  const blink_step* step_;
  device_column ops_, keys_, hi_, values_;
  device_answers out_;
};

class blink_under_test {
 public:
  /// An empty tree. Throws bad_arguments if the library has none of this shape for these types.
  blink_under_test(const device& dev, const data_spec& spec, const blink_shape& shape, double fill);

  /// Replaces the tree, freeing the old one first.
  void build(const void* keys, const void* values, std::size_t n);
  void run(const device_step& step, const write_options& options);
  /// One batch of writes, waited for; all pointers are the device's.
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
             const write_options& options) {
    tree_->write(op, keys, values, n, done, options, {device_.default_stream(), true});
  }
  /// The answers of ranges in host memory, as columns offsets, keys, values.
  [[nodiscard]] answers fetch(const range_buffers& raw) const;
  /// Elements of a snapshot.
  [[nodiscard]] std::uint64_t snapshot() const;
  /// find, contains, lower-bound, successor, predecessor, count, sum, min, max, avg.
  void ask(operation op, const request& what) const;
  [[nodiscard]] range_buffers range(const request& what) const;
  /// Ranges into rows; columns of the answers: counts, keys, values.
  void ask_rows(const request& what, std::uint64_t row) const;
  /// What the last step found, if it was a range.
  [[nodiscard]] const range_buffers& scanned() const { return scanned_; }

  /// With the number of slots that there really are.
  [[nodiscard]] blink_shape shape() const { return tree_->shape(); }
  [[nodiscard]] blink_stats stats() const { return tree_->stats(); }
  [[nodiscard]] validation validate() const { return tree_->validate(); }
  /// How a batch of writes is done.
  [[nodiscard]] write_path path_of(write_op op, std::size_t n, const write_options& options) const;
  /// Of apply().
  [[nodiscard]] write_path path_of_mixed(std::size_t n, const write_options& options) const;

 private:
  device device_;
  data_spec spec_;
  blink_shape asked_;
  blink_options options_;
  std::unique_ptr<espalier::detail::blink_index> tree_;
  range_buffers scanned_;
};

}  // namespace espalier::bench
