// fixed_point.hpp - doubles as 128-bit multiples of a power of two, so that sums of them are exact.
//
// Differences of prefix sums of doubles would lose the digits that larger values elsewhere in the column displace.
// Those of fixed-point numbers do not. Most columns fit: prices from 0.01 to 10^6 with all 53 bits take 80 bits, which
// leaves room for 2^47 rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "espalier/core/config.hpp"

namespace espalier::engine {

/// The exponents of the lowest and highest bits of some doubles.
struct float_extent {
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();  ///< above the highest bit
  bool finite = true;

  void add(double value) {
    if (!std::isfinite(value)) {
      finite = false;
    } else if (value != 0) {
      const auto [mantissa, exponent] = parts_of(value);
      low = std::min(low, exponent + std::countr_zero(mantissa));
      high = std::max(high, exponent + static_cast<int>(std::bit_width(mantissa)));
    }
  }
  void merge(const float_extent& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    finite &= other.finite;
  }
  /// Returns whether all sums of up to `rows` of the values have fewer than 128 bits.
  [[nodiscard]] bool fits(std::size_t rows) const {
    return finite && (low > high || high - low + static_cast<int>(std::bit_width(rows)) < 127);
  }

  struct parts {
    std::uint64_t mantissa;
    int exponent;
  };
  /// Returns |value| as mantissa * 2^exponent.
  static parts parts_of(double value) {
    constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
    return {(bits & (hidden_bit - 1)) | (exponent != 0 ? hidden_bit : 0), (exponent != 0 ? exponent : 1) - 1075};
  }
};

/// Returns value / 2^low, an integer: `low` is that of an extent with the value.
[[nodiscard]] inline int128 fixed_point(double value, int low) {
  if (value == 0) return 0;
  const auto [mantissa, exponent] = float_extent::parts_of(value);
  const int shift = exponent - low;
  const int128 magnitude =
      shift >= 0 ? static_cast<int128>(mantissa) << shift : static_cast<int128>(mantissa >> -shift);
  return value < 0 ? -magnitude : magnitude;
}

/// Returns sum * 2^low, rounded once to nearest even. It is exact below 2^53, so a subnormal result is not rounded
/// twice.
[[nodiscard]] inline double rounded_double(int128 sum, int low) {
  const auto word = static_cast<std::int64_t>(sum);
  const double digits = word == sum ? static_cast<double>(word) : static_cast<double>(sum);
  return sum == 0 ? 0 : std::ldexp(digits, low);
}

}  // namespace espalier::engine
