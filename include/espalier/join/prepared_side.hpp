// prepared_side.hpp - the right side of joins, sorted once and joined many times.
//
//   auto quotes = espalier::prepared_side::build({.on = times, .by = symbols, .groups = 500});
//   quotes.asof_join({.on = trade_times, .by = trade_symbols, .groups = 500}, rows);
//   quotes.append({.on = new_times, .by = new_symbols, .groups = 500});
//
// Layout: keys and row numbers, group by group, in key order; equal keys in row order. Row numbers are omitted if they
// are 0, 1, 2, ... A top level has every 64th key. 8-byte keys take 12.1 bytes per row and 8 bytes per group.
//
// With groups, and rows in key order as a whole, the first join with a left side that is in order and has at least a
// quarter as many rows makes keys and codes in row order as well: 12 bytes per row, which an append drops.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "espalier/join/asof_join.hpp"
#include "espalier/join/column.hpp"

namespace espalier {

namespace join_detail {
class prepared_rows;
}  // namespace join_detail

/// A right side that owns a sorted copy of its keys. Move-only. Const methods may run concurrently; append() and
/// compact() must not run concurrently with another call.
class prepared_side {
 public:
  /// Copies and, where needed, sorts the side. O(rows) for sorted rows; otherwise a radix sort.
  [[nodiscard]] static prepared_side build(const join_side& side, const device& dev = device::cpu(),
                                           const stream& s = {});
  prepared_side(prepared_side&&) noexcept;
  prepared_side& operator=(prepared_side&&) noexcept;
  ~prepared_side();

  /// Adds rows; their numbers continue at size(). The number of groups may grow. Amortised O(1) per row whose key is
  /// not less than the last key of its group; otherwise O(rows of the group). The side is unchanged if this throws.
  void append(const join_side& more, const stream& s = {});
  /// Moves appended rows into the main arrays. O(size()). Joins are valid without it; window_index and span joins,
  /// which use positions in the main arrays, require it.
  void compact(const stream& s = {});

  /// As espalier::asof_join() with this right side. O(left log(right)) at most; a left batch that is sorted in its
  /// groups is searched by galloping. Cost does not depend on right rows that are not near a left row.
  void asof_join(const join_side& left, std::span<row_number> rows, const asof_options& options = {},
                 const stream& s = {}) const;

  [[nodiscard]] std::size_t size() const noexcept;      ///< rows, with those that match nothing
  [[nodiscard]] std::uint32_t groups() const noexcept;  ///< 0 for a side without `by`
  [[nodiscard]] std::size_t bytes() const noexcept;     ///< memory of the side
  [[nodiscard]] scalar_kind key_kind() const noexcept;

  /// The implementation, for the joins of this folder.
  [[nodiscard]] const join_detail::prepared_rows& implementation() const noexcept { return *rows_; }

 private:
  explicit prepared_side(std::unique_ptr<join_detail::prepared_rows> rows);
  std::unique_ptr<join_detail::prepared_rows> rows_;
};

}  // namespace espalier
