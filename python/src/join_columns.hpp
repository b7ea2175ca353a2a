// join_columns.hpp - columns of frames as the joins see them: one piece of Arrow or NumPy memory with its owners.
//
// Invariants: `validity` has bits only if the column has at least one NULL. Pointers are at the first row, so that no
// column has an offset except bitmaps, which count in bits. Memory is read, never written.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/join/column.hpp"

namespace espalier::python {

namespace nb = nanobind;

enum class column_layout : std::uint8_t {
  fixed,       ///< values of `width` bytes
  bits,        ///< booleans, one bit each
  text_32,     ///< 32-bit offsets and bytes
  text_64,     ///< 64-bit offsets and bytes
  views,       ///< 16-byte views: length, then the bytes or prefix, buffer and offset
  dictionary,  ///< indices of `width` bytes into `dictionary`
  other,       ///< anything else: the joins take it only as a column that the frame's own library gathers
};

struct join_column {
  std::string format;  ///< Arrow's format string of the values; of a dictionary, of its indices
  column_layout layout = column_layout::other;
  unsigned width = 0;
  scalar_kind scalar = scalar_kind::opaque;
  std::size_t size = 0;
  std::size_t nulls = 0;
  bitmap_view validity;
  const void* data = nullptr;
  std::size_t first_bit = 0;      ///< bits: of row 0 in `data`
  const void* offsets = nullptr;  ///< text: offset of row 0
  std::vector<const char*> buffers;
  std::vector<std::int64_t> buffer_bytes;
  std::shared_ptr<const join_column> dictionary;
  std::vector<std::shared_ptr<const void>> owners;

  [[nodiscard]] column_view view() const { return {scalar, data, size, validity}; }
  [[nodiscard]] bool is_text() const {
    return layout == column_layout::text_32 || layout == column_layout::text_64 || layout == column_layout::views;
  }
};
using column_ptr = std::shared_ptr<const join_column>;

using rows_in = nb::ndarray<const row_number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using array_in = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The CPU device of all joins of this module.
[[nodiscard]] const device& join_device();

/// The column of an Arrow stream or array capsule with at most one piece. Throws ValueError for more pieces.
[[nodiscard]] column_ptr import_stream(nb::handle capsule);
[[nodiscard]] column_ptr import_array(nb::handle schema_capsule, nb::handle array_capsule);
/// (schema, array) capsules as `__arrow_c_array__` returns them. Layouts fixed, bits and views.
[[nodiscard]] nb::tuple export_array(const column_ptr& column);

/// A column over a NumPy array. `format` is Arrow's; "?" are booleans of one byte. `missing`, if it is not None, is an
/// array of bool that is True for NULL. With `marks_missing`, NaN and, in columns of times, NaT (the least integer) are
/// NULL.
[[nodiscard]] column_ptr column_of_array(const array_in& values, const std::string& format, nb::object missing,
                                         bool marks_missing);
/// Strings of a list; None is NULL. Throws TypeError for other objects.
[[nodiscard]] column_ptr column_of_strings(nb::list values);
/// NumPy's fixed-width strings: rows of `length` characters of 4 bytes, or of 1 byte, filled up with 0.
[[nodiscard]] column_ptr column_of_characters(const array_in& values, std::size_t length, bool is_wide);
/// Row numbers as an index column: no_row is NULL.
[[nodiscard]] column_ptr column_of_rows(const rows_in& rows);

/// value * multiply / divide as the type of `format` (i, l, L or g). Exact: throws OverflowError if a value that is not
/// NULL has no exact result.
[[nodiscard]] column_ptr cast_column(const column_ptr& column, const std::string& format, std::int64_t multiply,
                                     std::int64_t divide);
/// The column with another format of the same width, or booleans as bytes.
[[nodiscard]] column_ptr reinterpret_column(const column_ptr& column, const std::string& format);
[[nodiscard]] column_ptr bytes_of_bits(const column_ptr& column);

/// column[rows[i]], NULL for no_row. Layouts fixed, bits and views. Works without the GIL.
[[nodiscard]] column_ptr take_column(const column_ptr& column, std::span<const row_number> rows);

/// Values behind indices. An index that is negative or too large is NULL.
[[nodiscard]] column_ptr dictionary_of(const column_ptr& indices, const column_ptr& values);
/// The index of each row of a dictionary column as a row number of its values; no_row for NULL. Works without the GIL.
[[nodiscard]] buffer<row_number> dictionary_indices(const join_column& column);

/// body(indices) with the indices of a dictionary column as unsigned integers of their width.
template <class Body>
void with_dictionary_indices(const join_column& column, Body&& body) {
  switch (column.width) {
    case 1:
      body(static_cast<const std::uint8_t*>(column.data));
      break;
    case 2:
      body(static_cast<const std::uint16_t*>(column.data));
      break;
    case 4:
      body(static_cast<const std::uint32_t*>(column.data));
      break;
    default:
      body(static_cast<const std::uint64_t*>(column.data));
      break;
  }
}

/// Numbers as doubles, NaN for no_row. Works without the GIL.
void take_doubles(const join_column& column, std::span<const row_number> rows, double* out);

/// A column of new memory.
struct made_column {
  std::shared_ptr<join_column> column;
  void* data;
  std::span<std::uint8_t> validity;  ///< written by the caller; see finish()
  /// Counts NULLs; without any the bitmap is dropped.
  [[nodiscard]] column_ptr finish() const;
};
[[nodiscard]] made_column make_column(const std::string& format, std::size_t size, bool with_validity);

/// Bytes and scalar kind of an Arrow format of fixed width; width 0 for others.
struct format_type {
  unsigned width = 0;
  scalar_kind scalar = scalar_kind::opaque;
};
[[nodiscard]] format_type type_of_format(const std::string& format);

/// A NumPy array that owns a buffer of the library.
template <class T>
[[nodiscard]] nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(buffer<T>&& values) {
  auto* owned = new buffer<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<buffer<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

}  // namespace espalier::python
