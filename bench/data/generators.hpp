// generators.hpp - reproducible keys and values: element i is a pure function of (seed, i).
//
// Hence the data do not depend on the number of threads, and two machines with the same seed measure the same index.
// Most distributions are drawn as a 64-bit fixed-point fraction of the key range, so that one formula serves all key
// types: integers take its leading bits, floats are the fraction itself, in [0, 1).
//
//   uniform        all fractions are equally likely
//   ascending      n consecutive keys; descending: in reverse; shuffled: a permutation of them
//   almost-sorted  ascending with 5 random swaps
//   gaussian       mean 1/2, standard deviation 1/16: a narrow peak
//   normal, gamma  N(1/2, variance 1/8) and Gamma(3, 3) / 64, as HB+-trees were measured with; redrawn if outside
//   zipf           P(key) ~ 1 / key over the whole range: small keys repeat often
//   clustered      1,024 random locations, with a density that falls with the cube of the distance
//   adversarial    the smallest and the largest key, all others consecutive: a table over leading bits has one cell
//   mesh           edges of a triangle mesh, two vertex numbers in one key; inner edges occur twice
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>

#include "bench/data/random.hpp"
#include "bench/data/triangle_mesh.hpp"
#include "bench/harness/cli_names.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::bench {

/// Returns the key at a 64-bit fixed-point fraction of the key range.
template <class Key>
[[nodiscard]] Key at_fraction(std::uint64_t fraction) {
  if constexpr (std::is_floating_point_v<Key>) {
    const auto value = static_cast<Key>(static_cast<double>(fraction) * 0x1p-64);
    return value < Key{1} ? value : std::nextafter(Key{1}, Key{0});
  } else {
    using word = word_of<Key>;
    return key_codec<Key>::decode(static_cast<word>(fraction >> (64 - 8 * sizeof(word))));
  }
}

/// Returns the i-th of n consecutive keys: signed integers are around zero, floats are 0, 1, 2, ...
template <class Key>
[[nodiscard]] Key consecutive(std::uint64_t i, std::uint64_t n) {
  if constexpr (std::is_signed_v<Key> && std::is_integral_v<Key>) {
    return static_cast<Key>(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(n / 2));
  } else {
    return static_cast<Key>(i);
  }
}

namespace detail {

[[nodiscard]] inline double standard_normal(std::uint64_t a, std::uint64_t b) {
  return std::sqrt(-2.0 * std::log(1.0 - unit(a))) * std::cos(2.0 * std::numbers::pi * unit(b));
}
/// Gamma(3, 3) is the sum of three exponentials of mean 3.
[[nodiscard]] inline double gamma33(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return -3.0 * std::log((1.0 - unit(a)) * (1.0 - unit(b)) * (1.0 - unit(c)));
}

/// Draws until the result is in [0, 1); each draw(a, b, c) gets three fresh numbers.
template <class Draw>
[[nodiscard]] std::uint64_t fraction_of(std::uint64_t bits, Draw draw) {
  for (;;) {
    const std::uint64_t a = mix(bits), b = mix(a), c = mix(b);
    const double x = draw(a, b, c);
    if (x >= 0 && x < 1) return static_cast<std::uint64_t>(x * 0x1p64);
    bits = c;
  }
}

/// The distribution with which HB+-trees were measured.
[[nodiscard]] inline std::uint64_t normal_fraction(std::uint64_t bits) {
  return fraction_of(bits, [](auto a, auto b, auto) { return 0.5 + standard_normal(a, b) * std::sqrt(0.125); });
}
[[nodiscard]] inline std::uint64_t gamma_fraction(std::uint64_t bits) {
  return fraction_of(bits, [](auto a, auto b, auto c) { return gamma33(a, b, c) / 64; });
}

/// Log-uniform from 1 to the largest key (2^32 and 2^53 for floats), rounded down.
template <class Key>
[[nodiscard]] Key zipf_key(std::uint64_t bits) {
  constexpr int digits = std::is_same_v<Key, float>    ? 32
                         : std::is_same_v<Key, double> ? 53
                                                       : std::numeric_limits<Key>::digits;
  const double x = std::floor(std::exp2(unit(bits) * digits));
  if constexpr (std::is_integral_v<Key>) {
    constexpr auto largest = std::numeric_limits<Key>::max();
    return x >= static_cast<double>(largest) ? largest : static_cast<Key>(x);
  } else {
    return static_cast<Key>(x);
  }
}

[[nodiscard]] inline std::uint64_t clustered_fraction(std::uint64_t bits) {
  const double u = unit(bits);
  return mix(bits & 1023u) + static_cast<std::uint64_t>(u * u * u * 0x1p54);  // may wrap around the range
}

/// Returns consecutive words from the middle of the key range, aligned so that they overlap few slices of the range.
template <class Key>
[[nodiscard]] Key adversarial_key(std::uint64_t i, const permutation& order) {
  if (i == 0) return std::numeric_limits<Key>::lowest();
  if (i == 1) return std::numeric_limits<Key>::max();
  using word = word_of<Key>;
  const auto base = std::is_floating_point_v<Key> ? key_codec<Key>::encode(Key{1}) : word{1} << (8 * sizeof(word) - 1);
  return key_codec<Key>::decode(static_cast<word>(base + order(i - 2)));
}

/// The number of bits of a vertex number, such that two of them exactly fit a key.
[[nodiscard]] constexpr unsigned vertex_bits(scalar_kind key) {
  if (key == scalar_kind::f32) return 12;
  return key == scalar_kind::f64 ? 26 : 4 * bytes_of(key);
}

template <class Key>
[[nodiscard]] Key mesh_key(std::uint64_t i, const triangle_mesh& mesh) {
  const auto [a, b] = mesh.edge(i);
  const std::uint64_t both = a << vertex_bits(scalar_kind_of<Key>) | b;
  if constexpr (std::is_floating_point_v<Key>) {
    return static_cast<Key>(both);
  } else {
    return key_codec<Key>::decode(static_cast<word_of<Key>>(both));
  }
}

}  // namespace detail

/// Returns key number i of n, for every distribution except the mesh.
template <class Key>
[[nodiscard]] Key key_at(distribution which, std::uint64_t i, std::uint64_t n, std::uint64_t seed,
                         const permutation& order) {
  const std::uint64_t bits = random_bits(seed, i);
  switch (which) {
    case distribution::uniform:
      return at_fraction<Key>(bits);
    case distribution::ascending:
    case distribution::almost_sorted:
      return consecutive<Key>(i, n);
    case distribution::descending:
      return consecutive<Key>(n - 1 - i, n);
    case distribution::shuffled:
      return consecutive<Key>(order(i), n);
    case distribution::gaussian:
      return at_fraction<Key>(
          detail::fraction_of(bits, [](auto a, auto b, auto) { return 0.5 + detail::standard_normal(a, b) / 16; }));
    case distribution::normal:
      return at_fraction<Key>(detail::normal_fraction(bits));
    case distribution::gamma:
      return at_fraction<Key>(detail::gamma_fraction(bits));
    case distribution::zipf:
      return detail::zipf_key<Key>(bits);
    case distribution::clustered:
      return at_fraction<Key>(detail::clustered_fraction(bits));
    case distribution::adversarial:
      return detail::adversarial_key<Key>(i, order);
    case distribution::mesh:
      break;
  }
  return Key{};
}

template <class F>
void parallel_indices(std::uint64_t n, F&& f) {
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, n, 4096), [&](const auto& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) f(i);
  });
}

/// Fills `keys` from a distribution, in parallel.
template <class Key>
void generate_keys(distribution which, std::uint64_t seed, std::span<Key> keys) {
  const std::uint64_t n = keys.size();
  if (which == distribution::mesh) {
    const triangle_mesh mesh(n, seed);
    parallel_indices(n, [&](std::uint64_t i) { keys[i] = detail::mesh_key<Key>(i, mesh); });
    return;
  }
  const std::uint64_t permuted = which == distribution::adversarial && n > 2 ? n - 2 : n;
  const permutation order(permuted, seed);
  parallel_indices(n, [&](std::uint64_t i) { keys[i] = key_at<Key>(which, i, n, seed, order); });
  if (which == distribution::almost_sorted && n > 0) {
    for (std::uint64_t k = 0; k < 5; ++k) {
      std::swap(keys[below(random_bits(seed, 2 * k), n)], keys[below(random_bits(seed, 2 * k + 1), n)]);
    }
  }
}

/// Values are random bits; floats are in [0, 1).
template <class Value>
void generate_values(std::uint64_t seed, std::span<Value> values) {
  parallel_indices(values.size(), [&](std::uint64_t i) {
    const std::uint64_t bits = random_bits(~seed, i);
    if constexpr (std::is_floating_point_v<Value>) {
      values[i] = at_fraction<Value>(bits);
    } else {
      values[i] = static_cast<Value>(bits);
    }
  });
}

/// Returns the maximum number of keys of a distribution for a key type.
[[nodiscard]] inline std::uint64_t most_keys(distribution which, scalar_kind key) {
  const bool narrow = bytes_of(key) == 4;
  switch (which) {
    case distribution::ascending:
    case distribution::descending:
    case distribution::almost_sorted:
    case distribution::shuffled:
      return narrow ? std::uint64_t{1} << 32 : std::uint64_t{1} << 40;
    case distribution::adversarial:
      return narrow ? std::uint64_t{1} << 29 : std::uint64_t{1} << 40;
    case distribution::mesh:  // four edges per vertex, fewer than the six of a large mesh
      return std::uint64_t{4} << detail::vertex_bits(key);
    default:
      return std::uint64_t{1} << 40;
  }
}

}  // namespace espalier::bench
