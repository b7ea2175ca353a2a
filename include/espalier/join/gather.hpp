// gather.hpp - columns of an answer: out[i] = column[rows[i]].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/device/device.hpp"
#include "espalier/join/column.hpp"

namespace espalier {

/// Values of 1, 2, 4, 8 or 16 bytes of any type, aligned to their size.
struct fixed_width_view {
  const void* data = nullptr;
  std::size_t size = 0;
  unsigned width = 0;
  bitmap_view validity = {};

  fixed_width_view() = default;
  fixed_width_view(const void* data_, std::size_t size_, unsigned width_, bitmap_view validity_ = {})
      : data(data_), size(size_), width(width_), validity(validity_) {}
  template <std::ranges::contiguous_range Range>
  fixed_width_view(const Range& values, bitmap_view validity_ = {})  // NOLINT: implicit
      : data(std::to_address(std::ranges::begin(values))),
        size(static_cast<std::size_t>(std::ranges::size(values))),
        width(sizeof(std::ranges::range_value_t<Range>)),
        validity(validity_) {}
};

/// Writes column[rows[i]] to element i of `out`, which has rows.size() elements of the column's width. For no_row and
/// for NULL values the element is zero bytes. `validity`, if not empty, has (rows.size() + 7) / 8 bytes and gets one
/// bit per element, least significant first; the last byte is filled up with 0. Returns the number of elements without
/// a value. Throws `error` for row numbers beyond the column; `out` is unspecified then. Memory as for asof_join(): on
/// a GPU each array may be in its memory or in host memory.
std::size_t gather_column(const fixed_width_view& column, std::span<const row_number> rows, void* out,
                          std::span<std::uint8_t> validity = {}, const device& dev = device::cpu(),
                          const stream& s = {});

template <class T>
std::size_t gather_column(const fixed_width_view& column, std::span<const row_number> rows, std::span<T> out,
                          std::span<std::uint8_t> validity = {}, const device& dev = device::cpu(),
                          const stream& s = {}) {
  if (out.size() != rows.size() || sizeof(T) != column.width) {
    throw error("gather_column() writes one element of the column's width for each row number; resize the output.");
  }
  return gather_column(column, rows, static_cast<void*>(out.data()), validity, dev, s);
}

}  // namespace espalier
