// relation.hpp - what operators hand to each other: columns of equal length, named by id.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// Rows in memory. Columns are immutable and shared, in as many chunks as they happen to have.
struct relation {
  std::int64_t rows = 0;
  std::vector<column_id> ids;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;

  void add(column_id id, std::shared_ptr<arrow::ChunkedArray> column);
  [[nodiscard]] const std::shared_ptr<arrow::ChunkedArray>& column(column_id id) const;
};

/// A piece of a relation on which expressions are evaluated: every column is one array.
struct batch {
  std::int64_t rows = 0;
  std::vector<column_id> ids;
  std::vector<std::shared_ptr<arrow::Array>> columns;

  void add(column_id id, std::shared_ptr<arrow::Array> column);
  [[nodiscard]] const std::shared_ptr<arrow::Array>& column(column_id id) const;
};

inline constexpr std::int64_t batch_rows = 1
                                           << 17;  ///< columns of a batch stay in a core's cache while it is worked on

/// Rows [begin, begin + count) as a batch, with the columns asked for only. Throws `text_overflow` (text_pieces.hpp)
/// where a column has more text in these rows than an array holds.
[[nodiscard]] batch slice(const relation& from, std::int64_t begin, std::int64_t count,
                          const std::set<column_id>& wanted);
/// Bytes of text in these rows of the columns asked for.
[[nodiscard]] std::int64_t text_bytes(const relation& from, std::int64_t begin, std::int64_t count,
                                      const std::set<column_id>& wanted);
/// Calls body(i, begin, count) for each piece of about batch_rows rows, by several threads; stops as parallel_for does.
void for_each_batch(std::int64_t rows, const std::function<void(std::size_t, std::int64_t, std::int64_t)>& body);
[[nodiscard]] std::size_t batch_count(std::int64_t rows);

/// A column as one array. Throws `text_overflow` where it has more text than one holds.
[[nodiscard]] std::shared_ptr<arrow::Array> flat(const std::shared_ptr<arrow::ChunkedArray>& column);
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> chunked(std::shared_ptr<arrow::Array> array);

/// A row number that stands for "no row": columns are NULL there.
inline constexpr std::int64_t null_row = -1;
/// Rows by number, with all columns.
[[nodiscard]] relation take_rows(const relation& from, std::span<const std::int64_t> rows);
/// The same, where some rows may be null_row.
[[nodiscard]] relation take_rows_or_null(const relation& from, std::span<const std::int64_t> rows);
[[nodiscard]] relation slice_rows(const relation& from, std::int64_t begin, std::int64_t count);
/// Columns of both, which have the same number of rows.
[[nodiscard]] relation beside(relation left, relation right);
/// Rows of all of them, one behind the other, without a copy; they have the same columns, and there is at least one.
[[nodiscard]] relation stacked(const std::vector<relation>& parts);
[[nodiscard]] std::uint64_t bytes_of(const relation& r);

}  // namespace espalier::engine
