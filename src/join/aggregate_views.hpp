// aggregate_views.hpp - aggregates of values at positions [first, last), from the structures of values.hpp, which
// describes them. For host and GPU: views of memory, without ownership, so that both write the same results.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/join/window_join.hpp"

namespace espalier::join_detail {

struct position_range {
  row_number first = 0, last = 0;
};

/// A sum with about 106 bits.
struct double_double {
  double high = 0, low = 0;
};
[[nodiscard]] ESPALIER_INLINE double_double operator+(double_double a, double_double b) {
  const double s = a.high + b.high, t = s - a.high;
  const double e = ((a.high - (s - t)) + (b.high - t)) + (a.low + b.low);
  const double high = s + e;
  return {high, e - (high - s)};
}
[[nodiscard]] ESPALIER_INLINE double_double operator-(double_double a, double_double b) {
  return a + double_double{-b.high, -b.low};
}

inline constexpr std::size_t sum_block = 4096;
/// Sums of absolute values from here on are scaled, so that sums outside of a window do not overflow.
inline constexpr double most_unscaled_sum = 0x1p1000, sum_scale = 0x1p-100;

/// Values that are not finite.
struct odd_values {
  std::uint32_t nan = 0, positive = 0, negative = 0;
  [[nodiscard]] ESPALIER_INLINE friend odd_values operator+(odd_values a, odd_values b) {
    return {a.nan + b.nan, a.positive + b.positive, a.negative + b.negative};
  }
  [[nodiscard]] static ESPALIER_INLINE odd_values of(double x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {x != x ? 1u : 0u, x == infinity ? 1u : 0u, x == -infinity ? 1u : 0u};
  }
  [[nodiscard]] ESPALIER_INLINE bool is_none() const { return (nan | positive | negative) == 0; }
};

/// The nearest double, ties to even, as the conversion of the language; a GPU's need not be.
[[nodiscard]] ESPALIER_INLINE double nearest_double(int128 x) {
  const auto narrow = static_cast<std::int64_t>(x);
  if (narrow == x) return static_cast<double>(narrow);
  auto magnitude = x < 0 ? -static_cast<uint128>(x) : static_cast<uint128>(x);
  int shift = 0;
  while ((magnitude >> 64) != 0) {  // a bit that is lost stays visible in the lowest one
    magnitude = (magnitude >> 1) | (magnitude & 1);
    ++shift;
  }
  const double rounded = ldexp(static_cast<double>(static_cast<std::uint64_t>(magnitude)), shift);
  return x < 0 ? -rounded : rounded;
}

/// Prefix sums: integers in `narrow` or `wide`; floats in `real`, and in `odd` if some are not finite.
struct prefix_sums_view {
  const std::int64_t* narrow = nullptr;
  const int128* wide = nullptr;
  const double_double* reals = nullptr;
  const odd_values* odd = nullptr;
  double scale = 1;

  /// An integer column: sum(element `to`) - sum(element `from`) of the prefix sums, also of another order of the rows.
  [[nodiscard]] ESPALIER_INLINE int128 integer(std::size_t to, const prefix_sums_view& other, std::size_t from) const {
    return narrow == nullptr ? wide[to] - other.wide[from] : static_cast<int128>(narrow[to]) - other.narrow[from];
  }
  /// A float column.
  [[nodiscard]] ESPALIER_INLINE double real(std::size_t to, const prefix_sums_view& other, std::size_t from,
                                            double divisor = 1) const {
    if (odd != nullptr) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      const odd_values a = odd[to], b = other.odd[from];
      const bool nan = a.nan != b.nan, positive = a.positive != b.positive, negative = a.negative != b.negative;
      if (nan || (positive && negative)) return std::numeric_limits<double>::quiet_NaN();
      if (positive) return infinity;
      if (negative) return -infinity;
    }
    const double_double d = reals[to] - other.reals[from];
    return (d.high + d.low) / divisor / scale;
  }
};

/// Prefix counts of values that are not NULL; null if all of them are.
struct prefix_counts_view {
  const std::uint32_t* counts = nullptr;

  [[nodiscard]] ESPALIER_INLINE std::size_t count(std::size_t first, std::size_t last) const {
    return counts == nullptr ? last - first : counts[last] - counts[first];
  }
  /// The first and the last position of [first, last) with a value. Precondition: there is one.
  [[nodiscard]] ESPALIER_INLINE std::size_t first_valid(std::size_t first, std::size_t last) const {
    return counts == nullptr ? first : first_above(first, last, counts[first]) - 1;
  }
  [[nodiscard]] ESPALIER_INLINE std::size_t last_valid(std::size_t first, std::size_t last) const {
    return counts == nullptr ? last - 1 : first_above(first, last, counts[last] - 1) - 1;
  }
  [[nodiscard]] ESPALIER_INLINE bool is_valid(std::size_t p) const {
    return counts == nullptr || counts[p + 1] != counts[p];
  }

 private:
  /// The first position of [first, last) whose count is greater, or `last`.
  [[nodiscard]] ESPALIER_INLINE std::size_t first_above(std::size_t first, std::size_t last,
                                                        std::uint32_t count) const {
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (counts[middle] <= count) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }
};

/// Minimum or maximum of order-preserving words.
template <bool Max>
struct extremum_of {
  static constexpr std::uint64_t worst = Max ? 0 : ~std::uint64_t{0};
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t better(std::uint64_t a, std::uint64_t b) {
    return (a < b) == Max ? b : a;
  }
};

inline constexpr std::size_t extrema_block = 32;

/// Level k of the sparse table begins after those before it, which have blocks, blocks - 1, blocks - 3, ... elements.
[[nodiscard]] ESPALIER_INLINE std::size_t extrema_level_begin(std::size_t blocks, unsigned level) {
  return level * (blocks + 1) - ((std::size_t{1} << level) - 1);
}
[[nodiscard]] inline unsigned extrema_levels(std::size_t blocks) {
  return static_cast<unsigned>(std::bit_width(blocks));
}

struct extrema_table {
  const std::uint64_t* from_start = nullptr;
  const std::uint64_t* to_end = nullptr;
  const std::uint64_t* levels = nullptr;
  std::size_t blocks = 0;  // full ones: a window ends in the last block or before it
};

struct extrema_view {
  const std::uint64_t* words = nullptr;
  extrema_table min, max;

  /// Precondition: [first, last) has a value that is not NULL.
  template <bool Max>
  [[nodiscard]] ESPALIER_INLINE std::uint64_t best(const prefix_counts_view& counts, std::size_t first,
                                                   std::size_t last) const {
    using extremum = extremum_of<Max>;
    const std::size_t block_first = first / extrema_block, block_last = (last - 1) / extrema_block;
    if (block_first == block_last) return scan<Max>(counts, first, last);
    const extrema_table& made = Max ? max : min;
    const std::uint64_t ends = extremum::better(made.to_end[first], made.from_start[last - 1]);
    const std::size_t between = block_last - block_first - 1;
    if (between == 0) return ends;
    const unsigned level = highest_bit(between);
    const std::uint64_t* row = made.levels + extrema_level_begin(made.blocks, level);
    return extremum::better(ends, extremum::better(row[block_first + 1], row[block_last - (std::size_t{1} << level)]));
  }

 private:
  [[nodiscard]] static ESPALIER_INLINE unsigned highest_bit(std::size_t x) {
#ifdef __CUDA_ARCH__
    return 63u - static_cast<unsigned>(__clzll(static_cast<long long>(x)));
#else
    return static_cast<unsigned>(std::bit_width(x) - 1);
#endif
  }
  template <bool Max>
  [[nodiscard]] ESPALIER_INLINE std::uint64_t scan(const prefix_counts_view& counts, std::size_t first,
                                                   std::size_t last) const {
    std::uint64_t result = extremum_of<Max>::worst;
    if (counts.counts == nullptr) {
      for (std::size_t p = first; p < last; ++p) result = extremum_of<Max>::better(result, words[p]);
    } else {
      for (std::size_t p = first; p < last; ++p) {
        if (counts.is_valid(p)) result = extremum_of<Max>::better(result, words[p]);
      }
    }
    return result;
  }
};

[[nodiscard]] ESPALIER_INLINE bool is_float_kind(scalar_kind kind) {
  return kind == scalar_kind::f32 || kind == scalar_kind::f64;
}

/// One value column, in position order.
struct value_column_view {
  scalar_kind kind = scalar_kind::opaque;
  prefix_counts_view counts;
  prefix_sums_view sums;
  extrema_view best;
};

enum class window_result : std::uint8_t { value, null, too_wide };

/// One output, and what it is computed from.
struct window_target {
  window_function function = window_function::count_rows;
  void* data = nullptr;
  unsigned width = 0;
  const row_number* rows = nullptr;  // of positions; null: position p is row p
  value_column_view column;

  /// Writes result i. `too_wide`: nothing is written, a sum does not fit 64 bits.
  [[nodiscard]] ESPALIER_INLINE window_result write(std::size_t i, position_range range) const {
    const std::size_t first = range.first, last = range.last;
    if (function == window_function::count_rows) {
      store<std::uint64_t>(i, last - first);
      return window_result::value;
    }
    const std::size_t count = column.counts.count(first, last);
    switch (function) {
      case window_function::count:
        store<std::uint64_t>(i, count);
        return window_result::value;
      case window_function::first:
        store<row_number>(i, count == 0 ? no_row : row(column.counts.first_valid(first, last)));
        break;
      case window_function::last:
        store<row_number>(i, count == 0 ? no_row : row(column.counts.last_valid(first, last)));
        break;
      case window_function::sum:
        if (is_float_kind(column.kind)) {
          store<double>(i, count == 0 ? 0.0 : column.sums.real(last, column.sums, first));
        } else if (!write_integer(i, count == 0 ? int128{0} : column.sums.integer(last, column.sums, first))) {
          return window_result::too_wide;
        }
        break;
      case window_function::avg:
        store<double>(i, count == 0 ? 0.0 : average(first, last, static_cast<double>(count)));
        break;
      case window_function::min:
        store_word(i, count == 0 ? 0 : decode(column.best.best<false>(column.counts, first, last)));
        break;
      default:
        store_word(i, count == 0 ? 0 : decode(column.best.best<true>(column.counts, first, last)));
        break;
    }
    return count == 0 ? window_result::null : window_result::value;
  }

 private:
  template <class T>
  ESPALIER_INLINE void store(std::size_t i, T value) const {
#ifdef __CUDA_ARCH__
    static_cast<T*>(data)[i] = value;
#else
    memcpy(static_cast<unsigned char*>(data) + i * sizeof(T), &value, sizeof(T));  // of any alignment
#endif
  }
  ESPALIER_INLINE void store_word(std::size_t i, std::uint64_t bits) const { store_bits(column.kind, data, i, bits); }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t decode(std::uint64_t word) const {
    return decode_bits(column.kind, word);
  }
  [[nodiscard]] ESPALIER_INLINE row_number row(std::size_t p) const {
    return rows == nullptr ? static_cast<row_number>(p) : rows[p];
  }
  [[nodiscard]] ESPALIER_INLINE double average(std::size_t first, std::size_t last, double count) const {
    return is_float_kind(column.kind) ? column.sums.real(last, column.sums, first, count)
                                      : nearest_double(column.sums.integer(last, column.sums, first)) / count;
  }
  [[nodiscard]] ESPALIER_INLINE bool write_integer(std::size_t i, int128 sum) const {
    if (width == sizeof(int128)) {
      store<int128>(i, sum);
      return true;
    }
    const auto narrow = static_cast<std::int64_t>(sum);
    if (narrow != sum) return false;
    store<std::int64_t>(i, narrow);
    return true;
  }
};

}  // namespace espalier::join_detail
