// engine_rows.hpp - tables of all types with NULLs, for tests of the query engine.
#pragma once

#include <arrow/api.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace espalier::test {

inline std::shared_ptr<arrow::Schema> schema_of_all_types() {
  return arrow::schema(
      {arrow::field("b", arrow::boolean()), arrow::field("i8", arrow::int8()), arrow::field("i16", arrow::int16()),
       arrow::field("i32", arrow::int32()), arrow::field("i64", arrow::int64()), arrow::field("f32", arrow::float32()),
       arrow::field("f64", arrow::float64()), arrow::field("d", arrow::decimal128(20, 3)),
       arrow::field("day", arrow::date32()), arrow::field("ts", arrow::timestamp(arrow::TimeUnit::MICRO)),
       arrow::field("s", arrow::utf8())});
}

inline std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {
      "a", "B", "0", ",", "\"", "'", "\n", "\\", "\xc3\xa4", " ", "NULL", "\xf0\x9f\x8c\xb3", "\t", "long piece "};
  std::string text;
  for (std::uint64_t n = random() % 6; n > 0; --n) text += pieces[random() % pieces.size()];
  return text;
}

inline std::shared_ptr<arrow::Scalar> random_scalar(const std::shared_ptr<arrow::DataType>& type,
                                                    std::mt19937_64& random) {
  const auto bits = static_cast<std::int64_t>(random());
  switch (type->id()) {
    case arrow::Type::BOOL:
      return std::make_shared<arrow::BooleanScalar>((bits & 1) != 0);
    case arrow::Type::INT8:
      return std::make_shared<arrow::Int8Scalar>(static_cast<std::int8_t>(bits));
    case arrow::Type::INT16:
      return std::make_shared<arrow::Int16Scalar>(static_cast<std::int16_t>(bits));
    case arrow::Type::INT32:
      return std::make_shared<arrow::Int32Scalar>(static_cast<std::int32_t>(bits));
    case arrow::Type::INT64:
      return std::make_shared<arrow::Int64Scalar>(bits);
    case arrow::Type::FLOAT:
      return std::make_shared<arrow::FloatScalar>(static_cast<float>(bits) / 3e9F);
    case arrow::Type::DOUBLE:
      return std::make_shared<arrow::DoubleScalar>(static_cast<double>(bits) / 7e5);
    case arrow::Type::DECIMAL128:
      return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(bits), type);
    case arrow::Type::DATE32:
      return std::make_shared<arrow::Date32Scalar>(static_cast<std::int32_t>(bits % 40000));
    case arrow::Type::TIMESTAMP:
      return std::make_shared<arrow::TimestampScalar>(bits % (std::int64_t{1} << 52), type);
    default:
      return std::make_shared<arrow::StringScalar>(random_text(random));
  }
}

/// About a seventh of the values are NULL.
inline std::shared_ptr<arrow::Table> random_rows(std::size_t rows, std::uint64_t seed,
                                                 const std::shared_ptr<arrow::Schema>& schema = schema_of_all_types()) {
  std::mt19937_64 random(seed);
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    auto builder = arrow::MakeBuilder(field->type()).ValueOrDie();
    for (std::size_t i = 0; i < rows; ++i) {
      const auto status =
          random() % 7 == 0 ? builder->AppendNull() : builder->AppendScalar(*random_scalar(field->type(), random));
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    columns.push_back(builder->Finish().ValueOrDie());
  }
  return arrow::Table::Make(schema, columns, static_cast<std::int64_t>(rows));
}

/// Returns a model of a row: its values as text.
inline std::vector<std::string> row_as_text(const arrow::Table& table, std::int64_t row) {
  std::vector<std::string> values;
  for (const auto& column : table.columns()) values.push_back(column->GetScalar(row).ValueOrDie()->ToString());
  return values;
}

}  // namespace espalier::test
