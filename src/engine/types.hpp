// types.hpp - column types: the engine's, Arrow's, and their SQL names.
//
// Each type is stored as exactly one Arrow type. Files may have other Arrow types; `loaded_type` returns the type that
// they are converted to, and table/convert.hpp converts them.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace espalier::engine {

enum class type_id : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  float32,
  float64,
  decimal,    // 128 bits; precision 1..38, scale 0..precision
  date,       // days since 1970-01-01
  timestamp,  // microseconds since 1970-01-01 00:00, no time zone
  varchar     // UTF-8 of any length
};

struct column_type {
  type_id id = type_id::int64;
  int precision = 0;  // for decimals, otherwise 0
  int scale = 0;

  friend bool operator==(const column_type&, const column_type&) = default;
};

inline constexpr int max_decimal_precision = 38;
/// The type of numeric without a precision, wherever values have no digits of their own to keep.
inline constexpr column_type plain_numeric{type_id::decimal, max_decimal_precision, 9};

[[nodiscard]] constexpr bool is_integer(type_id id) noexcept { return id >= type_id::int8 && id <= type_id::int64; }
[[nodiscard]] constexpr bool is_float(type_id id) noexcept { return id == type_id::float32 || id == type_id::float64; }
[[nodiscard]] constexpr bool is_numeric(type_id id) noexcept { return id >= type_id::int8 && id <= type_id::decimal; }

/// Returns the Arrow type as which a column of this type is stored.
[[nodiscard]] std::shared_ptr<arrow::DataType> arrow_type(const column_type& type);

/// Returns the type whose stored form is `type`, or nothing if it has to be converted first.
[[nodiscard]] std::optional<column_type> stored_type(const arrow::DataType& type);

/// Returns the type that a column of this Arrow type is converted to on load: unsigned integers are widened,
/// dictionaries and other string types become varchar, and instants become UTC. Returns nothing if no type can
/// represent it.
[[nodiscard]] std::optional<column_type> loaded_type(const arrow::DataType& type);

/// Returns PostgreSQL's name: "bigint", "numeric(12,2)", "double precision".
[[nodiscard]] std::string sql_name(const column_type& type);

/// Returns the type with that name, in any case: SQL names ("double precision"), the internal names of PostgreSQL's
/// parser ("int4", "bpchar"), and "tinyint". `modifiers` are the numbers in parentheses; numeric without any is
/// `plain_numeric`. Returns nothing for unknown names; throws `error` for modifiers that the type does not take.
[[nodiscard]] std::optional<column_type> type_from_sql(std::string_view name, std::span<const int> modifiers = {});

/// Returns decimal(precision, scale) after checking the arguments.
[[nodiscard]] column_type decimal_type(int precision, int scale);

}  // namespace espalier::engine
