// column_aggregates.hpp - the values of one column in the order of an index, summed up so that an aggregate over a
// range of ranks costs the same whatever its length. Exact for integers and decimals; sums of floats are the exact
// ones, rounded once, and read the values of the range only where these span more than 159 bits or one of them is not
// finite.
//
// 8 bytes a row for a 64-bit column, and 1/64 of a node for each kind of question that was asked: 16 bytes for sums (32
// of decimals and floats), two values for minima and maxima.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

#include "engine/index/number_array.hpp"
#include "engine/index/table_index.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

/// A column of a version of a table.
struct summary_source {
  const table_version& table;
  std::size_t column;

  [[nodiscard]] const column_type& type() const;
  /// Values at these rows.
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> at(std::span<const std::uint64_t> rows) const;
};

/// Ranks [from, to) of the index, and values [added_from, added_to) beside it.
struct summed_range {
  std::uint64_t from = 0, to = 0;
  std::uint64_t added_from = 0, added_to = 0;
};

[[nodiscard]] bool can_summarize(aggregate_function f, const column_type& type);
/// Type of the answers.
[[nodiscard]] std::shared_ptr<arrow::DataType> summary_type(aggregate_function f, const column_type& type);

class column_aggregates {
 public:
  /// Of the rows in this order.
  [[nodiscard]] static std::unique_ptr<column_aggregates> make(const summary_source& source, const number_array& rows,
                                                               const device& host);
  virtual ~column_aggregates() = default;

  /// Makes what an answer needs; not beside others.
  virtual void prepare_aggregates(aggregate_function f) = 0;
  /// These ranks no longer count; ones that were erased before may be among them. Not beside others.
  virtual void erase(std::span<const std::uint64_t> ranks) = 0;
  /// `added`: values beside the index; may be null where no range has any.
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> answer(aggregate_function f, std::span<const summed_range> ranges,
                                                             const arrow::ChunkedArray* added) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

}  // namespace espalier::engine
