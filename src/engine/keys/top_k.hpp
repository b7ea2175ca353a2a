// top_k.hpp - selects candidates for the first rows of an order without sorting all rows.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <vector>

namespace espalier::engine {

struct top_order {
  bool descending = false;
  bool nulls_first = false;
  bool only_key = false;  ///< ties are resolved by row number; otherwise a later key decides
  std::uint64_t limit = 0;
};

/// Returns ascending rows that include the first `limit` rows of every order whose first key is this column, and few
/// others unless many rows tie.
[[nodiscard]] std::vector<std::int64_t> top_row_candidates(const arrow::ChunkedArray& first_key,
                                                           const top_order& order);

}  // namespace espalier::engine
