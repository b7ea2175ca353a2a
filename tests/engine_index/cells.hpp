// cells.hpp - values of tables as plain C++ with an order of its own: nothing here uses the codecs of the engine.
#pragma once

#include <arrow/api.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "engine/types.hpp"
#include "espalier/core/config.hpp"

namespace espalier::test {

using engine::column_type;
using engine::type_id;

/// int128: booleans, integers, dates, timestamps, and decimals as integers of their last digit.
using value = std::variant<int128, double, std::string>;
using cell = std::optional<value>;
using cells = std::vector<cell>;

/// Below, equal, above: as PostgreSQL orders them. Both are values.
[[nodiscard]] inline int compare(const value& a, const value& b) {
  if (const auto* x = std::get_if<double>(&a)) {
    const double y = std::get<double>(b);
    if (std::isnan(*x) || std::isnan(y)) return static_cast<int>(std::isnan(*x)) - static_cast<int>(std::isnan(y));
    return *x < y ? -1 : *x > y ? 1 : 0;
  }
  return a < b ? -1 : a == b ? 0 : 1;
}

/// The same with NULL above all.
[[nodiscard]] inline int compare_cells(const cell& a, const cell& b) {
  if (!a || !b) return static_cast<int>(!a) - static_cast<int>(!b);
  return compare(*a, *b);
}

[[nodiscard]] inline arrow::Decimal128 decimal_value(int128 x) {
  return {static_cast<std::int64_t>(x >> 64), static_cast<std::uint64_t>(x)};
}

inline void append_cell(arrow::ArrayBuilder& to, const column_type& type, const value& v) {
  const auto integer = [&] { return std::get<int128>(v); };
  const auto put = [&]<class Builder>(Builder*, auto x) { EXPECT_TRUE(static_cast<Builder&>(to).Append(x).ok()); };
  switch (type.id) {
    case type_id::boolean:
      return put(static_cast<arrow::BooleanBuilder*>(nullptr), integer() != 0);
    case type_id::int8:
      return put(static_cast<arrow::Int8Builder*>(nullptr), static_cast<std::int8_t>(integer()));
    case type_id::int16:
      return put(static_cast<arrow::Int16Builder*>(nullptr), static_cast<std::int16_t>(integer()));
    case type_id::int32:
      return put(static_cast<arrow::Int32Builder*>(nullptr), static_cast<std::int32_t>(integer()));
    case type_id::int64:
      return put(static_cast<arrow::Int64Builder*>(nullptr), static_cast<std::int64_t>(integer()));
    case type_id::date:
      return put(static_cast<arrow::Date32Builder*>(nullptr), static_cast<std::int32_t>(integer()));
    case type_id::timestamp:
      return put(static_cast<arrow::TimestampBuilder*>(nullptr), static_cast<std::int64_t>(integer()));
    case type_id::decimal:
      return put(static_cast<arrow::Decimal128Builder*>(nullptr), decimal_value(integer()));
    case type_id::float32:
      return put(static_cast<arrow::FloatBuilder*>(nullptr), static_cast<float>(std::get<double>(v)));
    case type_id::float64:
      return put(static_cast<arrow::DoubleBuilder*>(nullptr), std::get<double>(v));
    case type_id::varchar:
      return put(static_cast<arrow::StringBuilder*>(nullptr), std::get<std::string>(v));
  }
}

[[nodiscard]] inline std::shared_ptr<arrow::Array> array_of(const column_type& type, const cells& values) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), engine::arrow_type(type), &builder).ok());
  for (const cell& c : values) {
    if (c) {
      append_cell(*builder, type, *c);
    } else {
      EXPECT_TRUE(builder->AppendNull().ok());
    }
  }
  return builder->Finish().ValueOrDie();
}

[[nodiscard]] inline std::string text_of(const cell& c) {
  if (!c) return "NULL";
  if (const auto* s = std::get_if<std::string>(&*c)) return testing::PrintToString(*s);
  if (const auto* d = std::get_if<double>(&*c)) return std::to_string(*d);
  return decimal_value(std::get<int128>(*c)).ToIntegerString();
}

[[nodiscard]] inline cell integer(std::int64_t x) { return value(int128{x}); }
[[nodiscard]] inline cell real(double x) { return value(x); }
[[nodiscard]] inline cell text(std::string x) { return value(std::move(x)); }

/// Values that are near each other, at the ends of the type, and otherwise remarkable: a few, so that they meet.
[[nodiscard]] inline cells remarkable(const column_type& type) {
  const auto integers = [](std::int64_t least, std::int64_t greatest) {
    return cells{integer(least),
                 integer(least + 1),
                 integer(-1 < least ? least : -1),
                 integer(0),
                 integer(1),
                 integer(2),
                 integer(7),
                 integer(greatest - 1),
                 integer(greatest)};
  };
  int128 digits = 1;
  switch (type.id) {
    case type_id::boolean:
      return {integer(0), integer(1)};
    case type_id::int8:
      return integers(-128, 127);
    case type_id::int16:
      return integers(-32768, 32767);
    case type_id::int32:
    case type_id::date:
      return integers(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    case type_id::int64:
    case type_id::timestamp:
      return integers(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    case type_id::decimal:
      for (int d = 0; d < type.precision; ++d) digits *= 10;
      return {value(-(digits - 1)), value(-(digits / 3)), integer(-1),       integer(0),
              integer(1),           integer(12345 % 10),  value(digits / 3), value(digits - 1)};
    case type_id::float32:
    case type_id::float64:
      return {real(-std::numeric_limits<double>::infinity()),
              real(-1.5),
              real(-0.0),
              real(0.0),
              real(0.25),
              real(1024.0),
              real(std::numeric_limits<double>::infinity()),
              real(std::numeric_limits<double>::quiet_NaN())};
    case type_id::varchar:
      return {text(""),
              text(std::string(1, '\0')),
              text("a"),
              text("a\0b"),
              text(std::string("a\0b", 3)),
              text(std::string("a\0", 2)),
              text("ab"),
              text("abc"),
              text("\x01"),
              text("abcdefgh"),
              text("abcdefghi"),
              text("abcdefgh" + std::string(40, 'z')),
              text("\xc3\xbf\xc3\xbf")};
  }
  return {};
}

}  // namespace espalier::test
