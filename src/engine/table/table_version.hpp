// table_version.hpp - an immutable, shared snapshot of the rows of a table; deriving the next version is cheap.
//
// A row's id is its position, from 0, and deleted rows keep theirs until the table is compacted. Rows are stored in
// segments, which are record batches that later versions share. Invariants:
// - Every segment has the columns of the table, in the stored Arrow types of types.hpp, and at least one row.
// - Segments of fewer than `small_segment` rows are at the end only, and each has more than twice the rows of the next.
//   Appending row by row therefore copies each row a few times and leaves only a few small segments.
// - The live mask has bits for rows below `masked_rows` only; later rows are live.
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

  /// Creates a table without rows. Throws if there are no columns or two have the same name.
  [[nodiscard]] static pointer empty(std::vector<column> columns);
  /// Creates a table of these rows, with columns converted to stored types; all columns are nullable.
  [[nodiscard]] static pointer from(const std::shared_ptr<arrow::Table>& rows);
  /// Restores a table that the store has read: `segments` as returned by `segments()`, and the live mask of the first
  /// `masked_rows` rows.
  [[nodiscard]] static pointer restored(std::vector<column> columns,
                                        std::vector<std::shared_ptr<arrow::RecordBatch>> segments,
                                        std::shared_ptr<arrow::Buffer> live_bits, std::uint64_t masked_rows);
  table_version(const table_version&) = delete;
  table_version& operator=(const table_version&) = delete;
  ~table_version();

  [[nodiscard]] const std::vector<column>& columns() const noexcept;
  /// Returns the position of a column by its exact name, or columns().size() if there is none.
  [[nodiscard]] std::size_t column_index(std::string_view name) const noexcept;
  [[nodiscard]] const std::shared_ptr<arrow::Schema>& schema() const noexcept;

  [[nodiscard]] std::uint64_t rows() const noexcept;       ///< number of row ids, including deleted rows
  [[nodiscard]] std::uint64_t live_rows() const noexcept;  ///< number of rows that are not deleted
  [[nodiscard]] row_counts counts() const noexcept { return {rows(), live_rows()}; }
  /// Returns the number of live rows with ids below `end`, which is at most rows().
  [[nodiscard]] std::uint64_t live_rows_below(std::uint64_t end) const noexcept;
  [[nodiscard]] std::uint64_t bytes() const;  ///< bytes of column data

  /// Returns all positions of a column, one chunk per segment.
  [[nodiscard]] const std::shared_ptr<arrow::ChunkedArray>& data(std::size_t column) const;
  /// Returns all columns and positions, including deleted rows, without a copy.
  [[nodiscard]] std::shared_ptr<arrow::Table> all_rows() const;
  [[nodiscard]] const std::vector<std::shared_ptr<arrow::RecordBatch>>& segments() const noexcept;
  [[nodiscard]] std::uint64_t segment_start(std::size_t segment) const;  ///< id of its first row

  [[nodiscard]] bool is_deleted(std::uint64_t row) const noexcept;
  /// Returns a bit per position, true for live rows, or null if no row is deleted. Built at the first call.
  [[nodiscard]] std::shared_ptr<arrow::BooleanArray> live_mask() const;
  /// Returns the stored bits of the first `masked_rows()` rows, or null if no row is deleted.
  [[nodiscard]] const std::shared_ptr<arrow::Buffer>& live_bits() const noexcept;
  [[nodiscard]] std::uint64_t masked_rows() const noexcept;

  /// Returns these columns of these rows, in this order, in chunks of at most 2^20 rows; gathers in parallel if there
  /// are many.
  [[nodiscard]] std::shared_ptr<arrow::Table> take(std::span<const std::size_t> columns,
                                                   std::span<const std::uint64_t> rows) const;

  /// Returns a version with these rows appended, converted to the table's types; their ids are rows(), rows() + 1, ...
  /// Columns are matched by position. Throws if a value does not fit its column, or is NULL in a column that is not
  /// nullable.
  [[nodiscard]] pointer appended(const std::shared_ptr<arrow::Table>& rows) const;
  /// Returns a version without these rows; rows that are already deleted are ignored.
  [[nodiscard]] pointer erased(std::span<const std::uint64_t> rows) const;
  /// Returns a version with live rows only. Row ids change, so indexes have to be rebuilt.
  [[nodiscard]] pointer compacted() const;

 private:
  struct parts;
  explicit table_version(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
