// numpy_array.cpp - NumPy arrays by its C API: the buffer protocol and DLPack have no datetime64. The headers are of
// NumPy 2 and run with 1.23 and later.
#include "columns.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <cstring>

namespace espalier::python {
namespace {

PyArrayObject* array_of(nb::handle h) { return reinterpret_cast<PyArrayObject*>(h.ptr()); }

int type_number(const data_type& type) {
  switch (type.logical) {
    case logical_type::boolean:
      return NPY_BOOL;
    case logical_type::datetime:
      return NPY_DATETIME;
    case logical_type::duration:
      return NPY_TIMEDELTA;
    default:
      break;
  }
  switch (type.kind) {
    case scalar_kind::u8:
      return NPY_UINT8;
    case scalar_kind::i8:
      return NPY_INT8;
    case scalar_kind::u16:
      return NPY_UINT16;
    case scalar_kind::i16:
      return NPY_INT16;
    case scalar_kind::u32:
      return NPY_UINT32;
    case scalar_kind::i32:
      return NPY_INT32;
    case scalar_kind::f32:
      return NPY_FLOAT32;
    case scalar_kind::u64:
      return NPY_UINT64;
    case scalar_kind::i64:
      return NPY_INT64;
    case scalar_kind::f64:
      return NPY_FLOAT64;
    default:
      return NPY_NOTYPE;
  }
}

std::string name_of_descr(PyArray_Descr* descr) {
  return nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(descr))));
}

scalar_kind integer_kind(bool is_signed, npy_intp bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? scalar_kind::i8 : scalar_kind::u8;
    case 2:
      return is_signed ? scalar_kind::i16 : scalar_kind::u16;
    case 4:
      return is_signed ? scalar_kind::i32 : scalar_kind::u32;
    case 8:
      return is_signed ? scalar_kind::i64 : scalar_kind::u64;
    default:
      return scalar_kind::opaque;
  }
}

/// The type of an array of fixed-width values; kind is opaque if it is not one.
data_type type_of(PyArray_Descr* descr) {
  data_type type;
  const npy_intp bytes = PyDataType_ELSIZE(descr);
  switch (descr->kind) {
    case 'b':
      type = {logical_type::boolean, scalar_kind::u8};
      break;
    case 'i':
      type.kind = integer_kind(true, bytes);
      break;
    case 'u':
      type.kind = integer_kind(false, bytes);
      break;
    case 'f':
      if (bytes == 4) type.kind = scalar_kind::f32;
      if (bytes == 8 && descr->type_num == NPY_DOUBLE) type.kind = scalar_kind::f64;
      break;
    case 'M':
    case 'm': {
      const auto* data = reinterpret_cast<const PyArray_DatetimeDTypeMetaData*>(PyDataType_C_METADATA(descr));
      type = {descr->kind == 'M' ? logical_type::datetime : logical_type::duration, scalar_kind::i64,
              static_cast<time_unit>(data->meta.base), data->meta.num};
      break;
    }
    default:
      break;
  }
  return type;
}

[[noreturn]] void refuse(PyArray_Descr* descr, const char* what) {
  const std::string name = name_of_descr(descr);
  std::string hint = "espalier takes integers, float32, float64, bool, datetime64, timedelta64, str and bytes.";
  if (descr->kind == 'O')
    hint = "arrays of objects other than str or bytes have no order: convert it, such as with astype.";
  if (descr->kind == 'f') hint = "convert it to float32 or float64.";
  throw nb::type_error((std::string(what) + " has dtype " + name + ": " + hint).c_str());
}

/// NumPy's fixed-width str and bytes, as one array of bytes with offsets. Trailing zeros are padding, as in NumPy.
column import_fixed_text(PyArrayObject* array, const char* what) {
  PyArray_Descr* const descr = PyArray_DESCR(array);
  const bool is_unicode = descr->kind == 'U';
  const auto width = static_cast<std::size_t>(PyDataType_ELSIZE(descr));
  const auto n = static_cast<std::size_t>(PyArray_DIM(array, 0));
  const npy_intp stride = n == 0 ? 0 : PyArray_STRIDE(array, 0);
  const char* row = PyArray_BYTES(array);
  column result;
  result.type = {is_unicode ? logical_type::string : logical_type::binary, scalar_kind::opaque};
  result.size = n;
  auto* const offsets = result.allocate<std::int64_t>(n + 1);
  std::string bytes;
  offsets[0] = 0;
  for (std::size_t i = 0; i < n; ++i, row += stride) {
    if (is_unicode) {
      std::size_t length = width / 4;
      std::uint32_t point = 0;
      const auto at = [&](std::size_t k) {
        std::memcpy(&point, row + 4 * k, 4);
        return point;
      };
      while (length > 0 && at(length - 1) == 0) --length;
      for (std::size_t k = 0; k < length; ++k) {
        const std::uint32_t c = at(k);
        if (c < 0x80) {
          bytes.push_back(static_cast<char>(c));
        } else if (c < 0x800) {
          bytes.push_back(static_cast<char>(0xc0 | c >> 6));
          bytes.push_back(static_cast<char>(0x80 | (c & 0x3f)));
        } else if (c < 0x10000) {
          if (c >= 0xd800 && c < 0xe000) {
            throw nb::value_error(
                (std::string(what) + ": element " + std::to_string(i) + " has a surrogate, which UTF-8 cannot encode.")
                    .c_str());
          }
          bytes.push_back(static_cast<char>(0xe0 | c >> 12));
          bytes.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
          bytes.push_back(static_cast<char>(0x80 | (c & 0x3f)));
        } else {
          bytes.push_back(static_cast<char>(0xf0 | c >> 18));
          bytes.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3f)));
          bytes.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
          bytes.push_back(static_cast<char>(0x80 | (c & 0x3f)));
        }
      }
    } else {
      std::size_t length = width;
      while (length > 0 && row[length - 1] == 0) --length;
      bytes.append(row, length);
    }
    offsets[i + 1] = static_cast<std::int64_t>(bytes.size());
  }
  auto owned = std::make_shared<std::string>(std::move(bytes));
  result.data = owned->data();
  result.keep(std::shared_ptr<const void>(owned, owned->data()));
  result.offsets64 = offsets;
  result.from = origin::numpy;
  return result;
}

PyArray_Descr* descr_of(const data_type& type) {
  PyArray_Descr* descr = nullptr;
  if (type.is_time()) {
    const std::string name = name_of(type);
    const nb::object text = nb::cast(name);
    if (PyArray_DescrConverter(text.ptr(), &descr) == 0) throw nb::python_error();
    return descr;
  }
  const int number = type_number(type);
  if (number == NPY_NOTYPE) throw nb::type_error("arrays of str and bytes are not made by NumPy's C API.");
  descr = PyArray_DescrFromType(number);
  if (descr == nullptr) throw nb::python_error();
  return descr;
}

}  // namespace

namespace detail {

void initialize_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

bool is_numpy_array(nb::handle source) { return PyArray_Check(source.ptr()); }

bool plain_array(nb::handle source, const data_type& type, const void*& data, std::size_t& n) {
  if (!PyArray_CheckExact(source.ptr())) return false;
  PyArrayObject* const array = array_of(source);
  if (PyArray_NDIM(array) != 1) return false;
  PyArray_Descr* const descr = PyArray_DESCR(array);
  if (descr->byteorder == '>' || !(type_of(descr) == type)) return false;
  n = static_cast<std::size_t>(PyArray_DIM(array, 0));
  if ((n > 1 && PyArray_STRIDE(array, 0) != PyDataType_ELSIZE(descr)) || !PyArray_ISALIGNED(array)) return false;
  data = PyArray_DATA(array);
  return true;
}

column import_numpy(nb::handle source, const char* what) {
  PyArrayObject* const array = array_of(source);
  PyArray_Descr* const descr = PyArray_DESCR(array);
  const int dimensions = PyArray_NDIM(array);
  if (dimensions != 1) {
    throw nb::value_error(
        (std::string(what) + " has " + std::to_string(dimensions) + " dimensions: a one-dimensional array is needed.")
            .c_str());
  }
  if (descr->byteorder == '>') {
    throw nb::type_error((std::string(what) + " has the big-endian dtype " + name_of_descr(descr) +
                          ": convert it with astype(a.dtype.newbyteorder('='))")
                             .c_str());
  }
  if (descr->kind == 'U' || descr->kind == 'S') return import_fixed_text(array, what);
  if (descr->kind == 'T') {  // NumPy 2's strings of any length
    column text = import_text_list(source.attr("tolist")(), what);
    text.from = origin::numpy;
    return text;
  }
  if (descr->kind == 'O') {
    const nb::object list = nb::module_::import_("espalier._arguments").attr("text_of_objects")(source);
    if (list.is_none()) refuse(descr, what);
    column text = import_text_list(list, what);
    text.from = origin::numpy;
    return text;
  }
  column result;
  result.type = type_of(descr);
  if (result.type.kind == scalar_kind::opaque) refuse(descr, what);
  if (result.type.is_time() && result.type.unit == time_unit::generic &&
      result.type.logical == logical_type::datetime) {
    throw nb::type_error((std::string(what) + " has dtype datetime64 without a unit: give it one, such as "
                                              "datetime64[ns].")
                             .c_str());
  }
  result.size = static_cast<std::size_t>(PyArray_DIM(array, 0));
  result.from = origin::numpy;
  const npy_intp bytes = PyDataType_ELSIZE(descr);
  const bool contiguous = result.size <= 1 || PyArray_STRIDE(array, 0) == bytes;
  if (contiguous && PyArray_ISALIGNED(array)) {
    result.data = PyArray_DATA(array);
    result.shared = true;
    result.keep(nb::borrow(source));
    return result;
  }
  // Strided, reversed or unaligned: a contiguous copy.
  PyObject* const copy = PyArray_NewCopy(array, NPY_CORDER);
  if (copy == nullptr) throw nb::python_error();
  result.data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(copy));
  result.keep(nb::steal(copy));
  return result;
}

}  // namespace detail

nb::object numpy_dtype(const data_type& type) { return nb::steal(reinterpret_cast<PyObject*>(descr_of(type))); }

new_array make_array(const data_type& type, std::size_t n) {
  npy_intp length = static_cast<npy_intp>(n);
  PyObject* const array =
      type.is_time() ? PyArray_SimpleNewFromDescr(1, &length, descr_of(type))  // takes the reference to the descriptor
                     : PyArray_SimpleNew(1, &length, type_number(type));
  if (array == nullptr) throw nb::python_error();
  return {nb::steal(array), PyArray_DATA(reinterpret_cast<PyArrayObject*>(array))};
}

new_array make_mask(std::size_t n) { return make_array(data_type{logical_type::boolean, scalar_kind::u8}, n); }

nb::object wrap_array(const data_type& type, const void* data, std::size_t n, std::shared_ptr<const void> owner) {
  if (n == 0) return make_array(type, 0).array;
  npy_intp length = static_cast<npy_intp>(n);
  PyObject* const array = PyArray_NewFromDescr(&PyArray_Type, descr_of(type), 1, &length, nullptr,
                                               const_cast<void*>(data), NPY_ARRAY_CARRAY_RO, nullptr);
  if (array == nullptr) throw nb::python_error();
  nb::object result = nb::steal(array);
  auto held = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  nb::capsule base(held.get(), [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
  held.release();
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), base.release().ptr()) < 0)
    throw nb::python_error();
  return result;
}

}  // namespace espalier::python
