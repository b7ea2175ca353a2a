// top_k.hpp - the few rows among which the first ones of an order are, without sorting all.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <vector>

namespace espalier::engine {

struct top_order {
  bool descending = false;
  bool nulls_first = false;
  bool only_key = false;  ///< rows with equal values are in the order of their numbers; else a later key decides
  std::uint64_t limit = 0;
};

/// Rows, ascending, that hold the first `limit` ones of every order whose first key is this column, and few others
/// unless many rows tie.
[[nodiscard]] std::vector<std::int64_t> top_row_candidates(const arrow::ChunkedArray& first_key,
                                                           const top_order& order);

}  // namespace espalier::engine
