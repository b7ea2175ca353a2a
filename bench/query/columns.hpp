// columns.hpp - Arrow columns whose values are functions of the row number.
#pragma once

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <tbb/parallel_for.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/table/arrow_status.hpp"

namespace espalier::bench {

/// Returns `value(row)` for each row, computed by all threads.
template <class Type, class Value>
[[nodiscard]] std::shared_ptr<arrow::Array> number_column(std::uint64_t first, std::uint64_t count,
                                                          const Value& value) {
  using number = typename Type::c_type;
  std::shared_ptr<arrow::Buffer> bytes = engine::value_of(
      arrow::AllocateBuffer(static_cast<std::int64_t>(count * sizeof(number))), "A column cannot be made");
  auto* const to = reinterpret_cast<number*>(bytes->mutable_data());
  tbb::parallel_for(std::uint64_t{0}, count, [&](std::uint64_t i) { to[i] = static_cast<number>(value(first + i)); });
  return std::make_shared<typename arrow::TypeTraits<Type>::ArrayType>(static_cast<std::int64_t>(count),
                                                                       std::move(bytes));
}

/// The same for strings: `value(row)` returns a std::string.
template <class Value>
[[nodiscard]] std::shared_ptr<arrow::Array> text_column(std::uint64_t first, std::uint64_t count, const Value& value) {
  std::vector<std::string> texts(count);
  tbb::parallel_for(std::uint64_t{0}, count, [&](std::uint64_t i) { texts[i] = value(first + i); });
  arrow::StringBuilder builder;
  engine::require_ok(builder.AppendValues(texts), "A column cannot be made");
  return engine::value_of(builder.Finish(), "A column cannot be made");
}

/// The same for decimals of 15 digits, two of them decimal places: `value(row)` is in hundredths.
template <class Value>
[[nodiscard]] std::shared_ptr<arrow::Array> money_column(std::uint64_t first, std::uint64_t count, const Value& value) {
  std::shared_ptr<arrow::Buffer> bytes = engine::value_of(
      arrow::AllocateBuffer(static_cast<std::int64_t>(count * sizeof(arrow::Decimal128))), "A column cannot be made");
  auto* const to = reinterpret_cast<arrow::Decimal128*>(bytes->mutable_data());
  tbb::parallel_for(std::uint64_t{0}, count,
                    [&](std::uint64_t i) { to[i] = arrow::Decimal128(static_cast<std::int64_t>(value(first + i))); });
  return std::make_shared<arrow::Decimal128Array>(arrow::decimal128(15, 2), static_cast<std::int64_t>(count),
                                                  std::move(bytes));
}

using named_column = std::pair<std::string, std::shared_ptr<arrow::Array>>;

[[nodiscard]] inline std::shared_ptr<arrow::Table> table_of(const std::vector<named_column>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : columns) {
    fields.push_back(arrow::field(name, values->type()));
    arrays.push_back(values);
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), arrays);
}

}  // namespace espalier::bench
