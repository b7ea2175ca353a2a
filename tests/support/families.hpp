// families.hpp - keys and values for tests: distributions of keys, special keys, and values that identify their origin.
//
// A family draws order-preserving words, and keys are decoded from these words, so the same code serves every key type.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "support/array.hpp"

namespace espalier::test {

enum class family {
  uniform,
  ascending,
  descending,
  almost_sorted,
  shuffled,  // the ascending ones in random order
  gaussian,
  normal,  // wide: truncated at both ends of the domain
  gamma,   // skewed to small keys
  zipf,    // few keys make up most elements
  all_equal,
  clustered,    // 16 clusters of cubic density
  adversarial,  // both ends of the domain and one dense interval: nearly all keys share one table cell
  nested,       // three levels of nested clusters: dense at every scale
  extremes,     // the special keys of the type, many times each, among uniform ones
};

inline constexpr std::array all_families{family::uniform,  family::ascending, family::descending, family::almost_sorted,
                                         family::shuffled, family::gaussian,  family::normal,     family::gamma,
                                         family::zipf,     family::all_equal, family::clustered,  family::adversarial,
                                         family::nested,   family::extremes};

[[nodiscard]] inline std::string to_string(family f) {
  static constexpr std::array names{"uniform",   "ascending",   "descending", "almost_sorted", "shuffled",
                                    "gaussian",  "normal",      "gamma",      "zipf",          "all_equal",
                                    "clustered", "adversarial", "nested",     "extremes"};
  static_assert(names.size() == all_families.size());
  return names[static_cast<std::size_t>(f)];
}

/// splitmix64 is small and gives the same numbers on every machine.
class random_words {
 public:
  explicit random_words(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }  // n is far below 2^64 wherever uniformity matters
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

template <class Array>
void shuffle(Array& a, random_words& random) {
  for (std::size_t i = a.size(); i > 1; --i) std::swap(a[i - 1], a[random.below(i)]);
}

/// Returns the largest word of a key type.
template <class Key>
[[nodiscard]] constexpr std::uint64_t largest_word() {
  using rep = typename key_traits<Key>::representation;
  if (std::is_same_v<rep, bool>) return 1;
  return sizeof(rep) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * sizeof(rep))) - 1;
}

template <class Key>
[[nodiscard]] Key from_word(std::uint64_t word) {
  return key_codec<Key>::decode(static_cast<word_of<Key>>(word));
}

/// Returns a number in [0, 1): N(1/2, variance 1/8) and Gamma(3, 3) / 64, redrawn if outside, as in the benchmarks.
[[nodiscard]] inline double normal_fraction(random_words& random) {
  for (;;) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.unit()));
    const double x = 0.5 + radius * std::cos(2.0 * std::numbers::pi * random.unit()) * std::sqrt(0.125);
    if (x >= 0 && x < 1) return x;
  }
}
[[nodiscard]] inline double gamma_fraction(random_words& random) {
  for (;;) {
    double product = 1;  // the sum of three exponentials of mean 3 is the logarithm of a product
    for (unsigned i = 0; i < 3; ++i) product *= 1.0 - random.unit();
    const double x = -3.0 * std::log(product) / 64;
    if (x < 1) return x;
  }
}

/// Returns `n` words of [0, m].
[[nodiscard]] inline std::vector<std::uint64_t> draw_words(family f, std::size_t n, std::uint64_t m) {
  random_words random(1000003u * static_cast<std::uint64_t>(f) + n);
  const auto clip = [m](std::uint64_t x) { return m == ~std::uint64_t{0} ? x : x % (m + 1); };
  const auto at_fraction = [m](double x) { return static_cast<std::uint64_t>(x * static_cast<double>(m)); };
  const std::uint64_t step = std::max<std::uint64_t>(1, m / std::max<std::size_t>(1, n));
  const unsigned bits = m == 1 ? 1 : static_cast<unsigned>(64 - std::countl_zero(m));
  std::vector<std::uint64_t> words(n);
  for (std::size_t i = 0; i < n; ++i) {
    switch (f) {
      case family::ascending:
      case family::almost_sorted:
      case family::shuffled:
        words[i] = std::min<std::uint64_t>(m, step > m / (i + 1) ? m : i * step);
        break;
      case family::descending:
        words[i] = m - std::min<std::uint64_t>(m, step > m / (i + 1) ? m : i * step);
        break;
      case family::gaussian: {
        std::uint64_t mean = 0;
        for (unsigned j = 0; j < 8; ++j) mean += clip(random()) / 8;
        words[i] = mean;
        break;
      }
      case family::normal:
        words[i] = at_fraction(normal_fraction(random));
        break;
      case family::gamma:
        words[i] = at_fraction(gamma_fraction(random));
        break;
      case family::zipf: {
        const double u = std::max(random.unit(), 1e-6);
        words[i] = clip(random_words::mix(static_cast<std::uint64_t>(1.0 / u)));
        break;
      }
      case family::all_equal:
        words[i] = m / 3;
        break;
      case family::clustered: {
        const double u = random.unit();
        const auto spread = static_cast<std::uint64_t>(u * u * u * static_cast<double>(m / 64));
        words[i] = clip(random_words::mix(random.below(16)) / 2 + spread);
        break;
      }
      case family::adversarial:
        words[i] = i == 0 ? 0 : i == 1 ? m : clip(m / 2 + random.below(2 * n));
        break;
      case family::nested:
        words[i] = clip(m / 2 + (clip(random()) >> random.below(bits)));
        break;
      case family::uniform:
      case family::extremes:
        words[i] = clip(random());
        break;
    }
  }
  if (f == family::shuffled) shuffle(words, random);
  if (f == family::almost_sorted) {
    for (std::size_t i = 0; i < n / 50; ++i) std::swap(words[random.below(n)], words[random.below(n)]);
  }
  return words;
}

/// Returns keys that are likely to reveal errors: both ends, the middle, and for floats every class of number.
template <class Key>
[[nodiscard]] array<Key> special_keys() {
  using limits = std::numeric_limits<Key>;
  if constexpr (std::is_floating_point_v<Key>) {
    return {limits::lowest(),     limits::max(),         -limits::infinity(), limits::infinity(),
            limits::quiet_NaN(),  -limits::quiet_NaN(),  Key{-0.0},           Key{0.0},
            limits::denorm_min(), -limits::denorm_min(), limits::min(),       Key{1}};
  } else {
    constexpr std::uint64_t m = largest_word<Key>();
    const auto middle = m / 2;
    return {from_word<Key>(0),     from_word<Key>(m),          from_word<Key>(middle),
            from_word<Key>(m - 1), from_word<Key>(middle + 1), from_word<Key>(1)};
  }
}

template <class Key>
[[nodiscard]] array<Key> make_keys(family f, std::size_t n) {
  const auto words = draw_words(f, n, largest_word<Key>());
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = from_word<Key>(words[i]);
  if (f == family::extremes) {
    const auto special = special_keys<Key>();
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 3 != 2) keys[i] = special[words[i] % special.size()];
    }
  }
  return keys;
}

/// Returns the value of input element i. It identifies the first of several equal keys, and sums of values exceed 64
/// bits.
template <class Value>
[[nodiscard]] Value make_value(std::size_t i) {
  const std::uint64_t hash = random_words::mix(i + 1);
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(static_cast<double>(hash % 100000) / 64 - 700);
  } else {
    Value v = {};
    const std::uint64_t parts[2] = {hash, ~hash + i};
    std::memcpy(static_cast<void*>(&v), parts, sizeof(Value));
    return v;
  }
}

template <class Value>
[[nodiscard]] array<Value> make_values(std::size_t n) {
  array<Value> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = make_value<Value>(i);
  return values;
}

}  // namespace espalier::test
