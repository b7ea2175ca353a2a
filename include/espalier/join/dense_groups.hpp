// dense_groups.hpp - group codes of both sides of a join from one integer column (`by`) of small values, without a
// dictionary.
//
//   if (const auto groups = espalier::dense_groups_of(trade_symbols, quote_symbols)) {
//     espalier::asof_join({.on = trade_times, .by = groups->left, .groups = groups->groups},
//                         {.on = quote_times, .by = groups->right, .groups = groups->groups}, rows);
//   }
//
// Symbol numbers and codes of enumerations are group codes already: if both columns have 4 bytes, no NULL, and values
// from 0 to less than the limit, they are read in one pass and not copied. Where only the values of the right column
// are in a small range, codes are distances from its least value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "espalier/device/buffer.hpp"
#include "espalier/join/column.hpp"

namespace espalier {

/// Codes of both sides: less than `groups`, or no_group for NULLs and for left values that are outside of the range of
/// the right ones. **Lifetime:** `left` and `right` may be the memory of the columns.
struct dense_groups {
  std::span<const std::uint32_t> left, right;
  std::uint32_t groups = 0;
  buffer<std::uint32_t> own_left, own_right;  ///< empty where the values of the column are the codes
};

/// Groups are made for values, not only for those that are there, so that a range is small if it has at most as many
/// values as the right side has rows, and at most this many: joins have tables of all groups.
inline constexpr std::uint32_t most_dense_groups = std::uint32_t{1} << 13;

/// Codes of two integer columns of the same type (i32, u32, i64 or u64), or nothing if the range of the right values is
/// not small or the columns have another type; then a group_encoder gives codes. O(rows); columns of large values are
/// recognised by their first rows.
[[nodiscard]] std::optional<dense_groups> dense_groups_of(const column_view& left, const column_view& right,
                                                          const device& dev = device::cpu(), const stream& s = {});

}  // namespace espalier
