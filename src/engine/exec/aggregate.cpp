#include "engine/exec/aggregate.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <cmath>

#include "engine/exec/arrow_result.hpp"
#include "engine/exec/relation.hpp"
#include "engine/sql/error.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

using sum_word = espalier::int128;

// Calls body(row, value) for each value that is not NULL and in a group.
template <class Array, class Body>
void each_number(const arrow::ChunkedArray& column, const row_groups& rows, const Body& body) {
  std::size_t row = 0;
  for (const auto& chunk : column.chunks()) {
    const auto& typed = static_cast<const Array&>(*chunk);
    const bool nulls = typed.null_count() > 0;
    for (std::int64_t i = 0; i < typed.length(); ++i, ++row) {
      if (rows.of_row[row] == no_group || (nulls && typed.IsNull(i))) continue;
      if constexpr (std::is_same_v<Array, arrow::Decimal128Array>) {
        const arrow::Decimal128 value(typed.GetValue(i));
        body(row, static_cast<sum_word>(
                      (static_cast<espalier::uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64) |
                      value.low_bits()));
      } else {
        body(row, typed.raw_values()[i]);
      }
    }
  }
}

template <class Body>
void each_value(const arrow::ChunkedArray& column, const row_groups& rows, const Body& body) {
  switch (column.type()->id()) {
    case arrow::Type::INT8:
      return each_number<arrow::Int8Array>(column, rows, body);
    case arrow::Type::INT16:
      return each_number<arrow::Int16Array>(column, rows, body);
    case arrow::Type::INT32:
      return each_number<arrow::Int32Array>(column, rows, body);
    case arrow::Type::INT64:
      return each_number<arrow::Int64Array>(column, rows, body);
    case arrow::Type::FLOAT:
      return each_number<arrow::FloatArray>(column, rows, body);
    case arrow::Type::DOUBLE:
      return each_number<arrow::DoubleArray>(column, rows, body);
    default:
      return each_number<arrow::Decimal128Array>(column, rows, body);
  }
}

std::vector<std::int64_t> counts_of(const arrow::ChunkedArray* values, const row_groups& rows, std::size_t groups) {
  std::vector<std::int64_t> out(groups, 0);
  std::size_t row = 0;
  const auto count = [&](bool valid) {
    if (rows.of_row[row] != no_group && valid) ++out[rows.of_row[row]];
    ++row;
  };
  if (!values) {
    while (row < rows.of_row.size()) count(true);
    return out;
  }
  for (const auto& chunk : values->chunks()) {
    for (std::int64_t i = 0; i < chunk->length(); ++i) count(chunk->IsValid(i));
  }
  return out;
}

std::shared_ptr<arrow::Array> count_array(const std::vector<std::int64_t>& counts) {
  arrow::Int64Builder builder;
  check(builder.AppendValues(counts));
  return value_of(builder.Finish());
}

// Keeps one row for each different value of a group.
row_groups distinct_rows(const arrow::ChunkedArray& values, const row_groups& rows) {
  const auto finer = refined(rows, ordered_codes(values), true);
  row_groups out;
  out.of_row.assign(rows.of_row.size(), no_group);
  for (const auto first : finer.first_row) {
    out.of_row[static_cast<std::size_t>(first)] = rows.of_row[static_cast<std::size_t>(first)];
  }
  out.first_row = rows.first_row;
  return out;
}

arrow::Decimal128 decimal_of(sum_word value) {
  return {static_cast<std::int64_t>(value >> 64), static_cast<std::uint64_t>(value)};
}

std::shared_ptr<arrow::Array> exact_sums(const aggregate_call& call, const arrow::ChunkedArray& values,
                                         const row_groups& rows, const std::vector<std::int64_t>& counts) {
  std::vector<sum_word> sums(counts.size(), 0);
  bool overflowed = false;
  each_value(values, rows, [&](std::size_t row, auto value) {
    auto& sum = sums[rows.of_row[row]];
    overflowed |= __builtin_add_overflow(sum, static_cast<sum_word>(value), &sum);
  });
  const auto type = arrow_type(call.type);
  const auto limit = arrow::Decimal128::GetMaxValue(38);
  const auto builder = value_of(arrow::MakeBuilder(type));
  for (std::size_t g = 0; g < counts.size(); ++g) {
    if (counts[g] == 0) {
      check(builder->AppendNull());
    } else if (call.type.id == type_id::int64) {
      const auto sum = static_cast<std::int64_t>(sums[g]);
      if (overflowed || static_cast<sum_word>(sum) != sums[g]) refuse(call.position, "The sum does not fit bigint.");
      check(static_cast<arrow::Int64Builder&>(*builder).Append(sum));
    } else {
      const auto sum = decimal_of(sums[g]);
      if (overflowed || sum > limit || sum < -limit) refuse(call.position, "The sum has more than 38 digits.");
      check(static_cast<arrow::Decimal128Builder&>(*builder).Append(sum));
    }
  }
  return value_of(builder->Finish());
}

double scale_of(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DECIMAL128) return 1;
  return std::pow(10.0, static_cast<const arrow::Decimal128Type&>(type).scale());
}

// Doubles are added with what each addition lost (Neumaier), so that the order of rows hardly matters.
std::shared_ptr<arrow::Array> double_sums(const arrow::ChunkedArray& values, const row_groups& rows,
                                          const std::vector<std::int64_t>& counts, bool average) {
  std::vector<double> sums(counts.size(), 0), lost(counts.size(), 0);
  const bool exact = values.type()->id() != arrow::Type::FLOAT && values.type()->id() != arrow::Type::DOUBLE;
  if (exact) {
    std::vector<sum_word> whole(counts.size(), 0);
    each_value(values, rows,
               [&](std::size_t row, auto value) { whole[rows.of_row[row]] += static_cast<sum_word>(value); });
    const double scale = scale_of(*values.type());
    for (std::size_t g = 0; g < sums.size(); ++g) sums[g] = static_cast<double>(whole[g]) / scale;
  } else {
    each_value(values, rows, [&](std::size_t row, auto value) {
      const auto number = static_cast<double>(value);
      double& sum = sums[rows.of_row[row]];
      const double next = sum + number;
      if (std::isfinite(next)) {
        lost[rows.of_row[row]] += std::abs(sum) >= std::abs(number) ? (sum - next) + number : (number - next) + sum;
      }
      sum = next;
    });
  }
  arrow::DoubleBuilder builder;
  for (std::size_t g = 0; g < sums.size(); ++g) {
    const double sum = std::isfinite(sums[g]) ? sums[g] + lost[g] : sums[g];
    check(counts[g] == 0 ? builder.AppendNull() : builder.Append(average ? sum / static_cast<double>(counts[g]) : sum));
  }
  return value_of(builder.Finish());
}

std::shared_ptr<arrow::Array> extreme_values(const std::shared_ptr<arrow::ChunkedArray>& values, const row_groups& rows,
                                             std::size_t groups, bool least) {
  const auto codes = ordered_codes(*values);
  std::vector<std::int64_t> best(groups, null_row);
  const auto better = [&](std::size_t a, std::size_t b) {
    if (!codes.high.empty() && codes.high[a] != codes.high[b]) return (codes.high[a] < codes.high[b]) == least;
    return codes.words[a] != codes.words[b] && (codes.words[a] < codes.words[b]) == least;
  };
  for (std::size_t row = 0; row < rows.of_row.size(); ++row) {
    if (rows.of_row[row] == no_group || codes.is_null(row)) continue;
    auto& chosen = best[rows.of_row[row]];
    if (chosen == null_row || better(row, static_cast<std::size_t>(chosen))) chosen = static_cast<std::int64_t>(row);
  }
  relation one;
  one.rows = values->length();
  one.add(0, values);
  return flat(take_rows_or_null(one, best).columns[0]);
}

}  // namespace

std::shared_ptr<arrow::Array> aggregate_values(const aggregate_call& call,
                                               const std::shared_ptr<arrow::ChunkedArray>& values,
                                               const row_groups& rows, std::size_t groups) {
  if (call.distinct && values) {
    aggregate_call plain = call;
    plain.distinct = false;
    return aggregate_values(plain, values, distinct_rows(*values, rows), groups);
  }
  if (call.function == "min" || call.function == "max")
    return extreme_values(values, rows, groups, call.function == "min");
  const auto counts = counts_of(values.get(), rows, groups);
  if (call.function == "count") return count_array(counts);
  if (call.function == "avg" || call.type.id == type_id::float64) {
    return double_sums(*values, rows, counts, call.function == "avg");
  }
  return exact_sums(call, *values, rows, counts);
}

}  // namespace espalier::engine
