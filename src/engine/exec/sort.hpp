// sort.hpp - sorts rows by normalized keys.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/normalized_keys.hpp"

namespace espalier::engine {

struct sort_column {
  sort_key_column codes;
  bool descending = false;
  bool nulls_first = false;
};

/// Returns the first `limit` row numbers in order. The sort is stable.
[[nodiscard]] std::vector<std::int64_t> sorted_rows(const std::vector<sort_column>& keys, std::size_t rows,
                                                    std::uint64_t limit);

}  // namespace espalier::engine
