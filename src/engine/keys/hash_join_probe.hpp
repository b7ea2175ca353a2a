// hash_join_probe.hpp - finds the rows of two join sides with equal words.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/keys/key_packer.hpp"

namespace espalier::engine {

/// For each row of one side, the matching rows of the other, ascending.
struct row_matches {
  struct list {
    std::uint32_t at = 0;  ///< the row if there is one; otherwise the start of the list in `rows`
    std::uint32_t count = 0;
  };
  std::vector<list> of_row;         ///< one list per row of `probe`
  std::vector<std::uint32_t> rows;  ///< rows of `build`; empty if no list has several rows
};

/// Matches the rows of both sides. Rows without a key have no match, and `probe` may have words outside the range of
/// `build`. Either side has fewer than 2^32 - 1 rows.
///
/// Dense words of `build` index an array. Other words are radix-partitioned by hash. If `probe` has many distinct
/// words, it is partitioned, too, and the table of a partition is built, probed and discarded within a core's cache.
/// Otherwise all tables are built first and probed in row order.
[[nodiscard]] row_matches matched_rows(const packed_keys& build, const packed_keys& probe);

}  // namespace espalier::engine
