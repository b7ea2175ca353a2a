// blink_under_test.hpp - the B-link tree under measurement through its untyped interface. Types and policy are known at
// run time only, so that one harness serves every tree of the library.
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

/// The columns of a step in memory that the device can use, with memory for all results except those of ranges.
class device_step {
 public:
  device_step(const blink_step& step, const data_spec& spec, const device& dev);

  [[nodiscard]] const blink_step& step() const { return *step_; }
  [[nodiscard]] const std::uint8_t* ops() const { return static_cast<const std::uint8_t*>(ops_.data()); }
  /// Returns the keys, or the lower bounds of ranges.
  [[nodiscard]] const void* keys() const { return keys_.data(); }
  [[nodiscard]] const void* hi() const { return hi_.data(); }
  [[nodiscard]] const void* values() const { return values_.data(); }
  /// The columns are values and done.
  [[nodiscard]] const device_answers& out() const { return out_; }

 private:
  const blink_step* step_;
  device_column ops_, keys_, hi_, values_;
  device_answers out_;
};

class blink_under_test {
 public:
  /// Creates an empty tree. Throws bad_arguments if the library does not have this shape for these types.
  blink_under_test(const device& dev, const data_spec& spec, const blink_shape& shape, double fill);

  /// Replaces the tree after freeing the old one.
  void build(const void* keys, const void* values, std::size_t n);
  void run(const device_step& step, const write_options& options);
  /// Writes one batch and waits. All pointers are accessible to the device.
  void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
             const write_options& options) {
    tree_->write(op, keys, values, n, done, options, {device_.default_stream(), true});
  }
  /// Inserts one batch by a kernel through a ref, each thread one element, and returns the seconds of the launch until
  /// it is complete; reserving the nodes precedes them. All pointers are device memory. Precondition: inserts_by_ref().
  double insert_by_ref(const void* keys, const void* values, std::size_t n, std::uint8_t* done);
  /// Returns whether such a kernel is compiled for this tree: on a GPU, u32 and u64 keys with values of their size.
  [[nodiscard]] bool inserts_by_ref() const;
  /// Returns the results of ranges in host memory, as columns offsets, keys, values.
  [[nodiscard]] answers fetch(const range_buffers& raw) const;
  /// Returns the number of elements of a snapshot.
  [[nodiscard]] std::uint64_t snapshot() const;
  /// Runs find, contains, lower-bound, successor, predecessor, count, sum, min, max or avg.
  void ask(operation op, const request& what) const;
  [[nodiscard]] range_buffers range(const request& what) const;
  /// Writes ranges into rows; the columns of the results are counts, keys and values.
  void ask_rows(const request& what, std::uint64_t row) const;
  /// Returns the result of the last step, if it was a range.
  [[nodiscard]] const range_buffers& scanned() const { return scanned_; }

  /// Returns the shape with the actual number of slots.
  [[nodiscard]] blink_shape shape() const { return tree_->shape(); }
  [[nodiscard]] blink_stats stats() const { return tree_->stats(); }
  [[nodiscard]] validation validate() const { return tree_->validate(); }
  /// Returns the path that a batch of writes takes.
  /// The plan of a batch of reads, as the tree is now.
  [[nodiscard]] query_plan plan_of(const request& r) const;
  [[nodiscard]] write_path path_of(write_op op, std::size_t n, const write_options& options) const;
  /// The same for apply().
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
