// index_aggregate.hpp - aggregates over key ranges, answered by an index for many ranges at once.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/expr/expr.hpp"
#include "engine/index/table_index.hpp"

namespace espalier::engine {

/// Returns whether the index can answer this aggregate of a column. DISTINCT and expressions are not supported.
[[nodiscard]] bool index_can_answer(const table_index& index, const aggregate_call& call, std::size_t column);
/// Returns one value per range, of the call's type. `column` is ignored for COUNT(*).
[[nodiscard]] std::shared_ptr<arrow::Array> index_aggregate_values(const table_index& index, const aggregate_call& call,
                                                                   std::size_t column, const range_batch& ranges);

}  // namespace espalier::engine
