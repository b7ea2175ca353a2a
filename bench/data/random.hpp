// random.hpp - stateless reproducible random numbers: number i is a pure function of (seed, i).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "espalier/core/scalar.hpp"

namespace espalier::bench {

/// splitmix64's output function.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Returns the i-th number of the stream of this seed.
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) { return mix(mix(seed) + i); }

/// Returns a number in [0, 1) with 53 bits.
[[nodiscard]] constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Returns a number in [0, n) for n > 0; the bias is below n / 2^64.
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
  return static_cast<std::uint64_t>((uint128{bits} * n) >> 64);
}

/// A permutation of [0, n) without memory: four Feistel rounds on the smallest even number of bits that holds n,
/// repeated until the result is below n (fewer than four times on average).
class permutation {
 public:
  permutation(std::uint64_t n, std::uint64_t seed) : size_(n), seed_(seed) {
    const auto bits = n < 2 ? 1 : static_cast<unsigned>(std::bit_width(n - 1));
    half_ = (bits + 1) / 2;
    mask_ = (std::uint64_t{1} << half_) - 1;
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const {
    do i = once(i);
    while (i >= size_);
    return i;
  }

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t i) const {
    std::uint64_t left = i >> half_;
    std::uint64_t right = i & mask_;
    for (std::uint64_t round = 0; round < 4; ++round) {
      left ^= mix(seed_ + (round << 56) + right) & mask_;
      std::swap(left, right);
    }
    return (left << half_) | right;
  }
  std::uint64_t size_;
  std::uint64_t seed_;
  std::uint64_t mask_;
  unsigned half_;
};

/// Ranks in [0, n) with P(r) ~ 1 / (r + 1)^0.99, as in YCSB (Gray et al., SIGMOD 1994); rank 0 is the most frequent.
class zipf_ranks {
 public:
  explicit zipf_ranks(std::uint64_t n) : size_(n), zeta_(zeta(n)) {
    const double two = zeta(2);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(std::max<std::uint64_t>(n, 1)), 1 - theta)) / (1 - two / zeta_);
  }
  /// Requires n > 0.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t bits) const {
    const double u = unit(bits), place = u * zeta_;
    if (place < 1 || size_ < 2) return 0;
    if (place < 1 + std::pow(0.5, theta)) return 1;
    const double rank = static_cast<double>(size_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - theta));
    return std::min(static_cast<std::uint64_t>(rank), size_ - 1);
  }

 private:
  static constexpr double theta = 0.99;
  /// Returns the sum of i^-theta for i in [1, n]. Beyond a million terms it uses Euler-Maclaurin, which is exact to
  /// 1e-12 there.
  static double zeta(std::uint64_t n) {
    const std::uint64_t exact = std::min<std::uint64_t>(n, 1'000'000);
    double sum = 0;
    for (std::uint64_t i = 1; i <= exact; ++i) sum += std::pow(static_cast<double>(i), -theta);
    if (n > exact) {
      const double a = static_cast<double>(exact), b = static_cast<double>(n);
      sum += (std::pow(b, 1 - theta) - std::pow(a, 1 - theta)) / (1 - theta) +
             (std::pow(b, -theta) - std::pow(a, -theta)) / 2;
    }
    return sum;
  }
  std::uint64_t size_;
  double zeta_;
  double eta_ = 0;
};

}  // namespace espalier::bench
