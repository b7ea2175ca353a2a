// join_columns.cpp - columns over NumPy arrays and lists, exact conversions, and gathers.
#include "join_columns.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "columns.hpp"
#include "espalier/join/gather.hpp"

namespace espalier::python {

namespace {

constexpr std::size_t piece = std::size_t{1} << 14;  // a multiple of 8: pieces do not share bytes of bitmaps

template <class Body>
decltype(auto) with_scalar(scalar_kind kind, Body&& body) {
  switch (kind) {
    case scalar_kind::i8:
      return body(std::int8_t{});
    case scalar_kind::u8:
      return body(std::uint8_t{});
    case scalar_kind::i16:
      return body(std::int16_t{});
    case scalar_kind::u16:
      return body(std::uint16_t{});
    case scalar_kind::i32:
      return body(std::int32_t{});
    case scalar_kind::u32:
      return body(std::uint32_t{});
    case scalar_kind::i64:
      return body(std::int64_t{});
    case scalar_kind::u64:
      return body(std::uint64_t{});
    case scalar_kind::f32:
      return body(float{});
    case scalar_kind::f64:
      return body(double{});
    default:
      throw nb::type_error("A column of numbers is required; convert the column.");
  }
}

/// value * multiply / divide, if that is exact in `To`.
template <class To, class From>
bool convert(From value, std::int64_t multiply, std::int64_t divide, To& out) {
  if constexpr (std::is_floating_point_v<To>) {
    out = static_cast<To>(value);
    if constexpr (std::is_integral_v<From>) {
      if constexpr (sizeof(From) == 8) {
        const auto back = static_cast<int128>(out);  // |out| <= 2^64
        return back == static_cast<int128>(value);
      }
    }
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    const double scaled = static_cast<double>(value) * static_cast<double>(multiply);
    if (divide != 1 || multiply != 1 || !(scaled >= -9223372036854775808.0 && scaled < 18446744073709551616.0)) {
      out = 0;
      return value != value;  // NaN becomes NULL
    }
    const auto exact = static_cast<int128>(scaled);
    out = static_cast<To>(exact);
    return static_cast<double>(exact) == scaled && static_cast<int128>(out) == exact;
  } else {
    const int128 scaled = static_cast<int128>(value) * multiply;
    if (divide != 1 && scaled % divide != 0) return false;
    const int128 exact = divide == 1 ? scaled : scaled / divide;
    out = static_cast<To>(exact);
    return static_cast<int128>(out) == exact;
  }
}

template <class To, class From>
bool convert_all(const join_column& in, std::int64_t multiply, std::int64_t divide, To* out) {
  std::atomic<bool> is_exact{true};
  const auto* values = static_cast<const From*>(in.data);
  cpu_backend(join_device()).for_each_chunk(in.size, piece, [&](std::size_t first, std::size_t last) {
    bool exact = true;
    for (std::size_t i = first; i < last; ++i) {
      To value{};
      const bool fits = convert(values[i], multiply, divide, value);
      out[i] = value;
      exact &= fits || !in.validity[i];
    }
    if (!exact) is_exact.store(false, std::memory_order_relaxed);
  });
  return is_exact.load();
}

std::shared_ptr<join_column> same_rows(const join_column& from, const std::string& format) {
  auto column = std::make_shared<join_column>(from);
  const format_type type = type_of_format(format);
  column->format = format;
  column->layout = column_layout::fixed;
  column->width = type.width;
  column->scalar = type.scalar;
  return column;
}

/// Bitmap of the rows that `is_valid`, counted by made_column::finish().
template <class IsValid>
void write_validity(std::span<std::uint8_t> bits, std::size_t n, const IsValid& is_valid) {
  cpu_backend(join_device()).for_each_chunk(n, piece, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += 8) {
      unsigned byte = 0;
      for (std::size_t j = 0; j < 8 && i + j < last; ++j) byte |= static_cast<unsigned>(is_valid(i + j)) << j;
      bits[i / 8] = static_cast<std::uint8_t>(byte);
    }
  });
}

/// Sets the validity of a column that has none.
template <class IsValid>
void set_validity(join_column& column, const IsValid& is_valid) {
  const std::size_t bytes = (column.size + 7) / 8;
  auto bits = std::make_shared<buffer<std::uint8_t>>(join_device(), bytes);
  write_validity(bits->span(), column.size, is_valid);
  std::size_t valid = 0;
  for (std::size_t i = 0; i < bytes; ++i) valid += static_cast<std::size_t>(std::popcount(bits->data()[i]));
  column.nulls = column.size - valid;
  if (column.nulls == 0) return;
  column.validity = {bits->data(), 0};
  column.owners.push_back(std::move(bits));
}

/// Keeps an array of Python: released with the GIL, by whatever thread drops the column last.
template <class Array>
std::shared_ptr<const void> keep(const Array& array) {
  return {new Array(array), [](const Array* p) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire locked;
            delete p;
          }};
}

}  // namespace

const device& join_device() { return cpu(); }

format_type type_of_format(const std::string& f) {
  using kind = scalar_kind;
  if (f == "c") return {1, kind::i8};
  if (f == "C" || f == "?") return {1, kind::u8};
  if (f == "s") return {2, kind::i16};
  if (f == "S") return {2, kind::u16};
  if (f == "i" || f == "tdD" || f == "tts" || f == "ttm") return {4, kind::i32};
  if (f == "I") return {4, kind::u32};
  if (f == "l" || f == "tdm" || f == "ttu" || f == "ttn" || f.starts_with("ts") || f.starts_with("tD")) {
    return {8, kind::i64};
  }
  if (f == "L") return {8, kind::u64};
  if (f == "e") return {2, kind::opaque};
  if (f == "f") return {4, kind::f32};
  if (f == "g") return {8, kind::f64};
  if (f == "tiM") return {4, kind::opaque};
  if (f == "tiD") return {8, kind::opaque};
  if (f == "tin") return {16, kind::opaque};
  if (f.starts_with("d:")) {
    const auto commas = std::count(f.begin(), f.end(), ',');
    if (commas < 2) return {16, kind::opaque};
    const std::string bits = f.substr(f.rfind(',') + 1);
    if (bits == "32") return {4, kind::opaque};
    if (bits == "64") return {8, kind::opaque};
    if (bits == "128") return {16, kind::opaque};
  }
  if (f == "w:1") return {1, kind::opaque};
  if (f == "w:2") return {2, kind::opaque};
  if (f == "w:4") return {4, kind::opaque};
  if (f == "w:8") return {8, kind::opaque};
  if (f == "w:16") return {16, kind::opaque};
  return {};
}

made_column make_column(const std::string& format, std::size_t size, bool with_validity) {
  auto column = std::make_shared<join_column>();
  const format_type type = type_of_format(format);
  column->format = format;
  column->size = size;
  column->scalar = type.scalar;
  column->layout = format == "b" ? column_layout::bits : column_layout::fixed;
  column->width = type.width;
  const std::size_t bytes = format == "b" ? (size + 7) / 8 : size * type.width;
  auto values = std::make_shared<buffer<std::uint8_t>>(join_device(), bytes);
  void* data = values->data();
  column->data = data;
  column->owners.push_back(std::move(values));
  std::span<std::uint8_t> validity;
  if (with_validity) {
    auto bits = std::make_shared<buffer<std::uint8_t>>(join_device(), (size + 7) / 8);
    validity = bits->span();
    column->owners.push_back(std::move(bits));
  }
  return {std::move(column), data, validity};
}

column_ptr made_column::finish() const {
  std::size_t valid = 0;
  for (const std::uint8_t byte : validity) valid += static_cast<std::size_t>(std::popcount(byte));
  if (!validity.empty() && valid != column->size) {
    column->nulls = column->size - valid;
    column->validity = {validity.data(), 0};
  }
  return column;
}

column_ptr column_of_array(const array_in& values, const std::string& format, nb::object missing, bool marks_missing) {
  auto column = std::make_shared<join_column>();
  const format_type type = type_of_format(format);
  if (type.width == 0 || values.ndim() != 1 || values.itemsize() != type.width) {
    throw nb::value_error("The array is not one-dimensional or its values have another width than the format.");
  }
  column->format = format;
  column->layout = column_layout::fixed;
  column->width = type.width;
  column->scalar = type.scalar;
  column->size = values.shape(0);
  column->data = values.data();
  column->owners.push_back(keep(values));
  if (!missing.is_none()) {
    const auto mask = nb::cast<nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(missing);
    if (mask.shape(0) != column->size) throw nb::value_error("The mask and the values have different lengths.");
    const bool* is_missing = mask.data();
    const nb::gil_scoped_release unlocked;
    set_validity(*column, [=](std::size_t i) { return !is_missing[i]; });
  } else if (marks_missing) {
    const auto mark = [&](auto is_missing) {
      std::atomic<bool> found{false};
      cpu_backend(join_device()).for_each_chunk(column->size, piece, [&](std::size_t first, std::size_t last) {
        bool any = false;
        for (std::size_t i = first; i < last; ++i) any |= is_missing(i);
        if (any) found.store(true, std::memory_order_relaxed);
      });
      if (found.load()) set_validity(*column, [=](std::size_t i) { return !is_missing(i); });
    };
    const nb::gil_scoped_release unlocked;
    if (column->scalar == scalar_kind::i64) {
      const auto* times = static_cast<const std::int64_t*>(column->data);
      mark([=](std::size_t i) { return times[i] == std::numeric_limits<std::int64_t>::min(); });
    } else if (column->scalar == scalar_kind::f64) {
      const auto* values_of = static_cast<const double*>(column->data);
      mark([=](std::size_t i) { return values_of[i] != values_of[i]; });
    } else if (column->scalar == scalar_kind::f32) {
      const auto* values_of = static_cast<const float*>(column->data);
      mark([=](std::size_t i) { return values_of[i] != values_of[i]; });
    }
  }
  return column;
}

column_ptr column_of_strings(nb::list values) {
  const std::size_t n = values.size();
  auto offsets = std::make_shared<std::vector<std::int64_t>>();
  auto bytes = std::make_shared<std::vector<char>>();
  auto valid = std::make_shared<std::vector<bool>>();
  offsets->reserve(n + 1);
  offsets->push_back(0);
  for (std::size_t i = 0; i < n; ++i) {
    const nb::handle value = values[i];
    if (!value.is_none()) {
      Py_ssize_t length = 0;
      const char* text = PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &length) : nullptr;
      if (text == nullptr) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        throw nb::type_error("A column of objects has a value that is neither a string nor None; convert the column.");
      }
      bytes->insert(bytes->end(), text, text + length);
    }
    valid->push_back(!value.is_none());
    offsets->push_back(static_cast<std::int64_t>(bytes->size()));
  }
  auto column = std::make_shared<join_column>();
  column->format = std::string("U");
  column->layout = column_layout::text_64;
  column->size = n;
  column->data = bytes->data();
  column->offsets = offsets->data();
  column->owners = {offsets, bytes};
  for (std::size_t i = 0; i < n; ++i) {
    if (!(*valid)[i]) {
      auto bits = std::make_shared<std::vector<std::uint8_t>>((n + 7) / 8);
      for (std::size_t j = 0; j < n; ++j) (*bits)[j / 8] |= static_cast<std::uint8_t>((*valid)[j] ? 1u << (j % 8) : 0);
      column->nulls = n - static_cast<std::size_t>(std::count(valid->begin(), valid->end(), true));
      column->validity = {bits->data(), 0};
      column->owners.push_back(bits);
      break;
    }
  }
  return column;
}

column_ptr column_of_characters(const array_in& values, std::size_t length, bool is_wide) {
  const std::size_t n = length == 0 ? 0 : values.size() / length;
  auto offsets = std::make_shared<std::vector<std::int64_t>>(n + 1);
  auto bytes = std::make_shared<std::vector<char>>();
  {
    const nb::gil_scoped_release unlocked;
    const auto at = [&](std::size_t i) -> std::uint32_t {
      return is_wide ? static_cast<const std::uint32_t*>(values.data())[i]
                     : static_cast<const unsigned char*>(values.data())[i];
    };
    bytes->reserve(n * length);
    for (std::size_t row = 0; row < n; ++row) {
      std::size_t last = length;
      while (last != 0 && at(row * length + last - 1) == 0) --last;
      for (std::size_t j = 0; j < last; ++j) {
        const std::uint32_t c = at(row * length + j);
        const auto add = [&](std::uint32_t byte) { bytes->push_back(static_cast<char>(byte)); };
        if (!is_wide || c < 0x80) {
          add(c);
        } else if (c < 0x800) {
          add(0xc0 | (c >> 6)), add(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
          add(0xe0 | (c >> 12)), add(0x80 | ((c >> 6) & 0x3f)), add(0x80 | (c & 0x3f));
        } else {
          add(0xf0 | (c >> 18)), add(0x80 | ((c >> 12) & 0x3f)), add(0x80 | ((c >> 6) & 0x3f)), add(0x80 | (c & 0x3f));
        }
      }
      (*offsets)[row + 1] = static_cast<std::int64_t>(bytes->size());
    }
  }
  auto column = std::make_shared<join_column>();
  column->format = std::string(1, is_wide ? 'U' : 'Z');
  column->layout = column_layout::text_64;
  column->size = n;
  column->data = bytes->data();
  column->offsets = offsets->data();
  column->owners = {offsets, bytes};
  return column;
}

column_ptr column_of_rows(const rows_in& rows) {
  auto column = std::make_shared<join_column>();
  column->format = std::string("I");
  column->layout = column_layout::fixed;
  column->width = 4;
  column->scalar = scalar_kind::u32;
  column->size = rows.shape(0);
  column->data = rows.data();
  column->owners.push_back(keep(rows));
  const row_number* numbers = rows.data();
  const nb::gil_scoped_release unlocked;
  set_validity(*column, [=](std::size_t i) { return numbers[i] != no_row; });
  return column;
}

column_ptr cast_column(const column_ptr& column, const std::string& format, std::int64_t multiply,
                       std::int64_t divide) {
  if (column->layout != column_layout::fixed) throw nb::type_error("A column of numbers is required.");
  const made_column made = make_column(format, column->size, false);
  {
    const nb::gil_scoped_release unlocked;
    const bool is_exact = with_scalar(column->scalar, [&](auto from) {
      using From = decltype(from);
      switch (made.column->scalar) {
        case scalar_kind::i32:
          return convert_all<std::int32_t, From>(*column, multiply, divide, static_cast<std::int32_t*>(made.data));
        case scalar_kind::i64:
          return convert_all<std::int64_t, From>(*column, multiply, divide, static_cast<std::int64_t*>(made.data));
        case scalar_kind::u64:
          return convert_all<std::uint64_t, From>(*column, multiply, divide, static_cast<std::uint64_t*>(made.data));
        case scalar_kind::f64:
          return convert_all<double, From>(*column, multiply, divide, static_cast<double*>(made.data));
        default:
          return false;
      }
    });
    if (!is_exact) throw overflow("A value of the column has no exact equal in the type it is compared with.");
    const bool is_real = column->scalar == scalar_kind::f32 || column->scalar == scalar_kind::f64;
    if (is_real && made.column->scalar != scalar_kind::f64) {
      const bool is_wide = column->scalar == scalar_kind::f64;
      set_validity(*made.column, [&](std::size_t i) {
        const double value = is_wide ? static_cast<const double*>(column->data)[i]
                                     : static_cast<double>(static_cast<const float*>(column->data)[i]);
        return column->validity[i] && value == value;
      });
      return made.column;
    }
  }
  made.column->nulls = column->nulls;
  made.column->validity = column->validity;
  made.column->owners.insert(made.column->owners.end(), column->owners.begin(), column->owners.end());
  return made.column;
}

column_ptr reinterpret_column(const column_ptr& column, const std::string& format) {
  const format_type type = type_of_format(format);
  if (column->layout != column_layout::fixed || type.width != column->width) {
    throw nb::type_error("The formats have different widths.");
  }
  return same_rows(*column, format);
}

column_ptr bytes_of_bits(const column_ptr& column) {
  if (column->layout != column_layout::bits) throw nb::type_error("A column of booleans is required.");
  const made_column made = make_column("C", column->size, false);
  const bitmap_view bits{static_cast<const std::uint8_t*>(column->data), column->first_bit};
  {
    const nb::gil_scoped_release unlocked;
    auto* out = static_cast<std::uint8_t*>(made.data);
    cpu_backend(join_device()).for_each(column->size, [=](std::size_t i) { out[i] = bits[i] ? 1 : 0; });
  }
  made.column->nulls = column->nulls;
  made.column->validity = column->validity;
  made.column->owners.insert(made.column->owners.end(), column->owners.begin(), column->owners.end());
  return made.column;
}

buffer<row_number> dictionary_indices(const join_column& column) {
  buffer<row_number> rows(join_device(), column.size);
  with_dictionary_indices(column, [&](const auto* indices) {
    cpu_backend(join_device()).for_each_chunk(column.size, piece, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto index = static_cast<std::uint64_t>(indices[i]);
        const bool is_value = column.validity[i] && index < column.dictionary->size;
        rows.data()[i] = is_value ? static_cast<row_number>(index) : no_row;
      }
    });
  });
  return rows;
}

column_ptr dictionary_of(const column_ptr& indices, const column_ptr& values) {
  if (indices->layout != column_layout::fixed) throw nb::type_error("The codes of categories must be integers.");
  auto column = std::make_shared<join_column>(*indices);
  column->layout = column_layout::dictionary;
  column->dictionary = values;
  const nb::gil_scoped_release unlocked;
  const auto rows = std::make_shared<buffer<row_number>>(dictionary_indices(*column));
  const row_number* numbers = rows->data();
  const std::size_t nulls = static_cast<std::size_t>(std::count(numbers, numbers + column->size, no_row));
  if (nulls != column->nulls) {  // negative indices are NULL, too
    column->validity = {};
    set_validity(*column, [=](std::size_t i) { return numbers[i] != no_row; });
  }
  return column;
}

column_ptr take_column(const column_ptr& column, std::span<const row_number> rows) {
  const bool is_bits = column->layout == column_layout::bits;
  if (column->layout != column_layout::fixed && column->layout != column_layout::views && !is_bits) {
    throw nb::type_error("Columns of this type are gathered by the library of their frame.");
  }
  if (is_bits) {
    const made_column made = make_column("b", rows.size(), true);
    const bitmap_view bits{static_cast<const std::uint8_t*>(column->data), column->first_bit};
    const auto has_value = [&](std::size_t i) {
      if (rows[i] != no_row && rows[i] >= column->size) throw error("A row number is not less than the rows.");
      return rows[i] != no_row && column->validity[rows[i]];
    };
    write_validity(made.validity, rows.size(), has_value);
    write_validity({static_cast<std::uint8_t*>(made.data), (rows.size() + 7) / 8}, rows.size(),
                   [&](std::size_t i) { return has_value(i) && bits[rows[i]]; });
    return made.finish();
  }
  const bool is_views = column->layout == column_layout::views;
  const made_column made = make_column(is_views ? "w:16" : column->format, rows.size(), true);
  const fixed_width_view values(column->data, column->size, column->width, column->validity);
  const std::size_t missing = gather_column(values, rows, made.data, made.validity, join_device());
  made.column->nulls = missing;
  if (missing != 0) made.column->validity = {made.validity.data(), 0};
  if (is_views) {  // the views of the answer point into the buffers of the column
    made.column->format = column->format;
    made.column->layout = column_layout::views;
    made.column->buffers = column->buffers;
    made.column->buffer_bytes = column->buffer_bytes;
    made.column->owners.insert(made.column->owners.end(), column->owners.begin(), column->owners.end());
  }
  return made.column;
}

void take_doubles(const join_column& column, std::span<const row_number> rows, double* out) {
  with_scalar(column.scalar, [&](auto from) {
    const auto* values = static_cast<const decltype(from)*>(column.data);
    std::atomic<bool> is_out_of_range{false};
    cpu_backend(join_device()).for_each_chunk(rows.size(), piece, [&](std::size_t first, std::size_t last) {
      constexpr std::size_t ahead = 24;  // as in gather_column()
      for (std::size_t i = first; i < last; ++i) {
        if (i + ahead < last && rows[i + ahead] < column.size) __builtin_prefetch(values + rows[i + ahead]);
        const bool has_value = rows[i] < column.size;
        if (!has_value && rows[i] != no_row) is_out_of_range.store(true, std::memory_order_relaxed);
        out[i] = has_value ? static_cast<double>(values[rows[i]]) : std::numeric_limits<double>::quiet_NaN();
      }
    });
    if (is_out_of_range.load()) throw error("A row number is not less than the rows of the column.");
  });
}

}  // namespace espalier::python
