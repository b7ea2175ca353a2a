// table_version.hpp - the rows of a table at one moment: immutable, shared, cheap to derive the next moment from.
//
// A row's id is its position, from 0, and deleted rows keep theirs until the table is compacted. Rows lie in segments,
// which are record batches that later versions share. Invariants:
//  - Every segment has the columns of the table, in the stored Arrow types of types.hpp, and at least one row.
//  - Segments of fewer than `small_segment` rows are only at the end, and each has more than twice the rows of the
//  next:
//    appending row by row copies each row a few times, and leaves no more than a few small segments.
//  - A bit of the live mask exists for rows below `masked_rows` only; rows beyond are live.
#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/row_counts.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

struct column {
  std::string name;
  column_type type;
  bool nullable = true;

  friend bool operator==(const column&, const column&) = default;
};

class table_version {
 public:
  using pointer = std::shared_ptr<const table_version>;
  static constexpr std::uint64_t small_segment = std::uint64_t{1} << 16;

  /// A table without rows. Throws where two columns have one name or there is none.
  [[nodiscard]] static pointer empty(std::vector<column> columns);
  /// A table of these rows, whose columns are converted to stored types; all may be NULL.
  [[nodiscard]] static pointer from(const std::shared_ptr<arrow::Table>& rows);
  /// What the store read back: segments as `segments()` had them, and the live mask of the first `masked_rows` rows.
  [[nodiscard]] static pointer restored(std::vector<column> columns,
                                        std::vector<std::shared_ptr<arrow::RecordBatch>> segments,
                                        std::shared_ptr<arrow::Buffer> live_bits, std::uint64_t masked_rows);
  table_version(const table_version&) = delete;
  table_version& operator=(const table_version&) = delete;
  ~table_version();

  [[nodiscard]] const std::vector<column>& columns() const noexcept;
  /// Position of a column by its exact name; columns().size() where there is none.
  [[nodiscard]] std::size_t column_index(std::string_view name) const noexcept;
  [[nodiscard]] const std::shared_ptr<arrow::Schema>& schema() const noexcept;

  [[nodiscard]] std::uint64_t rows() const noexcept;       ///< positions, deleted ones included
  [[nodiscard]] std::uint64_t live_rows() const noexcept;  ///< rows of the table
  [[nodiscard]] row_counts counts() const noexcept { return {rows(), live_rows()}; }
  /// Rows of the table with ids below `end`, which is at most rows().
  [[nodiscard]] std::uint64_t live_rows_below(std::uint64_t end) const noexcept;
  [[nodiscard]] std::uint64_t bytes() const;  ///< of column data

  /// All positions, one chunk for each segment.
  [[nodiscard]] const std::shared_ptr<arrow::ChunkedArray>& data(std::size_t column) const;
  /// Columns and positions, deleted ones included, without a copy.
  [[nodiscard]] std::shared_ptr<arrow::Table> all_rows() const;
  [[nodiscard]] const std::vector<std::shared_ptr<arrow::RecordBatch>>& segments() const noexcept;
  [[nodiscard]] std::uint64_t segment_start(std::size_t segment) const;  ///< position of its first row

  [[nodiscard]] bool is_deleted(std::uint64_t row) const noexcept;
  /// True for live rows, one bit for each position; null if no row is deleted. Made at the first call.
  [[nodiscard]] std::shared_ptr<arrow::BooleanArray> live_mask() const;
  /// As it is kept: bits of the first `masked_rows()` rows. Null if no row is deleted.
  [[nodiscard]] const std::shared_ptr<arrow::Buffer>& live_bits() const noexcept;
  [[nodiscard]] std::uint64_t masked_rows() const noexcept;

  /// These columns of these rows, in this order; chunks of at most 2^20 rows, gathered in parallel where there are
  /// many.
  [[nodiscard]] std::shared_ptr<arrow::Table> take(std::span<const std::size_t> columns,
                                                   std::span<const std::uint64_t> rows) const;

  /// With these rows at the end, converted to the table's types; their ids are rows(), rows() + 1, ... Columns are
  /// taken by position. Throws where a value does not fit its column or is NULL where that may not be.
  [[nodiscard]] pointer appended(const std::shared_ptr<arrow::Table>& rows) const;
  /// Without these rows; ones that are deleted already stay so.
  [[nodiscard]] pointer erased(std::span<const std::uint64_t> rows) const;
  /// Only live rows: ids change, and indexes are built anew.
  [[nodiscard]] pointer compacted() const;

 private:
  struct parts;
  explicit table_version(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
