// aggregate.hpp - aggregates over groups of rows, apart from those that need an order (ordered_aggregate.hpp).
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/exec/groups.hpp"
#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// One value for each of `groups` groups of `total` rows (there may be one without rows: aggregates without GROUP BY
/// over nothing). `values` is null for COUNT(*). Sums of integers and decimals are exact; one that does not fit throws.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> aggregate_values(const aggregate_call& call,
                                                                    const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                    const row_groups& rows, std::size_t total,
                                                                    std::size_t groups);

/// Averages of groups by their sums, decimals, and counts, which are 0 where there is none.
[[nodiscard]] std::shared_ptr<arrow::Array> average_values(const arrow::Array& sums, const arrow::Array& counts);

}  // namespace espalier::engine
