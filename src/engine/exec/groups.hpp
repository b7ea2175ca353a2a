// groups.hpp - rows with equal keys get equal numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/exec/normalized_keys.hpp"

namespace espalier::engine {

inline constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

/// Rows by group. Groups are numbered in the order in which rows bring them.
struct row_groups {
  std::vector<std::uint32_t> of_row;    ///< empty: all rows are in group 0
  std::vector<std::int64_t> first_row;  ///< of each group

  [[nodiscard]] std::size_t count() const { return first_row.size(); }
  [[nodiscard]] std::uint32_t group(std::size_t row) const { return of_row.empty() ? 0 : of_row[row]; }
};

/// Row numbers here have 32 bits; throws where they do not suffice.
void check_row_numbers(std::size_t rows);
/// Groups by one more column: rows are together if they were and have the same code. NULL is a value of its own, or,
/// where `skip_nulls`, rows with it are in no group.
[[nodiscard]] row_groups refined(const row_groups& before, const sort_key_column& codes, bool skip_nulls);
/// All rows in one group.
[[nodiscard]] row_groups one_group(std::size_t rows);
[[nodiscard]] row_groups grouped(const std::vector<sort_key_column>& keys, std::size_t rows);

/// Keys of one side of a join, to be looked up by those of the other.
class key_table {
 public:
  /// Columns of `build`, one for each key. Rows with a NULL are in no group.
  explicit key_table(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& build);
  ~key_table();
  [[nodiscard]] const row_groups& groups() const;
  /// The group that each row of the other side's keys belongs to, or no_group.
  [[nodiscard]] std::vector<std::uint32_t> find(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& probe) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The rows of each group, one group after the other, rows ascending: group g has [offsets[g], offsets[g + 1]).
struct grouped_rows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::int64_t> rows;
};
[[nodiscard]] grouped_rows rows_by_group(const row_groups& groups);

}  // namespace espalier::engine
