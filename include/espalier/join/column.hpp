// column.hpp - columns, row numbers and sides of joins: views of memory that the caller owns.
//
// Row numbers have 32 bits: a side has at most 2^32 - 1 rows, and every call checks that. The reason is bytes. An as-of
// join of 2^20 x 2^20 sorted 8-byte keys with two gathered 8-byte columns moves 60 MiB with 4-byte row numbers and 72
// MiB with 8-byte ones; a prepared side stores 12 instead of 16 bytes per row. Larger tables are joined in pieces: the
// left side in batches, the right side by groups or by ranges of the key. Numbers of pairs have 64 bits.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier {

/// The number of a row within its side, counted from 0.
using row_number = std::uint32_t;
/// The row number of a left row without a match.
inline constexpr row_number no_row = 0xffffffffu;
/// The largest number of rows of one side.
inline constexpr std::size_t max_join_rows = 0xffffffffu;
/// The group code of a row that belongs to no group, for example because a `by` column is NULL. It matches nothing.
inline constexpr std::uint32_t no_group = 0xffffffffu;

/// Validity of the rows of a column, as in Arrow: bit `offset + i`, least significant bit first, is 1 if row i is not
/// NULL. Without bits every row is valid.
struct bitmap_view {
  const std::uint8_t* bits = nullptr;
  std::size_t offset = 0;

  [[nodiscard]] bool operator[](std::size_t i) const {
    const std::size_t at = offset + i;
    return bits == nullptr || ((bits[at / 8] >> (at % 8)) & 1u) != 0;
  }
  [[nodiscard]] explicit operator bool() const noexcept { return bits != nullptr; }
};

/// A column of scalars. Does not own the memory: host memory, or, for calls on a GPU that accept it, memory of the GPU.
struct column_view {
  scalar_kind kind = scalar_kind::opaque;
  const void* data = nullptr;
  std::size_t size = 0;
  bitmap_view validity = {};

  column_view() = default;
  column_view(scalar_kind kind_, const void* data_, std::size_t size_, bitmap_view validity_ = {})
      : kind(kind_), data(data_), size(size_), validity(validity_) {}
  /// From a vector, a span, or any other contiguous range of a key type.
  template <std::ranges::contiguous_range Range>
  requires KeyType<std::ranges::range_value_t<Range>> column_view(const Range& values,
                                                                  bitmap_view validity_ = {})  // NOLINT: implicit
      : kind(scalar_kind_of<std::ranges::range_value_t<Range>>),
        data(std::to_address(std::ranges::begin(values))),
        size(static_cast<std::size_t>(std::ranges::size(values))),
        validity(validity_) {}
};

/// Order of the rows of a side. A declared order is not checked; if it is wrong, the answer is unspecified.
enum class row_order : std::uint8_t {
  detect,            ///< one pass over the keys finds the order
  sorted,            ///< keys ascend from row to row, over all groups; rows with a NULL key may be anywhere
  sorted_in_groups,  ///< keys ascend among the rows of each group
  unsorted,          ///< no order: the side is sorted once
};

/// One side of a join: the ordered column `on` and optionally the group of each row.
struct join_side {
  /// Key: i32, u32, i64, u64, f32 or f64 (or a chrono type over one of them). Rows whose key is NULL or NaN match
  /// nothing. -0.0 equals +0.0.
  column_view on;
  /// One code per row, less than `groups`, or no_group; see group_encoder. Empty: all rows are in one group.
  std::span<const std::uint32_t> by = {};
  /// Number of groups. Both sides of a join have the same number.
  std::uint32_t groups = 0;
  row_order order = row_order::detect;
};

/// A distance between two keys: an exact integer for integer keys, a double for float keys.
class key_distance {
 public:
  template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>) constexpr key_distance(T value)  // NOLINT: implicit
      : integer_(static_cast<int128>(value)), real_(static_cast<double>(value)) {}
  template <std::floating_point T>
  constexpr key_distance(T value)  // NOLINT: implicit
      : real_(static_cast<double>(value)), is_real_(true) {}
  template <class Rep, class Period>
  constexpr key_distance(std::chrono::duration<Rep, Period> value)  // NOLINT: implicit
      : key_distance(value.count()) {}

  /// True if the distance was given as a floating-point number, which integer keys do not accept.
  [[nodiscard]] constexpr bool is_real() const noexcept { return is_real_; }
  [[nodiscard]] constexpr int128 integer() const noexcept { return integer_; }
  [[nodiscard]] constexpr double real() const noexcept { return real_; }

 private:
  int128 integer_ = 0;
  double real_ = 0;
  bool is_real_ = false;
};

}  // namespace espalier
