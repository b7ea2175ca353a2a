// index_arguments.cpp - keep, closed, asof, defaults, values and rows: arguments that kinds of indexes share.
#include "fixed_index.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kinds.hpp"

namespace espalier::python {

/// Arrow's date32 in the type that NumPy has for it.
column as_numpy_type(column c) {
  if (!c.type.is_time() || c.type.width() == 8) return c;
  const auto* const days = static_cast<const std::int32_t*>(c.data);
  auto* const wide = c.allocate<std::int64_t>(c.size);
  for (std::size_t i = 0; i < c.size; ++i) wide[i] = days[i];
  c.type.kind = scalar_kind::i64;
  c.data = wide;
  c.shared = false;
  return c;
}

void refuse_missing(const column& c, const char* what) {
  std::size_t row = c.size;
  if (c.nulls != 0) {
    for (row = 0; c.is_valid(row); ++row) {
    }
  } else if (c.type.is_time() && c.type.width() == 8) {
    const auto* const moments = static_cast<const std::int64_t*>(c.data);
    row = static_cast<std::size_t>(std::find(moments, moments + c.size, std::numeric_limits<std::int64_t>::min()) -
                                   moments);
  }
  if (row == c.size) return;
  throw nb::value_error((std::string(what) + ": row " + std::to_string(row) + " is " + (c.nulls != 0 ? "NULL" : "NaT") +
                         ", which has no place in an order: remove such rows, or replace them.")
                            .c_str());
}

aggregates parse_keep(nb::handle keep) {
  if (keep.is_none()) return aggregates::none;
  if (!PyUnicode_Check(keep.ptr())) throw nb::type_error("keep must be a str such as 'sum,min,max', or None.");
  std::string_view text = nb::borrow<nb::str>(keep).c_str();
  unsigned kept = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == "sum" || word == "avg" || word == "mean") {
      kept |= 1;
    } else if (word == "min" || word == "max") {
      kept |= 2;
    } else if (word == "all") {
      kept |= 3;
    } else if (word != "none" && !word.empty()) {
      throw nb::value_error(("keep: '" + std::string(word) +
                             "' is not known; use 'sum', 'min', 'max', 'all' or 'none', "
                             "separated by commas.")
                                .c_str());
    }
  }
  return static_cast<aggregates>(kept);
}

std::uint64_t parse_limit(nb::handle limit) {
  if (limit.is_none()) return std::numeric_limits<std::uint64_t>::max();
  const nb::object whole = nb::steal(PyNumber_Index(limit.ptr()));
  if (!whole.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(
        ("limit is of type " + std::string(nb::inst_name(limit).c_str()) + ": give an integer, or None.").c_str());
  }
  int overflow = 0;
  const long long most = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && most < 0)) {
    throw nb::value_error(("limit is " + std::string(nb::repr(whole).c_str()) + ": it must not be negative.").c_str());
  }
  return overflow > 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(most);
}

interval parse_closed(std::string_view closed) {
  if (closed == "both") return interval::closed;
  if (closed == "left") return interval::right_open;
  if (closed == "right") return interval::left_open;
  if (closed == "neither") return interval::open;
  throw nb::value_error(("closed is '" + std::string(closed) + "'; use 'both', 'left', 'right' or 'neither'.").c_str());
}

asof_request parse_asof(std::string_view direction, nb::handle tolerance, bool exact, scalar_kind kind) {
  asof_request r;
  r.exact = exact;
  if (direction == "backward") {
    r.where = asof_request::direction::backward;
  } else if (direction == "forward") {
    r.where = asof_request::direction::forward;
  } else if (direction == "nearest") {
    r.where = asof_request::direction::nearest;
  } else {
    throw nb::value_error(
        ("direction is '" + std::string(direction) + "'; use 'backward', 'forward' or 'nearest'.").c_str());
  }
  if (tolerance.is_none()) return r;
  r.has_tolerance = true;
  const bool is_real = kind == scalar_kind::f32 || kind == scalar_kind::f64;
  if (is_real) {
    r.real_tolerance = PyFloat_AsDouble(tolerance.ptr());
    if (r.real_tolerance == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (!(r.real_tolerance >= 0)) throw nb::value_error("tolerance must not be negative or NaN.");
    return r;
  }
  const nb::object whole = nb::steal(PyNumber_Index(tolerance.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && x < 0)) throw nb::value_error("tolerance must not be negative.");
  r.tolerance = overflow > 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(x);
  return r;
}

void apply_fallback(const data_type& type, void* values, const std::uint8_t* found, std::size_t n, nb::handle fallback,
                    PyObject* error, const char* sentence) {
  const auto* const first = static_cast<const std::uint8_t*>(n == 0 ? nullptr : std::memchr(found, 0, n));
  if (first == nullptr) return;
  if (fallback.is_none()) {
    PyErr_SetString(error, (std::string(sentence) + " (query " + std::to_string(first - found) +
                            "); give a default to get it instead.")
                               .c_str());
    throw nb::python_error();
  }
  const column one = detail::import_numpy(fallback, "default");
  if (one.size != 1 || !(one.type == type))
    throw nb::type_error("default must be one value of the type of the answer.");
  const unsigned width = type.width();
  for (auto i = static_cast<std::size_t>(first - found); i < n; ++i) {
    if (found[i] == 0) std::memcpy(static_cast<char*>(values) + i * width, one.data, width);
  }
}

column import_values(nb::handle values) {
  column c;
  if (values.is_none()) return c;
  c = as_numpy_type(import_column(values, "values"));
  if (c.type.is_text()) {
    throw nb::type_error(("values have the type " + name_of(c.type) +
                          ": give numbers, bool or times, or use the row "
                          "numbers of get_indexer() with your own array.")
                             .c_str());
  }
  if (c.nulls != 0)
    throw nb::value_error("values contain NULL: replace them, or use the row numbers of get_indexer().");
  return c;
}

row_map import_rows(nb::handle rows, std::size_t n) {
  if (rows.is_none()) return {};
  auto numbers = std::make_shared<column>(import_column(rows, "rows"));
  const bool is_wide = numbers->type.kind == scalar_kind::u64;
  if (!is_wide && numbers->type.kind != scalar_kind::u32) throw nb::type_error("rows must be uint32 or uint64.");
  require_same_length("rows", numbers->size, "keys", n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t row = is_wide ? static_cast<const std::uint64_t*>(numbers->data)[i]
                                      : static_cast<const std::uint32_t*>(numbers->data)[i];
    if (row >= n) throw nb::value_error(("rows: number " + std::to_string(i) + " is not a row.").c_str());
  }
  const void* const data = numbers->data;
  // The column holds Python objects: it is released with the GIL.
  return row_map(std::shared_ptr<const void>(data,
                                             [numbers](const void*) mutable {
                                               const nb::gil_scoped_acquire locked;
                                               numbers.reset();
                                             }),
                 is_wide);
}

}  // namespace espalier::python
