#include "engine/exec/index_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/type.h>

#include "engine/exec/arrow_result.hpp"
#include "engine/exec/cast.hpp"
#include "engine/exec/kernels.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::Array> range_counts(const table_index& index, const range_batch& ranges) {
  arrow::Int64Builder builder;
  for (const auto count : index.counts(ranges)) check(builder.Append(static_cast<std::int64_t>(count)));
  return value_of(builder.Finish());
}

std::shared_ptr<arrow::Array> as_type(const std::shared_ptr<arrow::Array>& values, const column_type& type,
                                      int position) {
  const auto have = stored_type(*values->type());
  return have && *have != type ? cast(values, *have, type, position).make_array() : values;
}

// SUM / COUNT, as doubles; NULL where there is nothing to count.
std::shared_ptr<arrow::Array> averages(const table_index& index, std::size_t column, const range_batch& ranges,
                                       int position) {
  const column_type as_double{type_id::float64};
  const auto sum = as_type(index.aggregate(aggregate_function::sum, column, ranges), as_double, position);
  const auto count = as_type(index.aggregate(aggregate_function::count_nonnull, column, ranges), as_double, position);
  // Where the count is 0 the sum is NULL, and so is the quotient.
  return call_kernel("divide", {sum, count}, position).make_array();
}

}  // namespace

bool index_can_answer(const table_index& index, const aggregate_call& call, std::size_t column) {
  if (call.distinct && call.function != "min" && call.function != "max") return false;
  if (!call.argument) return true;
  if (call.argument->kind != op::column) return false;
  if (call.function == "count") return index.can_aggregate(aggregate_function::count_nonnull, column);
  if (call.function == "min") return index.can_aggregate(aggregate_function::min, column);
  if (call.function == "max") return index.can_aggregate(aggregate_function::max, column);
  return index.can_aggregate(aggregate_function::sum, column) &&
         index.can_aggregate(aggregate_function::count_nonnull, column);
}

std::shared_ptr<arrow::Array> index_aggregate_values(const table_index& index, const aggregate_call& call,
                                                     std::size_t column, const range_batch& ranges) {
  if (!call.argument) return range_counts(index, ranges);
  if (call.function == "avg") return averages(index, column, ranges, call.position);
  const auto function = call.function == "count" ? aggregate_function::count_nonnull
                        : call.function == "min" ? aggregate_function::min
                        : call.function == "max" ? aggregate_function::max
                                                 : aggregate_function::sum;
  return as_type(index.aggregate(function, column, ranges), call.type, call.position);
}

}  // namespace espalier::engine
