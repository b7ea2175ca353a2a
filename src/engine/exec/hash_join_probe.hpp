// hash_join_probe.hpp - which rows of two sides of a join have equal words.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/key_packer.hpp"

namespace espalier::engine {

/// For each row of the one side the rows of the other that it meets, ascending.
struct row_matches {
  struct list {
    std::uint32_t at = 0;  ///< of one row: the row; of several: where in `rows` they begin
    std::uint32_t count = 0;
  };
  std::vector<list> of_row;         ///< of each row of `probe`
  std::vector<std::uint32_t> rows;  ///< of `build`, in lists; empty where nobody has several
};

/// Rows without a key meet nobody; words of `probe` may be beyond those of `build`. Fewer than 2^32 - 1 rows on either
/// side.
///
/// Words of `build` that are close together number an array. Others are parted by their hash, and so are those of
/// `probe`, unless few different ones are asked for: then a part's table is made, asked and forgotten within a core's
/// cache.
[[nodiscard]] row_matches matched_rows(const packed_keys& build, const packed_keys& probe);

}  // namespace espalier::engine
