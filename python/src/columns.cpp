// columns.cpp - import_column(): which protocol an argument is read by.
#include "columns.hpp"

#include <cstring>

namespace espalier::python {
namespace {

/// Objects of espalier/_arguments.py, looked up once.
nb::object helper(const char* name) { return nb::module_::import_("espalier._arguments").attr(name); }

origin origin_of(nb::handle source) {
  const nb::object module_name = nb::getattr(source.type(), "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module_name)) return origin::other;
  const std::string_view name = nb::borrow<nb::str>(module_name).c_str();
  const auto belongs_to = [&](std::string_view package) {
    return name == package || (name.starts_with(package) && name[package.size()] == '.');
  };
  if (belongs_to("polars")) return origin::polars;
  if (belongs_to("pandas")) return origin::pandas;
  if (belongs_to("pyarrow") || belongs_to("nanoarrow") || belongs_to("arro3")) return origin::arrow;
  return origin::other;
}

const char* unit_name(time_unit unit) {
  switch (unit) {
    case time_unit::year:
      return "Y";
    case time_unit::month:
      return "M";
    case time_unit::week:
      return "W";
    case time_unit::day:
      return "D";
    case time_unit::hour:
      return "h";
    case time_unit::minute:
      return "m";
    case time_unit::second:
      return "s";
    case time_unit::milli:
      return "ms";
    case time_unit::micro:
      return "us";
    case time_unit::nano:
      return "ns";
    case time_unit::pico:
      return "ps";
    case time_unit::femto:
      return "fs";
    case time_unit::atto:
      return "as";
    case time_unit::generic:
      return "generic";
  }
  return "generic";
}

const char* kind_name(scalar_kind kind) {
  switch (kind) {
    case scalar_kind::u8:
      return "uint8";
    case scalar_kind::i8:
      return "int8";
    case scalar_kind::u16:
      return "uint16";
    case scalar_kind::i16:
      return "int16";
    case scalar_kind::u32:
      return "uint32";
    case scalar_kind::i32:
      return "int32";
    case scalar_kind::f32:
      return "float32";
    case scalar_kind::u64:
      return "uint64";
    case scalar_kind::i64:
      return "int64";
    case scalar_kind::f64:
      return "float64";
    case scalar_kind::opaque:
      return "opaque";
  }
  return "opaque";
}

bool is_text_object(nb::handle h) { return PyUnicode_Check(h.ptr()) || PyBytes_Check(h.ptr()); }

}  // namespace

std::string name_of(const data_type& type) {
  switch (type.logical) {
    case logical_type::string:
      return "str";
    case logical_type::binary:
      return "bytes";
    case logical_type::boolean:
      return "bool";
    case logical_type::number:
      return kind_name(type.kind);
    case logical_type::datetime:
    case logical_type::duration: {
      std::string name = type.logical == logical_type::datetime ? "datetime64" : "timedelta64";
      if (type.unit == time_unit::generic) return name;
      name += '[';
      if (type.multiple != 1) name += std::to_string(type.multiple);
      return name + unit_name(type.unit) + ']';
    }
  }
  return "unknown";
}

column_view column::view() const {
  if (type.is_text())
    throw nb::type_error("a column of numbers, bool, dates or times is needed, not one of str or bytes.");
  return {type.kind, data, size, validity};
}

by_column column::by() const {
  if (!type.is_text()) return by_column(view());
  if (offsets32 != nullptr) return by_column::strings({offsets32, size + 1}, data, validity);
  return by_column::strings({offsets64, size + 1}, data, validity);
}

std::string_view column::string_at(std::size_t i) const {
  const auto* const bytes = static_cast<const char*>(data);
  if (offsets32 != nullptr) {
    return {bytes + offsets32[i], static_cast<std::size_t>(offsets32[i + 1] - offsets32[i])};
  }
  return {bytes + offsets64[i], static_cast<std::size_t>(offsets64[i + 1] - offsets64[i])};
}

namespace detail {

column import_text_list(nb::handle list, const char* what) {
  const nb::object fast = nb::steal(PySequence_List(list.ptr()));
  if (!fast.is_valid()) throw nb::python_error();
  const auto n = static_cast<std::size_t>(PyList_Size(fast.ptr()));
  column result;
  result.size = n;
  auto* const offsets = result.allocate<std::int64_t>(n + 1);
  std::uint8_t* bits = nullptr;
  auto bytes = std::make_shared<std::string>();
  bool is_known = false;
  offsets[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* const item = PyList_GetItem(fast.ptr(), static_cast<Py_ssize_t>(i));  // borrowed
    if (item == Py_None) {
      if (bits == nullptr) {
        bits = result.allocate<std::uint8_t>((n + 7) / 8);
        std::memset(bits, 0xff, (n + 7) / 8);
      }
      bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] & ~(1u << (i % 8)));
      ++result.nulls;
    } else {
      const bool is_string = PyUnicode_Check(item);
      const logical_type logical = is_string ? logical_type::string : logical_type::binary;
      if ((!is_string && !PyBytes_Check(item)) || (is_known && logical != result.type.logical)) {
        throw nb::type_error((std::string(what) + ": element " + std::to_string(i) + " is of type " +
                              nb::inst_name(item).c_str() + ": all must be str, or all bytes.")
                                 .c_str());
      }
      result.type.logical = logical;
      is_known = true;
      if (is_string) {
        Py_ssize_t length = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(item, &length);
        if (text == nullptr) throw nb::python_error();
        bytes->append(text, static_cast<std::size_t>(length));
      } else {
        char* text = nullptr;
        Py_ssize_t length = 0;
        if (PyBytes_AsStringAndSize(item, &text, &length) < 0) throw nb::python_error();
        bytes->append(text, static_cast<std::size_t>(length));
      }
    }
    offsets[i + 1] = static_cast<std::int64_t>(bytes->size());
  }
  if (!is_known) result.type.logical = logical_type::string;
  result.type.kind = scalar_kind::opaque;
  result.data = bytes->data();
  result.offsets64 = offsets;
  if (bits != nullptr) result.validity = {bits, 0};
  result.keep(std::shared_ptr<const void>(bytes, bytes->data()));
  result.from = origin::list;
  return result;
}

}  // namespace detail

namespace {

/// After `simplify` of _arguments.py made a NumPy array, and perhaps a mask (true: NULL), of it.
column import_simplified(nb::handle source, const char* what, origin from) {
  const nb::tuple simple = nb::cast<nb::tuple>(helper("simplify")(source, what));
  const nb::object array = simple[0], mask = simple[1];
  column result = detail::is_numpy_array(array) ? detail::import_numpy(array, what)
                  : nb::hasattr(array, "__arrow_c_stream__")
                      ? detail::import_arrow_stream(array.attr("__arrow_c_stream__")(), what)
                      : detail::import_text_list(array, what);
  result.from = from;
  if (!mask.is_none()) {
    const column nulls = detail::import_numpy(mask, what);
    const auto* const is_null = static_cast<const std::uint8_t*>(nulls.data);
    auto* const bits = result.allocate<std::uint8_t>((result.size + 7) / 8);
    std::memset(bits, 0, (result.size + 7) / 8);
    for (std::size_t i = 0; i < result.size; ++i) {
      if (is_null[i] == 0) {
        bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (1u << (i % 8)));
      } else {
        ++result.nulls;
      }
    }
    if (result.nulls != 0) result.validity = {bits, 0};
  }
  return result;
}

}  // namespace

column import_column(nb::handle source, const char* what) {
  if (detail::is_numpy_array(source)) {
    // numpy.ma.MaskedArray has its mask apart.
    if (nb::hasattr(source, "mask")) return import_simplified(source, what, origin::numpy);
    return detail::import_numpy(source, what);
  }
  if (PyList_Check(source.ptr()) || PyTuple_Check(source.ptr())) {
    const nb::object sequence = nb::borrow(source);
    for (std::size_t i = 0; i < nb::len(sequence); ++i) {
      const nb::object item = sequence[i];
      if (item.is_none()) continue;
      if (is_text_object(item)) return detail::import_text_list(sequence, what);
      break;
    }
    return import_simplified(source, what, origin::list);
  }
  if (is_text_object(source)) {
    column one = detail::import_text_list(nb::make_tuple(source), what);
    one.from = origin::scalar;
    return one;
  }
  const origin from = origin_of(source);
  if (from != origin::pandas) {  // pandas needs pyarrow to export by Arrow's interface
    if (nb::hasattr(source, "__arrow_c_stream__")) {
      column result = detail::import_arrow_stream(source.attr("__arrow_c_stream__")(), what);
      result.from = from == origin::other ? origin::arrow : from;
      return result;
    }
    if (nb::hasattr(source, "__arrow_c_array__")) {
      const nb::tuple capsules = nb::cast<nb::tuple>(source.attr("__arrow_c_array__")());
      column result = detail::import_arrow_array(capsules[0], capsules[1], what);
      result.from = from == origin::other ? origin::arrow : from;
      return result;
    }
  }
  return import_simplified(source, what, from);
}

nb::object make_text(const data_type& type, const std::uint64_t* offsets, const char* bytes, std::size_t n) {
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(n)));
  if (!list.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < n; ++i) {
    const char* const text = bytes + offsets[i];
    const auto length = static_cast<Py_ssize_t>(offsets[i + 1] - offsets[i]);
    PyObject* const item = type.logical == logical_type::string ? PyUnicode_DecodeUTF8(text, length, "surrogateescape")
                                                                : PyBytes_FromStringAndSize(text, length);
    if (item == nullptr) throw nb::python_error();
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), item);  // takes the reference
  }
  return list;
}

namespace {

const char* origin_name(origin from) {
  switch (from) {
    case origin::scalar:
      return "scalar";
    case origin::list:
      return "list";
    case origin::numpy:
      return "numpy";
    case origin::pandas:
      return "pandas";
    case origin::polars:
      return "polars";
    case origin::arrow:
      return "arrow";
    case origin::other:
      return "other";
  }
  return "other";
}

/// What import_column() made of an argument: for tests, and for messages about copies.
nb::dict describe(nb::handle source) {
  const column c = import_column(source, "column");
  nb::dict result;
  result["dtype"] = name_of(c.type);
  result["address"] = reinterpret_cast<std::uintptr_t>(c.data);
  result["offsets"] = reinterpret_cast<std::uintptr_t>(c.offsets32 != nullptr ? static_cast<const void*>(c.offsets32)
                                                                              : static_cast<const void*>(c.offsets64));
  result["size"] = c.size;
  result["nulls"] = c.nulls;
  result["shared"] = c.shared;
  result["origin"] = origin_name(c.from);
  result["timezone"] = c.timezone;
  nb::list values;
  for (std::size_t i = 0; i < c.size && c.type.is_text(); ++i) {
    if (!c.is_valid(i)) {
      values.append(nb::none());
    } else {
      const std::string_view text = c.string_at(i);
      values.append(c.type.logical == logical_type::string ? nb::object(nb::str(text.data(), text.size()))
                                                           : nb::object(nb::bytes(text.data(), text.size())));
    }
  }
  if (c.type.is_text()) {
    result["values"] = values;
  } else {
    new_array copy = make_array(c.type.is_time() ? data_type{logical_type::number, c.type.kind} : c.type, c.size);
    if (c.size != 0) std::memcpy(copy.data, c.data, c.size * c.type.width());
    result["values"] = copy.array;
    new_array valid = make_mask(c.size);
    for (std::size_t i = 0; i < c.size; ++i) valid.as<std::uint8_t>()[i] = c.is_valid(i) ? 1 : 0;
    result["valid"] = valid.array;
  }
  return result;
}

/// (array, mask, origin): fixed-width values as an array that shares their memory, and which are not NULL, or None.
nb::tuple to_numpy(nb::handle source, const std::string& what) {
  auto c = std::make_shared<column>(import_column(source, what.c_str()));
  if (c->type.is_text()) {
    throw nb::type_error(
        (what + " is a column of " + name_of(c->type) +
         ": numbers, bool or times are needed; convert times in text by np.array(x, 'datetime64[us]').")
            .c_str());
  }
  nb::object mask = nb::none();
  if (c->nulls != 0) {
    const new_array valid = make_mask(c->size);
    for (std::size_t i = 0; i < c->size; ++i) valid.as<std::uint8_t>()[i] = c->is_valid(i) ? 1 : 0;
    mask = valid.array;
  }
  const char* const from = origin_name(c->from);
  if (c->type.is_time() && c->type.width() == 4) {  // NumPy has no 32-bit times
    new_array wide = make_array({c->type.logical, scalar_kind::i64, c->type.unit, c->type.multiple}, c->size);
    for (std::size_t i = 0; i < c->size; ++i) {
      wide.as<std::int64_t>()[i] = static_cast<const std::int32_t*>(c->data)[i];
    }
    return nb::make_tuple(wide.array, mask, from);
  }
  const data_type type = c->type;
  const void* const data = c->data;
  const std::size_t n = c->size;
  std::shared_ptr<const void> owner(data, [c](const void*) mutable {
    const nb::gil_scoped_acquire locked;
    c.reset();
  });
  c.reset();
  return nb::make_tuple(wrap_array(type, data, n, std::move(owner)), mask, from);
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("to_numpy", &to_numpy, nb::arg("column"), nb::arg("what"));
  m.def("describe", &describe, nb::arg("column"),
        "What an argument is read as: dtype, address, size, nulls, and whether its memory is shared. For tests.");
}

}  // namespace espalier::python
