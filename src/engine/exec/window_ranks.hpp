// window_ranks.hpp - row_number, rank, dense_rank, percent_rank, cume_dist and ntile, which read no values of rows.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "engine/exec/window_order.hpp"

namespace espalier::engine {

[[nodiscard]] bool is_rank_function(const std::string& function);
/// `buckets` is the argument of ntile, a bigint column, and null for other functions. The first row of a partition
/// determines the number of buckets, as in PostgreSQL.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> rank_values(const std::string& function,
                                                               const std::shared_ptr<arrow::ChunkedArray>& buckets,
                                                               const window_order& order, const window_runs& runs,
                                                               int position);

}  // namespace espalier::engine
