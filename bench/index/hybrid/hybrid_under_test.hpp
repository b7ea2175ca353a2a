// hybrid_under_test.hpp - the hybrid tree under measurement through its untyped interface, as in blink_under_test.hpp.
// Queries and results are in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "bench/data/answers.hpp"
#include "bench/index/request.hpp"
#include "espalier/hybrid_tree/index.hpp"

namespace espalier::bench {

using espalier::detail::range_buffers;

class hybrid_under_test {
 public:
  /// `dev` traverses the inner levels together with the host.
  hybrid_under_test(device dev, const data_spec& spec) : device_(std::move(dev)), spec_(spec) {}

  /// Replaces the tree after freeing the old one.
  void build(const hybrid_options& options, const column& keys, const column& values);
  /// Runs find, contains, lower-bound, successor, predecessor, count, sum, min or max; `how` applies to those that use
  /// buckets.
  void ask(operation op, const request& what, const hybrid_query_options& how) const;
  /// Runs range-rows: counts, keys and values of rows with `row` elements.
  void ask_rows(const request& what, std::uint64_t row, const hybrid_query_options& how) const;
  /// Returns ranges as columns offsets, keys, values.
  [[nodiscard]] answers fetch(const range_buffers& raw) const;
  [[nodiscard]] range_buffers range(const request& what, const hybrid_query_options& how) const;
  void write(write_op op, const column& keys, const column& values, const column& done, update_mode way);
  void tune(const void* keys, std::size_t n) { tree_->tune(keys, n); }

  [[nodiscard]] hybrid_stats stats() const { return tree_->stats(); }
  [[nodiscard]] validation validate() const { return tree_->validate(); }

 private:
  device device_;
  data_spec spec_;
  std::unique_ptr<espalier::detail::hybrid_index> tree_;
};

}  // namespace espalier::bench
