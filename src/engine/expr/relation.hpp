// relation.hpp - the data between operators: columns of equal length, identified by id.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/expr/expr.hpp"

namespace espalier::engine {

/// Rows in memory. Columns are immutable and shared, with any number of chunks.
struct relation {
  std::int64_t rows = 0;
  std::vector<column_id> ids;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;

  void add(column_id id, std::shared_ptr<arrow::ChunkedArray> column);
  [[nodiscard]] const std::shared_ptr<arrow::ChunkedArray>& column(column_id id) const;
};

/// A slice of a relation on which expressions are evaluated. Every column is one array.
struct batch {
  std::int64_t rows = 0;
  std::vector<column_id> ids;
  std::vector<std::shared_ptr<arrow::Array>> columns;

  void add(column_id id, std::shared_ptr<arrow::Array> column);
  [[nodiscard]] const std::shared_ptr<arrow::Array>& column(column_id id) const;
};

inline constexpr std::int64_t batch_rows = 1 << 17;  ///< the columns of a batch fit a core's cache

/// Returns rows [begin, begin + count) as a batch with the requested columns. Throws `text_overflow` (text_pieces.hpp)
/// if the text of a column in these rows does not fit one array.
[[nodiscard]] batch slice(const relation& from, std::int64_t begin, std::int64_t count,
                          const std::set<column_id>& wanted);
/// Returns the bytes of text of the requested columns in these rows.
[[nodiscard]] std::int64_t text_bytes(const relation& from, std::int64_t begin, std::int64_t count,
                                      const std::set<column_id>& wanted);
/// Calls body(i, begin, count) for pieces of about batch_rows rows in parallel; stops as parallel_for does.
void for_each_batch(std::int64_t rows, const std::function<void(std::size_t, std::int64_t, std::int64_t)>& body);
[[nodiscard]] std::size_t batch_count(std::int64_t rows);

/// Returns a column as one array. Throws `text_overflow` if its text does not fit.
[[nodiscard]] std::shared_ptr<arrow::Array> flat(const std::shared_ptr<arrow::ChunkedArray>& column);
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> chunked(std::shared_ptr<arrow::Array> array);

/// A row number that means "no row"; all columns are NULL there.
inline constexpr std::int64_t null_row = -1;
/// Gathers rows by number, with all columns.
[[nodiscard]] relation take_rows(const relation& from, std::span<const std::int64_t> rows);
/// The same, but rows may be null_row.
[[nodiscard]] relation take_rows_or_null(const relation& from, std::span<const std::int64_t> rows);
[[nodiscard]] relation slice_rows(const relation& from, std::int64_t begin, std::int64_t count);
/// Returns the columns of both relations, which have the same number of rows.
[[nodiscard]] relation beside(relation left, relation right);
/// Concatenates the rows of all relations without a copy. They have the same columns, and there is at least one.
[[nodiscard]] relation stacked(const std::vector<relation>& parts);
[[nodiscard]] std::uint64_t bytes_of(const relation& r);

}  // namespace espalier::engine
