#include "cli/query/cell_text.hpp"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/text_values.hpp"

namespace espalier::cli {
namespace {

template <class Array>
auto value_at(const arrow::Array& values, std::int64_t row) {
  return static_cast<const Array&>(values).Value(row);
}

// Arrow writes small decimals with an exponent; here all digits are shown.
std::string decimal_text(const arrow::Array& values, std::int64_t row) {
  const auto scale = static_cast<std::size_t>(static_cast<const arrow::Decimal128Type&>(*values.type()).scale());
  std::string digits =
      arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(values).GetValue(row)).ToIntegerString();
  if (scale == 0) return digits;
  const std::string sign = digits.front() == '-' ? "-" : "";
  digits.erase(0, sign.size());
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  return sign + digits.insert(digits.size() - scale, ".");
}

template <class Float>
std::string float_text(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

bool is_plain_number(const arrow::Array& values, std::int64_t row) {
  switch (values.type_id()) {
    case arrow::Type::FLOAT:
      return std::isfinite(value_at<arrow::FloatArray>(values, row));
    case arrow::Type::DOUBLE:
      return std::isfinite(value_at<arrow::DoubleArray>(values, row));
    default:
      return is_set_right(*values.type());
  }
}

}  // namespace

std::string cell_text(const arrow::Array& values, std::int64_t row) {
  if (values.IsNull(row)) return "NULL";
  switch (values.type_id()) {
    case arrow::Type::BOOL:
      return value_at<arrow::BooleanArray>(values, row) ? "true" : "false";
    case arrow::Type::INT8:
      return fmt::format("{}", static_cast<int>(value_at<arrow::Int8Array>(values, row)));
    case arrow::Type::INT16:
      return fmt::format("{}", value_at<arrow::Int16Array>(values, row));
    case arrow::Type::INT32:
      return fmt::format("{}", value_at<arrow::Int32Array>(values, row));
    case arrow::Type::INT64:
      return fmt::format("{}", value_at<arrow::Int64Array>(values, row));
    case arrow::Type::FLOAT:
      return float_text(value_at<arrow::FloatArray>(values, row));
    case arrow::Type::DOUBLE:
      return float_text(value_at<arrow::DoubleArray>(values, row));
    case arrow::Type::DECIMAL128:
      return decimal_text(values, row);
    case arrow::Type::DATE32:
      return engine::text_of_date(value_at<arrow::Date32Array>(values, row));
    case arrow::Type::TIMESTAMP:
      return engine::text_of_timestamp(value_at<arrow::TimestampArray>(values, row));
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(values).GetString(row);
    default:
      return values.GetScalar(row).ValueOrDie()->ToString();
  }
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string cell_json(const arrow::Array& values, std::int64_t row) {
  if (values.IsNull(row)) return "null";
  const std::string text = cell_text(values, row);
  if (values.type_id() == arrow::Type::BOOL || is_plain_number(values, row)) return text;
  return json_string(text);
}

bool is_set_right(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

}  // namespace espalier::cli
