// row_counts.hpp - how many row ids and rows a table has at one moment: what a saved index covers.
//
// Row ids are positions, and rows are only added and deleted until the table is compacted. Between two moments without
// a compaction in between, equal counts therefore mean equal rows.
#pragma once

#include <cstdint>

namespace espalier::engine {

struct row_counts {
  std::uint64_t rows = 0;  ///< row ids, those of deleted rows included
  std::uint64_t live = 0;  ///< rows that are not deleted

  friend bool operator==(const row_counts&, const row_counts&) = default;
};

/// Rows that were added or deleted between two moments without a compaction; one that was added and deleted counts
/// twice.
[[nodiscard]] inline std::uint64_t changes_between(const row_counts& before, const row_counts& after) {
  return (after.rows - before.rows) + ((after.rows - after.live) - (before.rows - before.live));
}

}  // namespace espalier::engine
