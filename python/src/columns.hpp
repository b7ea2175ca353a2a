// columns.hpp - arguments as typed columns, and arrays for answers.
//
//   column keys = import_column(object, "keys");     // with the GIL
//   { nb::gil_scoped_release unlocked; use(keys.view()); }
//
// import_column() takes NumPy arrays, Python lists and scalars, the buffer protocol, DLPack on the CPU, pandas and
// polars columns, and everything with __arrow_c_stream__ or __arrow_c_array__. Memory is shared, not copied, where the
// layout allows it: contiguous, aligned, native byte order, one chunk. A column keeps what owns its memory; it must be
// destroyed with the GIL held. If another thread writes to shared memory during a call, the answer
// is unspecified.
//
// Not copied: NumPy numbers, bool, datetime64, timedelta64; Arrow numbers, dates, times, durations, strings and binary
// with 32-bit or 64-bit offsets. Copied: strided arrays, several chunks, Arrow's bool (bits), string views and
// dictionaries, NumPy's and Python's strings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/join/column.hpp"
#include "espalier/join/group_encoder.hpp"

namespace espalier::python {

namespace nb = nanobind;

/// What the values of a column mean.
enum class logical_type : std::uint8_t { number, boolean, datetime, duration, string, binary };

/// NumPy's units of datetime64 and timedelta64, with its numbers (NPY_DATETIMEUNIT).
enum class time_unit : std::uint8_t {
  year = 0,
  month = 1,
  week = 2,
  day = 4,
  hour = 5,
  minute = 6,
  second = 7,
  milli = 8,
  micro = 9,
  nano = 10,
  pico = 11,
  femto = 12,
  atto = 13,
  generic = 14,  ///< generic: NumPy's timedelta64 without a unit
};

struct data_type {
  logical_type logical = logical_type::number;
  scalar_kind kind = scalar_kind::opaque;  ///< of fixed-width values; opaque for strings
  time_unit unit = time_unit::generic;     ///< of datetime and duration
  int multiple = 1;                        ///< 25 of datetime64[25s]

  [[nodiscard]] bool is_text() const { return logical == logical_type::string || logical == logical_type::binary; }
  [[nodiscard]] bool is_time() const { return logical == logical_type::datetime || logical == logical_type::duration; }
  /// Bytes of a value; 0 for strings.
  [[nodiscard]] unsigned width() const { return bytes_of(kind); }
  [[nodiscard]] bool operator==(const data_type&) const = default;
};

/// NumPy's name: "uint32", "datetime64[ns]", "str", "bytes".
[[nodiscard]] std::string name_of(const data_type& type);

/// What kind of object an argument was; answers are made of the same kind (espalier/_answers.py).
enum class origin : std::uint8_t { scalar, list, numpy, pandas, polars, arrow, other };

/// A column of an argument. Move-only. Pointers are valid while the column lives.
class column {
 public:
  data_type type;
  const void* data = nullptr;               ///< values, or the bytes of strings
  const std::int32_t* offsets32 = nullptr;  ///< of strings: size + 1 offsets, in one of both arrays
  const std::int64_t* offsets64 = nullptr;
  std::size_t size = 0;
  bitmap_view validity = {};  ///< no bits if there are no NULLs
  std::size_t nulls = 0;
  origin from = origin::other;
  std::string timezone = {};  ///< of Arrow's timestamps
  bool shared = false;        ///< whether the values are the caller's memory

  column() = default;
  column(column&&) noexcept = default;
  column& operator=(column&&) noexcept = default;

  /// Fixed-width values for joins and indexes. Throws TypeError for strings.
  [[nodiscard]] column_view view() const;
  /// An equality column of any type.
  [[nodiscard]] by_column by() const;
  [[nodiscard]] std::string_view string_at(std::size_t i) const;
  [[nodiscard]] bool is_valid(std::size_t i) const { return validity[i]; }

  /// Keeps a Python object alive with the column.
  void keep(nb::object owner) { objects_.push_back(std::move(owner)); }
  /// Keeps any other owner.
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  /// Allocates memory that the column owns.
  template <class T>
  [[nodiscard]] T* allocate(std::size_t n) {
    auto memory = std::shared_ptr<T[]>(new T[n == 0 ? 1 : n]);
    T* const p = memory.get();
    keep(std::shared_ptr<const void>(memory, p));
    return p;
  }

 private:
  std::vector<nb::object> objects_;
  std::vector<std::shared_ptr<const void>> owners_;
};

/// Reads an argument. `what` names it in errors: "keys". Throws TypeError that names the type, and ValueError for a
/// wrong shape. Requires the GIL.
[[nodiscard]] column import_column(nb::handle source, const char* what);

/// A new one-dimensional NumPy array. `data` is uninitialised.
struct new_array {
  nb::object array;
  void* data = nullptr;
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data);
  }
};
/// Requires the GIL. Throws MemoryError. Types of strings are refused.
[[nodiscard]] new_array make_array(const data_type& type, std::size_t n);
[[nodiscard]] inline new_array make_array(scalar_kind kind, std::size_t n) {
  return make_array(data_type{logical_type::number, kind}, n);
}
/// bool
[[nodiscard]] new_array make_mask(std::size_t n);
/// A read-only array of memory that `owner` keeps alive: no copy.
[[nodiscard]] nb::object wrap_array(const data_type& type, const void* data, std::size_t n,
                                    std::shared_ptr<const void> owner);
/// A list of str or bytes.
[[nodiscard]] nb::object make_text(const data_type& type, const std::uint64_t* offsets, const char* bytes,
                                   std::size_t n);

/// NumPy's dtype object of a type.
[[nodiscard]] nb::object numpy_dtype(const data_type& type);

/// Throws ValueError with "<what> has 3 elements, and <other> has 4: both must have the same length."
void require_same_length(const char* what, std::size_t n, const char* other, std::size_t m);

/// Makes Python exceptions of the library's errors (errors.cpp); for the initialisation of the module.
void register_errors(nb::module_& m);

/// The values of a call on an index, in the type of its keys, without a copy of an array.
class query_batch {
 public:
  query_batch() = default;
  query_batch(const query_batch&) = delete;
  query_batch& operator=(const query_batch&) = delete;

  /// Reads a NumPy array of exactly this type (contiguous, one dimension), or a Python number that the type can hold.
  /// Returns false for everything else, and for keys with NaT, which espalier/_queries.py converts. -0.0 is read as 0.0
  /// if these are keys.
  [[nodiscard]] bool read(nb::handle source, const data_type& type, bool are_keys = true);

  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_scalar() const { return is_scalar_; }

 private:
  void replace_negative_zeros(const data_type& type);

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_scalar_ = false;
  alignas(8) unsigned char one_[8] = {};
  nb::object owner_;
  std::unique_ptr<unsigned char[]> copy_;
};

/// A Python number of element i of an array; numpy.datetime64 and timedelta64 for times.
[[nodiscard]] nb::object scalar_at(const data_type& type, const void* data, std::size_t i);
/// The array, or its one element if the queries were a scalar.
[[nodiscard]] inline nb::object answer(const data_type& type, const new_array& values, bool is_scalar) {
  return is_scalar ? scalar_at(type, values.data, 0) : values.array;
}

/// All cores that the process may use.
[[nodiscard]] const device& cpu();

inline constexpr data_type int64_type{logical_type::number, scalar_kind::i64};
inline constexpr data_type bool_type{logical_type::boolean, scalar_kind::u8};

// ---- parts, for columns.cpp ----------------------------------------------------------------------------------------
namespace detail {
/// numpy_array.cpp, the only file that includes NumPy's C API.
void initialize_numpy();
[[nodiscard]] bool is_numpy_array(nb::handle source);
[[nodiscard]] column import_numpy(nb::handle array, const char* what);
/// Memory of a contiguous, aligned, one-dimensional ndarray (no subclass) of exactly this type; otherwise false.
[[nodiscard]] bool plain_array(nb::handle source, const data_type& type, const void*& data, std::size_t& n);
/// arrow.cpp
[[nodiscard]] column import_arrow_stream(nb::handle capsule, const char* what);
[[nodiscard]] column import_arrow_array(nb::handle schema_capsule, nb::handle array_capsule, const char* what);
/// A list or tuple of str, or of bytes; None is NULL.
[[nodiscard]] column import_text_list(nb::handle list, const char* what);
}  // namespace detail

}  // namespace espalier::python
