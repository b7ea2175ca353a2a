// float_sum.hpp - sums of floats that do not depend on the order of the values: the exact sum, rounded once. A scan, an
// index and any number of threads therefore return the same bits.
//
// `float_sum` is fast and detects whether it is exact, which it is unless the values span more bits than its parts hold
// or one of them is not finite. `exact_float_sum` represents every sum of doubles and is used for the remaining cases.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace espalier::engine {

/// Every finite double is a multiple of 2^-1074 below 2^1024, so a fixed-point number with 32-bit digits represents it.
class exact_float_sum {
 public:
  void add(double value) { change(value, 1); }
  /// Removes a value that was added before, for sums of sliding frames.
  void remove(double value) { change(value, -1); }
  exact_float_sum& operator+=(const exact_float_sum& other) { return merge(other, 1); }
  exact_float_sum& operator-=(const exact_float_sum& other) { return merge(other, -1); }
  /// Returns the correctly rounded sum: infinity beyond the range of double, NaN if there is a NaN or infinities of
  /// both signs.
  [[nodiscard]] double total() const;

 private:
  static constexpr std::size_t digit_count = 70;  // 66 for the values, the others for carries
  // After n additions, a digit is below (n + 1) 2^32; two such sums can be added before a carry.
  static constexpr std::uint32_t most_additions = std::uint32_t{1} << 29;

  void change(double value, std::int64_t sign);
  exact_float_sum& merge(const exact_float_sum& other, std::int64_t sign);
  void carry();

  std::array<std::int64_t, digit_count> digits_{};  ///< least first; between carries beyond 32 bits or negative
  std::uint32_t additions_ = 0;                     ///< since the last carry
  std::int64_t nans_ = 0, plus_infinities_ = 0, minus_infinities_ = 0;
};

/// Parts of decreasing weight whose sum is exactly that of the values while is_exact(). Each part accumulates the
/// rounding errors of additions to the preceding one (Knuth's TwoSum).
template <std::size_t Parts>
class float_sum {
 public:
  float_sum& operator+=(double value) {
    for (auto& part : parts_) {
      const double sum = part + value;
      const double of_value = sum - part;
      value = (part - (sum - of_value)) + (value - of_value);
      part = sum;
    }
    is_lossy_ |= value != 0;  // including NaN
    return *this;
  }
  float_sum& operator+=(const float_sum& other) {
    for (const double part : other.parts_) *this += part;
    is_lossy_ |= other.is_lossy_;
    return *this;
  }
  [[nodiscard]] bool is_exact() const { return !is_lossy_; }
  /// Returns the correctly rounded sum if is_exact(); otherwise the result is unspecified.
  [[nodiscard]] double total() const {
    bool two_suffice = true;
    for (std::size_t i = 2; i < Parts; ++i) two_suffice &= parts_[i] == 0;
    if (two_suffice) return parts_[0] + parts_[1];
    exact_float_sum all;
    for (const double part : parts_) all.add(part);
    return all.total();
  }

 private:
  static_assert(Parts >= 2);
  std::array<double, Parts> parts_{};
  bool is_lossy_ = false;
};

}  // namespace espalier::engine
