// summary_values.hpp - column values as C++ numbers, their sums, and conversion to Arrow arrays.
#pragma once

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/util/decimal.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/float_sum.hpp"
#include "espalier/core/config.hpp"
#include "espalier/core/error.hpp"

namespace espalier::engine {

/// An exact sum of 128-bit numbers. The halves are added separately, so that 2^63 numbers cannot overflow.
struct wide_sum {
  int128 high = 0;
  uint128 low = 0;

  wide_sum& operator+=(int128 x) {
    high += x >> 64;
    low += static_cast<std::uint64_t>(x);
    return *this;
  }
  wide_sum& operator+=(const wide_sum& other) {
    high += other.high;
    low += other.low;
    return *this;
  }
};

template <class T>
struct sum_node_of {
  using type = std::conditional_t<std::is_floating_point_v<T>, float_sum<3>, int128>;
};
template <>
struct sum_node_of<int128> {
  using type = wide_sum;
};
template <class T>
using sum_node = typename sum_node_of<T>::type;

/// Compares in PostgreSQL's order: NaN is greater than all other numbers.
template <class T>
[[nodiscard]] bool value_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

/// The least and the greatest value.
template <class T>
struct extremes {
  T least{};
  T greatest{};
  bool any = false;

  void add(T value) {
    if (!any || value_less(value, least)) least = value;
    if (!any || value_less(greatest, value)) greatest = value;
    any = true;
  }
  extremes& operator+=(const extremes& other) {
    if (other.any) {
      add(other.least);
      add(other.greatest);
    }
    return *this;
  }
};

/// Appends the values of an array of the matching Arrow type, and a validity flag (not NULL) for each.
template <class T>
void append_values(const arrow::Array& from, std::vector<T>& values, std::vector<std::uint8_t>& valid) {
  const auto n = static_cast<std::size_t>(from.length());
  const std::size_t at = values.size();
  values.resize(at + n);
  if (from.type_id() == arrow::Type::BOOL) {
    for (std::size_t i = 0; i < n; ++i)
      values[at + i] = static_cast<const arrow::BooleanArray&>(from).Value(static_cast<std::int64_t>(i)) ? T{1} : T{0};
  } else if constexpr (std::is_same_v<T, int128>) {
    if (n != 0) std::memcpy(values.data() + at, static_cast<const arrow::Decimal128Array&>(from).GetValue(0), n * 16);
  } else {
    if (n != 0) std::memcpy(values.data() + at, from.data()->GetValues<T>(1), n * sizeof(T));
  }
  if (from.null_count() == 0 && valid.empty()) return;
  valid.resize(at, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_value = from.IsValid(static_cast<std::int64_t>(i));
    valid.push_back(is_value ? 1 : 0);
    if (!is_value) values[at + i] = T{0};
  }
}

/// 10^38 - 1 is the greatest decimal value in SQL.
[[nodiscard]] inline arrow::Decimal128 decimal_sum(const wide_sum& sum) {
  const int128 high = sum.high + static_cast<int128>(sum.low >> 64);
  const auto low = static_cast<std::uint64_t>(sum.low);
  const auto top = static_cast<std::int64_t>(high);
  const arrow::Decimal128 value(top, low);
  if (top != high || !value.FitsInPrecision(38))
    throw overflow("The sum has more than 38 digits; cast its argument to double precision.");
  return value;
}
[[nodiscard]] inline arrow::Decimal128 decimal_of(int128 value) {
  return {static_cast<std::int64_t>(value >> 64), static_cast<std::uint64_t>(value)};
}

}  // namespace espalier::engine
