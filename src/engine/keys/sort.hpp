// sort.hpp - sorts rows by normalized keys.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {

struct sort_column {
  sort_key_column codes;
  bool descending = false;
  bool nulls_first = false;
};

/// Returns a negative value if row a precedes row b by this column, a positive one if it follows, and 0 for peers.
[[nodiscard]] int compare_rows(const sort_column& key, std::size_t a, std::size_t b);

/// Returns the first `limit` row numbers in order. The sort is stable.
[[nodiscard]] std::vector<std::int64_t> sorted_rows(const std::vector<sort_column>& keys, std::size_t rows,
                                                    std::uint64_t limit);

}  // namespace espalier::engine
