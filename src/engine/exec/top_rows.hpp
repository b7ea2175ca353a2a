// top_rows.hpp - the few rows among which the first ones of an order are, without sorting all.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <vector>

namespace espalier::engine {

/// Rows, ascending, that hold the first `limit` ones of every order whose first key is this column: each batch of rows
/// gives its own first ones by that key, and all that tie with the last of them.
[[nodiscard]] std::vector<std::int64_t> top_row_candidates(const arrow::ChunkedArray& first_key, bool descending,
                                                           bool nulls_first, std::uint64_t limit);

}  // namespace espalier::engine
