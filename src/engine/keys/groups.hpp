// groups.hpp - assigns equal numbers to rows with equal keys.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {

inline constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

/// Rows by group. Groups are numbered in the order of their first rows.
struct row_groups {
  std::vector<std::uint32_t> of_row;    ///< empty if all rows are in group 0
  std::vector<std::int64_t> first_row;  ///< first row of each group

  [[nodiscard]] std::size_t count() const { return first_row.size(); }
  [[nodiscard]] std::uint32_t group(std::size_t row) const { return of_row.empty() ? 0 : of_row[row]; }
};

/// Throws if the row numbers do not fit 32 bits.
void check_row_numbers(std::size_t rows);
/// Splits groups by one more column: rows share a group if they did before and have the same key. NULL is a value, or,
/// with `skip_nulls`, rows with NULL have no group.
[[nodiscard]] row_groups refined(const row_groups& before, const sort_key_column& codes, bool skip_nulls);
/// Returns all rows as one group.
[[nodiscard]] row_groups one_group(std::size_t rows);
[[nodiscard]] row_groups grouped(const std::vector<sort_key_column>& keys, std::size_t rows);

/// A table of the keys of one side of a join, which the keys of the other side probe.
class key_table {
 public:
  /// `build` has one column per key. Rows with a NULL have no group.
  explicit key_table(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& build);
  ~key_table();
  [[nodiscard]] const row_groups& groups() const;
  /// Returns the group of each row of the other side, or no_group.
  [[nodiscard]] std::vector<std::uint32_t> find(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& probe) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The rows of each group, stored contiguously and in ascending order: group g has [offsets[g], offsets[g + 1]).
struct grouped_rows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::int64_t> rows;
};
[[nodiscard]] grouped_rows rows_by_group(const row_groups& groups);

}  // namespace espalier::engine
