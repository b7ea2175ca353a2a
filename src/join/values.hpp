// values.hpp - value columns in the order of a sorted side, ready for aggregates over positions [first, last).
//
// Invariants, with n positions:
//   prefix_sums     element p is the sum of the values at positions < p; NULL, infinite and NaN values count as 0
//   prefix_counts   element p is the number of values at positions < p that are not NULL; empty if none is NULL
//   extrema         level k of the sparse table has the minimum (maximum) of blocks [b, b + 2^k) for each b; other
//                   tables have, for each position, that of its block up to it, and from it on
// Sums of floats are made in blocks of sum_block rows, so that rounding does not depend on the number of threads.
#pragma once

#include <bit>
#include <vector>

#include "join/side.hpp"

namespace espalier::join_detail {

/// Calls body(T{}) with the C++ type of a scalar kind.
template <class Body>
decltype(auto) with_value_type(scalar_kind kind, Body&& body) {
  switch (kind) {
    case scalar_kind::u8:
      return body(std::uint8_t{});
    case scalar_kind::i8:
      return body(std::int8_t{});
    case scalar_kind::u16:
      return body(std::uint16_t{});
    case scalar_kind::i16:
      return body(std::int16_t{});
    case scalar_kind::u32:
      return body(std::uint32_t{});
    case scalar_kind::i32:
      return body(std::int32_t{});
    case scalar_kind::u64:
      return body(std::uint64_t{});
    case scalar_kind::i64:
      return body(std::int64_t{});
    case scalar_kind::f32:
      return body(float{});
    case scalar_kind::f64:
      return body(double{});
    case scalar_kind::opaque:
      break;
  }
  throw error("Aggregates take columns of integers, f32 or f64; convert the value column.");
}

[[nodiscard]] inline bool is_float_kind(scalar_kind kind) {
  return kind == scalar_kind::f32 || kind == scalar_kind::f64;
}

/// A sum with about 106 bits.
struct double_double {
  double high = 0, low = 0;
};
[[nodiscard]] inline double_double operator+(double_double a, double_double b) {
  const double s = a.high + b.high, t = s - a.high;
  const double e = ((a.high - (s - t)) + (b.high - t)) + (a.low + b.low);
  const double high = s + e;
  return {high, e - (high - s)};
}
[[nodiscard]] inline double_double operator-(double_double a, double_double b) {
  return a + double_double{-b.high, -b.low};
}

inline constexpr std::size_t sum_block = 4096;

/// A column and the row of each position.
struct positioned_column {
  column_view column;
  const row_number* rows = nullptr;  // null: position p is row p
  std::size_t n = 0;
  [[nodiscard]] std::size_t row(std::size_t p) const { return rows == nullptr ? p : rows[p]; }
};

/// out[p + 1] = out[p] + value(p) in blocks: body(first, last, base, write) runs twice over each block, first for its
/// total, then with the base of the block to write.
template <class Sum, class Value>
void make_prefix(const cpu_backend& backend, std::size_t n, Sum* out, const Value& value) {
  const std::size_t blocks = (n + sum_block - 1) / sum_block;
  std::vector<Sum> base(blocks + 1);
  backend.for_each(
      blocks,
      [&](std::size_t b) {
        Sum total{};
        for (std::size_t p = b * sum_block; p < std::min(n, (b + 1) * sum_block); ++p) total = total + value(p);
        base[b + 1] = total;
      },
      1);
  for (std::size_t b = 0; b < blocks; ++b) base[b + 1] = base[b] + base[b + 1];
  backend.for_each(
      blocks,
      [&](std::size_t b) {
        Sum total{};
        for (std::size_t p = b * sum_block; p < std::min(n, (b + 1) * sum_block); ++p) {
          out[p] = base[b] + total;
          total = total + value(p);
        }
      },
      1);
  out[n] = base[blocks];
}

class prefix_sums {
 public:
  prefix_sums() = default;
  prefix_sums(const cpu_backend& backend, const device& dev, const positioned_column& in) {
    with_value_type(in.column.kind, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        make_real<T>(backend, dev, in);
      } else {
        make_integer<T>(backend, dev, in);
      }
    });
  }

  /// An integer column: sum(element `to`) - sum(element `from`) of the prefix sums, also of another order of the rows.
  [[nodiscard]] int128 integer(std::size_t to, const prefix_sums& other, std::size_t from) const {
    return narrow_.empty() ? wide_.data()[to] - other.wide_.data()[from]
                           : static_cast<int128>(narrow_.data()[to]) - other.narrow_.data()[from];
  }
  [[nodiscard]] int128 integer(std::size_t from, std::size_t to) const { return integer(to, *this, from); }
  /// A float column.
  [[nodiscard]] double real(std::size_t to, const prefix_sums& other, std::size_t from, double divisor = 1) const {
    if (!odd_.empty()) {
      const odd_values a = odd_.data()[to], b = other.odd_.data()[from];
      const bool nan = a.nan != b.nan, positive = a.positive != b.positive, negative = a.negative != b.negative;
      if (nan || (positive && negative)) return std::numeric_limits<double>::quiet_NaN();
      if (positive) return std::numeric_limits<double>::infinity();
      if (negative) return -std::numeric_limits<double>::infinity();
    }
    const double_double d = real_.data()[to] - other.real_.data()[from];
    return (d.high + d.low) / divisor / scale_;
  }
  [[nodiscard]] double real(std::size_t from, std::size_t to, double divisor = 1) const {
    return real(to, *this, from, divisor);
  }
  [[nodiscard]] std::size_t bytes() const { return narrow_.bytes() + wide_.bytes() + real_.bytes() + odd_.bytes(); }

 private:
  struct odd_values {
    std::uint32_t nan = 0, positive = 0, negative = 0;
    friend odd_values operator+(odd_values a, odd_values b) {
      return {a.nan + b.nan, a.positive + b.positive, a.negative + b.negative};
    }
  };
  struct magnitude {
    uint128 absolute = 0;
    friend magnitude operator+(magnitude a, magnitude b) { return {a.absolute + b.absolute}; }
  };

  template <class T>
  static auto reader(const positioned_column& in) {
    return [&in, values = static_cast<const T*>(in.column.data)](std::size_t p) {
      const std::size_t row = in.row(p);
      return in.column.validity[row] ? values[row] : T{};
    };
  }

  /// The sum of body(p) over all positions, in parallel.
  template <class Sum, class Body>
  static Sum total_of(const cpu_backend& backend, std::size_t n, const Body& body) {
    const std::size_t blocks = (n + sum_block - 1) / sum_block;
    std::vector<Sum> sums(blocks);
    backend.for_each(
        blocks,
        [&](std::size_t b) {
          Sum total{};
          for (std::size_t p = b * sum_block; p < std::min(n, (b + 1) * sum_block); ++p) total = total + body(p);
          sums[b] = total;
        },
        1);
    Sum all{};
    for (const Sum& s : sums) all = all + s;
    return all;
  }

  template <class T>
  void make_integer(const cpu_backend& backend, const device& dev, const positioned_column& in) {
    const auto value = reader<T>(in);
    bool is_narrow = sizeof(T) <= 4 && in.n < (std::size_t{1} << 31);  // 2^31 values of 32 bits have a 63-bit sum
    if (!is_narrow) {
      const auto all = total_of<magnitude>(backend, in.n, [&](std::size_t p) {
        const auto x = static_cast<int128>(value(p));
        return magnitude{static_cast<uint128>(x < 0 ? -x : x)};
      });
      is_narrow = all.absolute < (uint128{1} << 63);
    }
    if (is_narrow) {
      narrow_ = buffer<std::int64_t>(dev, in.n + 1);
      make_prefix(backend, in.n, narrow_.data(), [&](std::size_t p) { return static_cast<std::int64_t>(value(p)); });
    } else {
      wide_ = buffer<int128>(dev, in.n + 1);
      make_prefix(backend, in.n, wide_.data(), [&](std::size_t p) { return static_cast<int128>(value(p)); });
    }
  }

  template <class T>
  void make_real(const cpu_backend& backend, const device& dev, const positioned_column& in) {
    const auto value = reader<T>(in);
    const auto oddness = [&](std::size_t p) {
      const double x = static_cast<double>(value(p));
      const bool infinite = std::isinf(x);
      return odd_values{std::isnan(x) ? 1u : 0u, infinite && x > 0 ? 1u : 0u, infinite && x < 0 ? 1u : 0u};
    };
    const odd_values odd = total_of<odd_values>(backend, in.n, oddness);
    if (odd.nan + odd.positive + odd.negative != 0) {
      odd_ = buffer<odd_values>(dev, in.n + 1);
      make_prefix(backend, in.n, odd_.data(), oddness);
    }
    const double absolute = total_of<double>(backend, in.n, [&](std::size_t p) {
      const double x = static_cast<double>(value(p));
      return std::isfinite(x) ? std::fabs(x) : 0.0;
    });
    if (absolute > 0x1p1000) scale_ = 0x1p-100;  // so that sums outside of a window do not overflow
    real_ = buffer<double_double>(dev, in.n + 1);
    const double scale = scale_;
    make_prefix(backend, in.n, real_.data(), [&, scale](std::size_t p) {
      const double x = static_cast<double>(value(p));
      return double_double{std::isfinite(x) ? x * scale : 0.0, 0.0};
    });
  }

  buffer<std::int64_t> narrow_;
  buffer<int128> wide_;
  buffer<double_double> real_;
  buffer<odd_values> odd_;
  double scale_ = 1;
};

/// Values that are not NULL.
class prefix_counts {
 public:
  prefix_counts() = default;
  prefix_counts(const cpu_backend& backend, const device& dev, const positioned_column& in) {
    if (!in.column.validity) return;
    counts_ = buffer<std::uint32_t>(dev, in.n + 1);
    make_prefix(backend, in.n, counts_.data(), [&](std::size_t p) { return in.column.validity[in.row(p)] ? 1u : 0u; });
  }
  [[nodiscard]] std::size_t count(std::size_t first, std::size_t last) const {
    return counts_.empty() ? last - first : counts_.data()[last] - counts_.data()[first];
  }
  /// The first and the last position of [first, last) with a value. Precondition: there is one.
  [[nodiscard]] std::size_t first_valid(std::size_t first, std::size_t last) const {
    if (counts_.empty()) return first;
    return binary_search<bound_type::upper>(counts_.data(), first, last, counts_.data()[first]) - 1;
  }
  [[nodiscard]] std::size_t last_valid(std::size_t first, std::size_t last) const {
    if (counts_.empty()) return last - 1;
    return binary_search<bound_type::lower>(counts_.data(), first, last, counts_.data()[last]) - 1;
  }
  [[nodiscard]] bool is_valid(std::size_t p) const {
    return counts_.empty() || counts_.data()[p + 1] != counts_.data()[p];
  }
  [[nodiscard]] bool has_nulls() const { return !counts_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return counts_.bytes(); }

 private:
  buffer<std::uint32_t> counts_;
};

/// Minimum and maximum, as order-preserving words.
class extrema {
 public:
  extrema() = default;
  extrema(const cpu_backend& backend, const device& dev, const positioned_column& in, const prefix_counts& counts,
          bool wants_min, bool wants_max)
      : words_(dev, in.n) {
    with_value_type(in.column.kind, [&](auto zero) {
      constexpr scalar_kind kind = scalar_kind_of<decltype(zero)>;
      backend.for_each(
          in.n,
          [&](std::size_t p) {
            words_.data()[p] =
                encode_bits<std::uint64_t>(kind, load_bits<std::uint64_t>(kind, in.column.data, in.row(p)));
          },
          piece_rows);
    });
    if (wants_min) make_table<false>(backend, dev, counts, min_);
    if (wants_max) make_table<true>(backend, dev, counts, max_);
  }

  /// Precondition: [first, last) has a value that is not NULL.
  template <bool Max>
  [[nodiscard]] std::uint64_t best(const prefix_counts& counts, std::size_t first, std::size_t last) const {
    const std::size_t block_first = first / block, block_last = (last - 1) / block;
    if (block_first == block_last) return scan<Max>(counts, first, last);
    const table& made = Max ? max_ : min_;
    const std::uint64_t ends = better<Max>(made.to_end.data()[first], made.from_start.data()[last - 1]);
    const std::size_t between = block_last - block_first - 1;
    if (between == 0) return ends;
    const auto level = static_cast<std::size_t>(std::bit_width(between) - 1);
    const std::uint64_t* row = made.levels[level].data();
    return better<Max>(ends, better<Max>(row[block_first + 1], row[block_last - (std::size_t{1} << level)]));
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = words_.bytes();
    for (const table* made : {&min_, &max_}) {
      total += made->from_start.bytes() + made->to_end.bytes();
      for (const auto& level : made->levels) total += level.bytes();
    }
    return total;
  }

 private:
  static constexpr std::size_t block = 32;

  struct table {
    // Instead of scans of the ends of a window, which take three times as long in all: 31 values, and two branches that
    // cannot be predicted.
    buffer<std::uint64_t> from_start, to_end;
    std::vector<buffer<std::uint64_t>> levels;
  };

  template <bool Max>
  [[nodiscard]] static std::uint64_t better(std::uint64_t a, std::uint64_t b) {
    return Max ? std::max(a, b) : std::min(a, b);
  }
  template <bool Max>
  static constexpr std::uint64_t worst = Max ? 0 : ~std::uint64_t{0};

  template <bool Max>
  [[nodiscard]] std::uint64_t scan(const prefix_counts& counts, std::size_t first, std::size_t last) const {
    std::uint64_t result = worst<Max>;
    const std::uint64_t* words = words_.data();
    if (!counts.has_nulls()) {
      for (std::size_t p = first; p < last; ++p) result = better<Max>(result, words[p]);
    } else {
      for (std::size_t p = first; p < last; ++p) {
        if (counts.is_valid(p)) result = better<Max>(result, words[p]);
      }
    }
    return result;
  }

  template <bool Max>
  void make_table(const cpu_backend& backend, const device& dev, const prefix_counts& counts, table& made) {
    const std::size_t n = words_.size(), blocks = n / block;  // full ones: a window ends in the last block or before it
    const std::uint64_t* words = words_.data();
    made.from_start = buffer<std::uint64_t>(dev, n);
    made.to_end = buffer<std::uint64_t>(dev, n);
    made.levels.emplace_back(dev, blocks);
    std::uint64_t *from_start = made.from_start.data(), *to_end = made.to_end.data(), *base = made.levels[0].data();
    const auto word = [&, has_nulls = counts.has_nulls()](std::size_t p) {
      return has_nulls && !counts.is_valid(p) ? worst<Max> : words[p];
    };
    backend.for_each((n + block - 1) / block,
                     [&](std::size_t b) {
                       const std::size_t first = b * block, last = std::min(n, first + block);
                       std::uint64_t result = worst<Max>;
                       for (std::size_t p = first; p < last; ++p) from_start[p] = result = better<Max>(result, word(p));
                       if (b < blocks) base[b] = result;
                       result = worst<Max>;
                       for (std::size_t p = last; p > first; --p)
                         to_end[p - 1] = result = better<Max>(result, word(p - 1));
                     },
                     piece_rows / block);
    for (std::size_t half = 1; 2 * half <= blocks; half *= 2) {
      buffer<std::uint64_t> next(dev, blocks - 2 * half + 1);
      const std::uint64_t* from = made.levels.back().data();
      backend.for_each(
          next.size(), [&](std::size_t b) { next.data()[b] = better<Max>(from[b], from[b + half]); }, piece_rows);
      made.levels.push_back(std::move(next));
    }
  }

  buffer<std::uint64_t> words_;
  table min_, max_;
};

}  // namespace espalier::join_detail
