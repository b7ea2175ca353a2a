// aggregate.hpp - aggregates over groups of rows, except those that depend on an order (ordered_aggregate.hpp).
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/expr/expr.hpp"
#include "engine/keys/groups.hpp"

namespace espalier::engine {

/// Returns one value per group. `groups` groups cover `total` rows; a group may be empty, for an aggregate without
/// GROUP BY over no rows. `values` is null for COUNT(*). Sums of integers and decimals are exact and throw on overflow.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> aggregate_values(const aggregate_call& call,
                                                                    const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                    const row_groups& rows, std::size_t total,
                                                                    std::size_t groups);

/// Returns the average of each group from its decimal sum and its count, which is 0 for a group without values.
[[nodiscard]] std::shared_ptr<arrow::Array> average_values(const arrow::Array& sums, const arrow::Array& counts);

}  // namespace espalier::engine
