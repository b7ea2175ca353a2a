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

#include "join/aggregate_views.hpp"
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

  [[nodiscard]] prefix_sums_view view() const {
    return {narrow_.data(), wide_.data(), real_.data(), odd_.data(), scale_};
  }
  [[nodiscard]] std::size_t bytes() const { return narrow_.bytes() + wide_.bytes() + real_.bytes() + odd_.bytes(); }

 private:
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
    const auto oddness = [&](std::size_t p) { return odd_values::of(static_cast<double>(value(p))); };
    const odd_values odd = total_of<odd_values>(backend, in.n, oddness);
    if (!odd.is_none()) {
      odd_ = buffer<odd_values>(dev, in.n + 1);
      make_prefix(backend, in.n, odd_.data(), oddness);
    }
    const double absolute = total_of<double>(backend, in.n, [&](std::size_t p) {
      const double x = static_cast<double>(value(p));
      return std::isfinite(x) ? std::fabs(x) : 0.0;
    });
    if (absolute > most_unscaled_sum) scale_ = sum_scale;
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
  [[nodiscard]] prefix_counts_view view() const { return {counts_.data()}; }
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

  [[nodiscard]] extrema_view view() const { return {words_.data(), min_.view(), max_.view()}; }
  [[nodiscard]] std::size_t bytes() const { return words_.bytes() + min_.bytes() + max_.bytes(); }

 private:
  struct table {
    // Instead of scans of the ends of a window, which take three times as long in all: 31 values, and two branches that
    // cannot be predicted.
    buffer<std::uint64_t> from_start, to_end, levels;
    std::size_t blocks = 0;
    [[nodiscard]] extrema_table view() const { return {from_start.data(), to_end.data(), levels.data(), blocks}; }
    [[nodiscard]] std::size_t bytes() const { return from_start.bytes() + to_end.bytes() + levels.bytes(); }
  };

  template <bool Max>
  void make_table(const cpu_backend& backend, const device& dev, const prefix_counts& counts, table& made) {
    using extremum = extremum_of<Max>;
    constexpr std::size_t block = extrema_block;
    const std::size_t n = words_.size(), blocks = n / block;
    const unsigned levels = extrema_levels(blocks);
    const std::uint64_t* words = words_.data();
    made.blocks = blocks;
    made.from_start = buffer<std::uint64_t>(dev, n);
    made.to_end = buffer<std::uint64_t>(dev, n);
    made.levels = buffer<std::uint64_t>(dev, extrema_level_begin(blocks, levels));
    std::uint64_t *from_start = made.from_start.data(), *to_end = made.to_end.data(), *base = made.levels.data();
    const auto word = [words, valid = counts.view()](std::size_t p) {
      return valid.is_valid(p) ? words[p] : extremum::worst;
    };
    backend.for_each((n + block - 1) / block,
                     [&](std::size_t b) {
                       const std::size_t first = b * block, last = std::min(n, first + block);
                       std::uint64_t result = extremum::worst;
                       for (std::size_t p = first; p < last; ++p) {
                         from_start[p] = result = extremum::better(result, word(p));
                       }
                       if (b < blocks) base[b] = result;
                       result = extremum::worst;
                       for (std::size_t p = last; p > first; --p)
                         to_end[p - 1] = result = extremum::better(result, word(p - 1));
                     },
                     piece_rows / block);
    for (unsigned level = 1; level < levels; ++level) {
      const std::size_t half = std::size_t{1} << (level - 1);
      const std::uint64_t* from = base + extrema_level_begin(blocks, level - 1);
      std::uint64_t* to = base + extrema_level_begin(blocks, level);
      backend.for_each(
          blocks - 2 * half + 1, [&](std::size_t b) { to[b] = extremum::better(from[b], from[b + half]); }, piece_rows);
    }
  }

  buffer<std::uint64_t> words_;
  table min_, max_;
};

}  // namespace espalier::join_detail
