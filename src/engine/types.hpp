// types.hpp - the types of columns: ours, Arrow's, and the names that SQL has for them.
//
// A column is stored as exactly one Arrow type for each of ours. Files may bring others; `loaded_type` says what they
// become, and table/convert.hpp makes them so.
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
  int precision = 0;  // of decimals, else 0
  int scale = 0;

  friend bool operator==(const column_type&, const column_type&) = default;
};

inline constexpr int max_decimal_precision = 38;

[[nodiscard]] constexpr bool is_integer(type_id id) noexcept { return id >= type_id::int8 && id <= type_id::int64; }
[[nodiscard]] constexpr bool is_float(type_id id) noexcept { return id == type_id::float32 || id == type_id::float64; }
[[nodiscard]] constexpr bool is_numeric(type_id id) noexcept { return id >= type_id::int8 && id <= type_id::decimal; }

/// The Arrow type a column of this type is stored as.
[[nodiscard]] std::shared_ptr<arrow::DataType> arrow_type(const column_type& type);

/// The type whose stored form is `type`, or nothing where it first has to be converted.
[[nodiscard]] std::optional<column_type> stored_type(const arrow::DataType& type);

/// What a column of this Arrow type becomes when it is loaded: unsigned integers are widened, dictionaries and other
/// kinds of strings become varchar, instants become UTC. Nothing where no type of ours can hold it.
[[nodiscard]] std::optional<column_type> loaded_type(const arrow::DataType& type);

/// As PostgreSQL spells it: "bigint", "numeric(12,2)", "double precision".
[[nodiscard]] std::string sql_name(const column_type& type);

/// The type behind a name, in any case: SQL's ("double precision"), PostgreSQL's internal ones that its parser hands
/// out
/// ("int4", "bpchar"), and "tinyint". `modifiers` are the numbers in parentheses; numeric without any is numeric(18,3).
/// Nothing for unknown names; throws `error` for modifiers that the type does not take.
[[nodiscard]] std::optional<column_type> type_from_sql(std::string_view name, std::span<const int> modifiers = {});

/// decimal(precision, scale), checked.
[[nodiscard]] column_type decimal_type(int precision, int scale);

}  // namespace espalier::engine
