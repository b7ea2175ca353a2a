// sort_cases.hpp - what a stable radix sort must do, whatever device runs it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/less_work.hpp"

namespace espalier::test {

template <class Word>
struct key_pattern {
  std::string name;
  std::function<Word(std::size_t i, std::size_t n, std::mt19937_64& random)> key;
};

template <class Word>
std::vector<key_pattern<Word>> key_patterns() {
  using rng = std::mt19937_64;
  return {
      {"random", [](std::size_t, std::size_t, rng& r) { return static_cast<Word>(r()); }},
      {"many duplicates", [](std::size_t, std::size_t, rng& r) { return static_cast<Word>(r() % 7 * 0x01010101u); }},
      {"all equal", [](std::size_t, std::size_t, rng&) { return ~Word{0}; }},
      {"sorted", [](std::size_t i, std::size_t, rng&) { return static_cast<Word>(i); }},
      {"reversed", [](std::size_t i, std::size_t n, rng&) { return static_cast<Word>(n - i); }},
      {"top byte", [](std::size_t, std::size_t, rng& r) { return static_cast<Word>(r()) << (8 * sizeof(Word) - 8); }},
      {"one odd key", [](std::size_t i, std::size_t n, rng&) { return i == n / 2 ? Word{0} : Word{1} << 20; }},
      {"a few far away",
       [](std::size_t, std::size_t, rng& r) {
         const std::uint64_t x = r();
         return static_cast<Word>(x % 100 == 0 ? x : x >> 20 & 0xffff);
       }},
      {"clusters",
       [](std::size_t, std::size_t, rng& r) {  // apart in high bits, and in low ones
         return static_cast<Word>((r() % 5 * 0x9e3779b97f4a7c15u >> (64 - 8 * sizeof(Word))) + r() % 3000);
       }},
      {"pairs of clusters",
       [](std::size_t, std::size_t, rng& r) {  // whose middle bits tell little
         const Word top = static_cast<Word>(r()) << (8 * sizeof(Word) - 3);
         return static_cast<Word>(top | static_cast<Word>(r() % 2) << (8 * sizeof(Word) - 10) |
                                  static_cast<Word>(r() % 4096));
       }},
      {"extremes", [](std::size_t, std::size_t, rng& r) { return r() % 2 == 0 ? Word{0} : ~Word{0}; }},
  };
}

/// Values whose every byte depends on the input position, so that a torn or misplaced value is seen.
inline std::vector<unsigned char> position_values(std::size_t n, unsigned value_bytes) {
  std::vector<unsigned char> values(n * value_bytes);
  if (value_bytes == 0) return values;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t words[2] = {i, ~i * 0x9e3779b97f4a7c15u};
    std::memcpy(values.data() + i * value_bytes, words, value_bytes);
  }
  return values;
}

/// `sort(keys, values, value_bytes, begin_bit, end_bit)` replaces both by the sorted ones.
template <class Word>
using sort_function =
    std::function<void(std::vector<Word>&, std::vector<unsigned char>&, unsigned, unsigned, unsigned)>;

template <class Word>
void check_sort(const sort_function<Word>& sort, const key_pattern<Word>& pattern, std::size_t n, unsigned value_bytes,
                unsigned begin_bit, unsigned end_bit) {
  SCOPED_TRACE(pattern.name + ", n = " + std::to_string(n) + ", values of " + std::to_string(value_bytes) +
               " bytes, bits " + std::to_string(begin_bit) + " to " + std::to_string(end_bit));
  std::mt19937_64 random(n + value_bytes);
  std::vector<Word> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = pattern.key(i, n, random);
  std::vector<unsigned char> values = position_values(n, value_bytes);

  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const unsigned width = 8 * sizeof(Word);
  const auto digits = [&](std::size_t i) {
    const Word low = static_cast<Word>(keys[i] << (width - end_bit));  // drops the bits from end_bit on
    return static_cast<Word>(low >> (width - end_bit + begin_bit));
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return digits(a) < digits(b); });
  std::vector<Word> expected_keys(n);
  std::vector<unsigned char> expected_values(values.size());
  for (std::size_t i = 0; i < n; ++i) {
    expected_keys[i] = keys[order[i]];
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(order[i] * value_bytes), value_bytes,
                expected_values.begin() + static_cast<std::ptrdiff_t>(i * value_bytes));
  }

  sort(keys, values, value_bytes, begin_bit, end_bit);
  EXPECT_TRUE(keys == expected_keys);
  EXPECT_TRUE(values == expected_values);
}

inline constexpr std::size_t many = 70000 / less_work;

/// Every pattern, value size and size on all bits, then bit ranges that start or end inside a digit.
template <class Word>
void check_sorts(const sort_function<Word>& sort) {
  const unsigned width = 8 * sizeof(Word);
  for (const auto& pattern : key_patterns<Word>()) {
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{33}, std::size_t{1000}, many}) {
      for (const unsigned value_bytes : {0u, 4u, 8u, 16u}) check_sort<Word>(sort, pattern, n, value_bytes, 0, width);
    }
  }
  const auto random = key_patterns<Word>().front();
  for (const std::size_t n : {std::size_t{20}, many}) {
    check_sort<Word>(sort, random, n, 4, 0, 1);
    check_sort<Word>(sort, random, n, 4, 3, 14);
    check_sort<Word>(sort, random, n, 8, width - 5, width);
    check_sort<Word>(sort, random, n, 16, 8, width - 8);
  }
}

/// Several pieces for each of a few threads, and once as many pieces as a sort is cut into.
template <class Word>
void check_large_sorts(const sort_function<Word>& sort) {
  const unsigned width = 8 * sizeof(Word);
  const std::size_t large = (std::size_t{1} << 18) + 7;
  for (const auto& pattern : key_patterns<Word>()) check_sort<Word>(sort, pattern, large, 4, 0, width);
  const auto random = key_patterns<Word>().front();
  for (const unsigned value_bytes : {0u, 8u, 16u}) check_sort<Word>(sort, random, large, value_bytes, 0, width);
  check_sort<Word>(sort, random, 4 * large, 4, 0, width);
}

}  // namespace espalier::test
