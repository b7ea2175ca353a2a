// types.cpp - type names and the conversion rules on load.
#include "engine/types.hpp"

#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "espalier/core/error.hpp"

namespace espalier::engine {
namespace {

struct type_name {
  std::string_view name;
  type_id id;
};

// The first name of each type is the one that is printed.
constexpr std::array type_names = {
    type_name{"boolean", type_id::boolean},
    type_name{"bool", type_id::boolean},
    type_name{"tinyint", type_id::int8},
    type_name{"int1", type_id::int8},
    type_name{"smallint", type_id::int16},
    type_name{"int2", type_id::int16},
    type_name{"integer", type_id::int32},
    type_name{"int", type_id::int32},
    type_name{"int4", type_id::int32},
    type_name{"bigint", type_id::int64},
    type_name{"int8", type_id::int64},
    type_name{"real", type_id::float32},
    type_name{"float4", type_id::float32},
    type_name{"double precision", type_id::float64},
    type_name{"double", type_id::float64},
    type_name{"float8", type_id::float64},
    type_name{"float", type_id::float64},
    type_name{"numeric", type_id::decimal},
    type_name{"decimal", type_id::decimal},
    type_name{"date", type_id::date},
    type_name{"timestamp", type_id::timestamp},
    type_name{"timestamp without time zone", type_id::timestamp},
    type_name{"varchar", type_id::varchar},
    type_name{"text", type_id::varchar},
    type_name{"character varying", type_id::varchar},
    type_name{"string", type_id::varchar},
};

std::string_view printed_name(type_id id) { return std::ranges::find(type_names, id, &type_name::id)->name; }

std::optional<column_type> decimal_if_it_fits(const arrow::DataType& type) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  if (decimal.precision() > max_decimal_precision || decimal.scale() < 0 || decimal.scale() > decimal.precision()) {
    return std::nullopt;
  }
  return column_type{type_id::decimal, decimal.precision(), decimal.scale()};
}

}  // namespace

std::shared_ptr<arrow::DataType> arrow_type(const column_type& type) {
  switch (type.id) {
    case type_id::boolean:
      return arrow::boolean();
    case type_id::int8:
      return arrow::int8();
    case type_id::int16:
      return arrow::int16();
    case type_id::int32:
      return arrow::int32();
    case type_id::int64:
      return arrow::int64();
    case type_id::float32:
      return arrow::float32();
    case type_id::float64:
      return arrow::float64();
    case type_id::decimal:
      return arrow::decimal128(type.precision, type.scale);
    case type_id::date:
      return arrow::date32();
    case type_id::timestamp:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    case type_id::varchar:
      break;
  }
  return arrow::utf8();
}

std::optional<column_type> stored_type(const arrow::DataType& type) {
  const auto loaded = loaded_type(type);
  if (!loaded || !arrow_type(*loaded)->Equals(type)) return std::nullopt;
  return loaded;
}

std::optional<column_type> loaded_type(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return column_type{type_id::boolean};
    case arrow::Type::INT8:
      return column_type{type_id::int8};
    case arrow::Type::INT16:
    case arrow::Type::UINT8:
      return column_type{type_id::int16};
    case arrow::Type::INT32:
    case arrow::Type::UINT16:
      return column_type{type_id::int32};
    case arrow::Type::INT64:
    case arrow::Type::UINT32:
      return column_type{type_id::int64};
    case arrow::Type::UINT64:
      return column_type{type_id::decimal, 20, 0};
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
      return column_type{type_id::float32};
    case arrow::Type::DOUBLE:
      return column_type{type_id::float64};
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return decimal_if_it_fits(type);
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
      return column_type{type_id::date};
    case arrow::Type::TIMESTAMP:
      return column_type{type_id::timestamp};
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::NA:
      return column_type{type_id::varchar};
    case arrow::Type::DICTIONARY:
      return loaded_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return std::nullopt;
  }
}

std::string sql_name(const column_type& type) {
  if (type.id != type_id::decimal) return std::string(printed_name(type.id));
  return fmt::format("numeric({},{})", type.precision, type.scale);
}

column_type decimal_type(int precision, int scale) {
  if (precision < 1 || precision > max_decimal_precision || scale < 0 || scale > precision) {
    throw error(
        fmt::format("numeric({},{}) cannot be stored: a precision of 1 to {} and a scale of 0 to the precision can.",
                    precision, scale, max_decimal_precision));
  }
  return {type_id::decimal, precision, scale};
}

std::optional<column_type> type_from_sql(std::string_view name, std::span<const int> modifiers) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::ranges::find(type_names, lower, &type_name::name);
  if (found == type_names.end()) return std::nullopt;
  if (found->id == type_id::decimal) {
    if (modifiers.size() > 2) throw error("numeric takes a precision and a scale, as in numeric(12,2).");
    if (modifiers.empty()) return plain_numeric;
    return decimal_type(modifiers[0], modifiers.size() == 2 ? modifiers[1] : 0);
  }
  // PostgreSQL truncates or refuses strings longer than varchar(n) and rounds to timestamp(p). These modifiers are
  // refused here, since ignoring them would change results.
  if (!modifiers.empty()) {
    throw error(fmt::format("{} takes no number in parentheses here: columns of it hold every value.", lower));
  }
  return column_type{found->id};
}

}  // namespace espalier::engine
