// index_aggregate.hpp - aggregates of key ranges, asked of an index for many ranges at once.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/index/table_index.hpp"
#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// Can the index answer this aggregate of a column? DISTINCT and expressions it cannot.
[[nodiscard]] bool index_can_answer(const table_index& index, const aggregate_call& call, std::size_t column);
/// One value for each range, in the type of the call. `column` is not used for COUNT(*).
[[nodiscard]] std::shared_ptr<arrow::Array> index_aggregate_values(const table_index& index, const aggregate_call& call,
                                                                   std::size_t column, const range_batch& ranges);

}  // namespace espalier::engine
