// row_counts.hpp - the numbers of row ids and of rows of a table version, which identify what a saved index covers.
//
// Row ids are positions, and rows are only added and deleted until the table is compacted. Between two versions without
// a compaction, equal counts therefore imply equal rows.
#pragma once

#include <cstdint>

namespace espalier::engine {

struct row_counts {
  std::uint64_t rows = 0;  ///< row ids, including those of deleted rows
  std::uint64_t live = 0;  ///< rows that are not deleted

  friend bool operator==(const row_counts&, const row_counts&) = default;
};

/// Returns the number of rows that were added or deleted between two versions without a compaction. A row that was
/// added and deleted counts twice.
[[nodiscard]] inline std::uint64_t changes_between(const row_counts& before, const row_counts& after) {
  return (after.rows - before.rows) + ((after.rows - after.live) - (before.rows - before.live));
}

}  // namespace espalier::engine
