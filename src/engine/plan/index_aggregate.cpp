#include "engine/plan/index_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/datum.h>
#include <arrow/type.h>

#include "engine/error.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/decimal_double.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "espalier/core/error.hpp"

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

// Returns SUM / COUNT as doubles, rounded as for aggregates over rows, and NULL if the count is 0.
std::shared_ptr<arrow::Array> averages(const table_index& index, std::size_t column, const range_batch& ranges) {
  const auto sums = index.aggregate(aggregate_function::sum, column, ranges);
  const auto all_counts = index.aggregate(aggregate_function::count_nonnull, column, ranges);
  const auto& counts = static_cast<const arrow::Int64Array&>(*all_counts);
  const auto average = [&](std::int64_t i) {
    const auto count = counts.Value(i);
    switch (sums->type_id()) {
      case arrow::Type::DOUBLE:
        return static_cast<const arrow::DoubleArray&>(*sums).Value(i) / static_cast<double>(count);
      case arrow::Type::INT64:
        return decimal_average(static_cast<const arrow::Int64Array&>(*sums).Value(i), 0, count);
      default: {
        const arrow::Decimal128 sum(static_cast<const arrow::Decimal128Array&>(*sums).GetValue(i));
        return decimal_average(sum, static_cast<const arrow::Decimal128Type&>(*sums->type()).scale(), count);
      }
    }
  };
  arrow::DoubleBuilder builder;
  check(builder.Reserve(sums->length()));
  for (std::int64_t i = 0; i < sums->length(); ++i) {
    if (sums->IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(average(i));
    }
  }
  return value_of(builder.Finish());
}

}  // namespace

bool index_can_answer(const table_index& index, const aggregate_call& call, std::size_t column) {
  if (call.distinct && call.function != "min" && call.function != "max") return false;
  if (!call.argument) return true;
  if (call.argument->kind != op::column) return false;
  if (call.function == "count") return index.can_aggregate(aggregate_function::count_nonnull, column);
  if (call.function == "min") return index.can_aggregate(aggregate_function::min, column);
  if (call.function == "max") return index.can_aggregate(aggregate_function::max, column);
  if (call.function != "sum" && call.function != "avg") return false;
  return index.can_aggregate(aggregate_function::sum, column) &&
         index.can_aggregate(aggregate_function::count_nonnull, column);
}

std::shared_ptr<arrow::Array> index_aggregate_values(const table_index& index, const aggregate_call& call,
                                                     std::size_t column, const range_batch& ranges) try {
  if (!call.argument) return range_counts(index, ranges);
  if (call.function == "avg") return averages(index, column, ranges);
  const auto function = call.function == "count" ? aggregate_function::count_nonnull
                        : call.function == "min" ? aggregate_function::min
                        : call.function == "max" ? aggregate_function::max
                                                 : aggregate_function::sum;
  return as_type(index.aggregate(function, column, ranges), call.type, call.position);
} catch (const overflow& problem) {
  throw_sql_error(codes::numeric_value_out_of_range, call.position, problem.what());  // the same error as for a scan
}

}  // namespace espalier::engine
