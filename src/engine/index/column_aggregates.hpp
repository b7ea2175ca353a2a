// column_aggregates.hpp - the values of one column in index order, with partial aggregates, so that an aggregate over a
// range of ranks takes the same time for any length. Results are exact for integers and decimals. A sum of floats is
// the exact sum, rounded once; it reads the values of the range only if they span more than 159 bits or one of them is
// not finite.
//
// A 64-bit column takes 8 bytes per row, and 1/64 of a node per kind of aggregate that was requested: 16 bytes for sums
// (32 for decimals and floats), and two values for minima and maxima.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

#include "engine/index/number_array.hpp"
#include "engine/index/table_index.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

/// A column of a table version.
struct summary_source {
  const table_version& table;
  std::size_t column;

  [[nodiscard]] const column_type& type() const;
  /// Returns the values of these rows.
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> at(std::span<const std::uint64_t> rows) const;
};

/// Ranks [from, to) of the index, and values [added_from, added_to) of its pending rows.
struct summed_range {
  std::uint64_t from = 0, to = 0;
  std::uint64_t added_from = 0, added_to = 0;
};

[[nodiscard]] bool can_summarize(aggregate_function f, const column_type& type);
/// Returns the type of the results.
[[nodiscard]] std::shared_ptr<arrow::DataType> summary_type(aggregate_function f, const column_type& type);

class column_aggregates {
 public:
  /// Builds the aggregates of the rows in this order.
  [[nodiscard]] static std::unique_ptr<column_aggregates> make(const summary_source& source, const number_array& rows,
                                                               const device& host);
  virtual ~column_aggregates() = default;

  /// Builds what `f` requires. Must not run concurrently with other calls.
  virtual void prepare_aggregates(aggregate_function f) = 0;
  /// Erases these ranks; ranks that were erased before are ignored. Must not run concurrently with other calls.
  virtual void erase(std::span<const std::uint64_t> ranks) = 0;
  /// `added` are the values of pending rows; it may be null if no range includes any.
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> answer(aggregate_function f, std::span<const summed_range> ranges,
                                                             const arrow::ChunkedArray* added) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

}  // namespace espalier::engine
