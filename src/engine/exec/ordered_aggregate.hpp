// ordered_aggregate.hpp - aggregates that depend on the order of values: string_agg, percentile_cont, percentile_disc.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

#include "engine/expr/expr.hpp"
#include "engine/keys/groups.hpp"

namespace espalier::engine {

/// Returns one value per group. `more` are the columns of `call.more`. Values of string_agg that tie in its ORDER BY,
/// or all values if it has none, are ordered by themselves, so the result does not depend on the order of rows.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> ordered_aggregate_values(
    const aggregate_call& call, const std::shared_ptr<arrow::ChunkedArray>& values,
    const std::vector<std::shared_ptr<arrow::ChunkedArray>>& more, const row_groups& rows, std::size_t groups);

}  // namespace espalier::engine
