#include "engine/float_sum.hpp"

#include <bit>
#include <limits>

#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t digit_bits = 32;
constexpr std::int64_t digit_mask = (std::int64_t{1} << digit_bits) - 1;
constexpr int least_exponent = -1074;

// Rounds the digits below the highest nonzero one to nearest even.
double rounded(const std::int64_t* digits, std::size_t count) {
  std::size_t top = count;
  while (top > 0 && digits[top - 1] == 0) --top;
  if (top == 0) return 0;
  // Three digits have at least 65 bits, which is more than the 53 bits of a double. Of all lower digits it only matters
  // whether one is not zero.
  const std::size_t lowest = top > 3 ? top - 3 : 0;
  uint128 value = 0;
  for (std::size_t i = lowest + 3; i-- > lowest;) value = value << digit_bits | static_cast<std::uint64_t>(digits[i]);
  bool more_below = false;
  for (std::size_t i = 0; i < lowest; ++i) more_below |= digits[i] != 0;
  int exponent = least_exponent + static_cast<int>(lowest * digit_bits);
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto bits =
      static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
  if (const int cut = bits - std::numeric_limits<double>::digits; cut > 0) {
    const uint128 rest = value & ((uint128{1} << cut) - 1);
    const uint128 half = uint128{1} << (cut - 1);
    value >>= cut;
    exponent += cut;
    if (rest > half || (rest == half && (more_below || (value & 1) != 0))) ++value;
  }
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(value)), exponent);
}

}  // namespace

void exact_float_sum::change(double value, std::int64_t sign) {
  if (!std::isfinite(value)) {
    (std::isnan(value) ? nans_ : value > 0 ? plus_infinities_ : minus_infinities_) += sign;
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;
  const std::uint64_t exponent = bits >> 52 & 0x7ff;
  const std::uint64_t mantissa = (bits & (hidden_bit - 1)) | (exponent != 0 ? hidden_bit : 0);
  const std::uint64_t shift = exponent != 0 ? exponent - 1 : 0;  // relative to 2^-1074
  const uint128 shifted = static_cast<uint128>(mantissa) << (shift % digit_bits);
  if (bits >> 63 != 0) sign = -sign;
  std::int64_t* const digit = digits_.data() + shift / digit_bits;
  for (std::size_t i = 0; i < 3; ++i) {
    digit[i] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(shifted >> (i * digit_bits)) & digit_mask);
  }
  if (++additions_ == most_additions) carry();
}

exact_float_sum& exact_float_sum::merge(const exact_float_sum& other, std::int64_t sign) {
  for (std::size_t i = 0; i < digit_count; ++i) digits_[i] += sign * other.digits_[i];
  nans_ += sign * other.nans_;
  plus_infinities_ += sign * other.plus_infinities_;
  minus_infinities_ += sign * other.minus_infinities_;
  additions_ += other.additions_ + 1;
  if (additions_ >= most_additions) carry();
  return *this;
}

// Afterwards all digits but the highest are in [0, 2^32); the highest has the sign of the sum.
void exact_float_sum::carry() {
  for (std::size_t i = 0; i + 1 < digit_count; ++i) {
    digits_[i + 1] += digits_[i] >> digit_bits;
    digits_[i] &= digit_mask;
  }
  additions_ = 0;
}

double exact_float_sum::total() const {
  if (nans_ > 0 || (plus_infinities_ > 0 && minus_infinities_ > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (plus_infinities_ > 0) return std::numeric_limits<double>::infinity();
  if (minus_infinities_ > 0) return -std::numeric_limits<double>::infinity();
  exact_float_sum sum = *this;
  sum.carry();
  const bool is_negative = sum.digits_.back() < 0;
  if (is_negative) {
    for (auto& digit : sum.digits_) digit = -digit;
    sum.carry();
  }
  const double magnitude = rounded(sum.digits_.data(), digit_count);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace espalier::engine
