// group_encoder.hpp - dense group codes from one or more equality columns (`by`), the same for both sides of a join.
//
//   espalier::group_encoder encoder;
//   encoder.encode({{quote_symbols}}, quote_codes);   // the right side defines the groups
//   encoder.lookup({{trade_symbols}}, trade_codes);   // symbols without quotes get no_group
//
// Codes are 0, 1, 2, ... in the order of first appearance, whatever the number of threads. Rows are looked up in
// parallel in a hash table that is read-only meanwhile; rows that are not in it are inserted by one thread, and the
// first waves of rows are small, so that few rows of later waves are new. One table row takes 16 bytes (keys of at most
// 8 bytes) or 24 bytes and the key (longer keys and strings), at a load of at most one half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "espalier/device/device.hpp"
#include "espalier/join/column.hpp"
#include "espalier/join/gather.hpp"

namespace espalier {

/// An equality column: scalars, other values of fixed width compared as bytes, or byte strings.
class by_column {
 public:
  enum class type : std::uint8_t { bytes, f32, f64, strings_32, strings_64 };

  /// Scalars: -0.0 equals +0.0, and NaN equals NaN.
  by_column(const column_view& scalars);  // NOLINT: implicit
  template <std::ranges::contiguous_range Range>
  requires KeyType<std::ranges::range_value_t<Range>> by_column(const Range& values,
                                                                bitmap_view validity = {})  // NOLINT: implicit
      : by_column(column_view(values, validity)) {}
  /// Values of 1, 2, 4, 8 or 16 bytes, compared byte by byte.
  [[nodiscard]] static by_column fixed(const fixed_width_view& values);
  /// Byte strings as in Arrow: string i is the bytes [offsets[i], offsets[i + 1]) of `data`.
  [[nodiscard]] static by_column strings(std::span<const std::int32_t> offsets, const void* data,
                                         bitmap_view validity = {});
  [[nodiscard]] static by_column strings(std::span<const std::int64_t> offsets, const void* data,
                                         bitmap_view validity = {});

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] unsigned width() const noexcept { return width_; }  ///< bytes of a value; 0 for strings
  [[nodiscard]] type kind() const noexcept { return type_; }
  [[nodiscard]] const void* data() const noexcept { return data_; }
  [[nodiscard]] const void* offsets() const noexcept { return offsets_; }
  [[nodiscard]] const bitmap_view& validity() const noexcept { return validity_; }

 private:
  by_column() = default;
  const void* data_ = nullptr;
  const void* offsets_ = nullptr;
  std::size_t size_ = 0;
  unsigned width_ = 0;
  type type_ = type::bytes;
  bitmap_view validity_ = {};
};

/// A growing dictionary of groups. Move-only. lookup() may run concurrently with itself; encode() must not run
/// concurrently with another call.
class group_encoder {
 public:
  explicit group_encoder(const device& dev = device::cpu());
  group_encoder(group_encoder&&) noexcept;
  group_encoder& operator=(group_encoder&&) noexcept;
  ~group_encoder();

  /// Writes the code of each row, and adds the groups that are new. A row with a NULL in one of the columns gets
  /// no_group. All calls have the same number of columns with the same widths. Throws `error` for more than 2^32 - 1
  /// groups. If it throws, groups that were added before stay.
  void encode(std::span<const by_column> columns, std::span<std::uint32_t> codes, const stream& s = {});
  /// As encode(), but a group that is not in the dictionary gets no_group.
  void lookup(std::span<const by_column> columns, std::span<std::uint32_t> codes, const stream& s = {}) const;
  void encode(std::initializer_list<by_column> columns, std::span<std::uint32_t> codes, const stream& s = {}) {
    encode(std::span<const by_column>(columns.begin(), columns.size()), codes, s);
  }
  void lookup(std::initializer_list<by_column> columns, std::span<std::uint32_t> codes, const stream& s = {}) const {
    lookup(std::span<const by_column>(columns.begin(), columns.size()), codes, s);
  }

  [[nodiscard]] std::uint32_t groups() const noexcept;

 private:
  class dictionary;
  std::unique_ptr<dictionary> dictionary_;
};

}  // namespace espalier
