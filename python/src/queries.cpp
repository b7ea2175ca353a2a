// queries.cpp - the fast path of arguments of indexes, and scalars as answers.
#include <cmath>
#include <cstring>
#include <limits>

#include "columns.hpp"
#include "kinds.hpp"

namespace espalier::python {
namespace {

/// Converts a Python int; false if the type cannot hold it.
bool read_int(nb::handle source, scalar_kind kind, unsigned char* to) {
  return visit_kind(kind, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      int overflow = 0;
      const long long x = PyLong_AsLongLongAndOverflow(source.ptr(), &overflow);
      const auto limit = 1LL << std::numeric_limits<T>::digits;
      if (overflow != 0 || x > limit || x < -limit) return false;  // might not be exact
      const auto value = static_cast<T>(x);
      std::memcpy(to, &value, sizeof(T));
      return true;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      int overflow = 0;
      const long long x = PyLong_AsLongLongAndOverflow(source.ptr(), &overflow);
      std::uint64_t value = static_cast<std::uint64_t>(x);
      if (overflow < 0 || (overflow == 0 && x < 0)) return false;
      if (overflow > 0) {
        value = PyLong_AsUnsignedLongLong(source.ptr());
        if (PyErr_Occurred() != nullptr) {
          PyErr_Clear();
          return false;
        }
      }
      std::memcpy(to, &value, sizeof(T));
      return true;
    } else {
      int overflow = 0;
      const long long x = PyLong_AsLongLongAndOverflow(source.ptr(), &overflow);
      if (overflow != 0 || x < static_cast<long long>(std::numeric_limits<T>::min()) ||
          x > static_cast<long long>(std::numeric_limits<T>::max())) {
        return false;
      }
      const auto value = static_cast<T>(x);
      std::memcpy(to, &value, sizeof(T));
      return true;
    }
  });
}

bool read_float(double x, scalar_kind kind, unsigned char* to) {
  if (kind == scalar_kind::f64) {
    std::memcpy(to, &x, 8);
    return true;
  }
  if (kind != scalar_kind::f32) return false;
  const auto narrow = static_cast<float>(x);
  if (static_cast<double>(narrow) != x && !std::isnan(x)) return false;
  std::memcpy(to, &narrow, 4);
  return true;
}

}  // namespace

bool query_batch::read(nb::handle source, const data_type& type, bool are_keys) {
  if (detail::plain_array(source, type, data_, size_)) {
    if (are_keys && type.is_time()) {
      const auto* const moments = static_cast<const std::int64_t*>(data_);
      constexpr std::int64_t nat = std::numeric_limits<std::int64_t>::min();
      bool any = false;
      for (std::size_t i = 0; i < size_; ++i) any |= moments[i] == nat;
      if (any) return false;  // matches nothing and is sorted last, unlike the number that it is
    }
    owner_ = nb::borrow(source);
    if (are_keys) replace_negative_zeros(type);
    return true;
  }
  bool is_known = false;
  if (PyBool_Check(source.ptr())) {
    if (type.logical != logical_type::boolean) return false;
    one_[0] = source.is(nb::handle(Py_True)) ? 1 : 0;
    is_known = true;
  } else if (type.logical != logical_type::number) {
    return false;
  } else if (PyLong_Check(source.ptr())) {
    is_known = read_int(source, type.kind, one_);
  } else if (PyFloat_Check(source.ptr())) {
    is_known = read_float(PyFloat_AsDouble(source.ptr()), type.kind, one_);
  }
  if (!is_known) return false;
  data_ = one_;
  size_ = 1;
  is_scalar_ = true;
  if (are_keys) replace_negative_zeros(type);
  return true;
}

void query_batch::replace_negative_zeros(const data_type& type) {
  copy_ = without_negative_zeros(type.kind, data_, size_);
  if (copy_ != nullptr) data_ = copy_.get();
}

std::unique_ptr<unsigned char[]> without_negative_zeros(scalar_kind kind, const void* data, std::size_t n) {
  const auto replace = [&]<class T, class Bits>(T, Bits sign) -> std::unique_ptr<unsigned char[]> {
    const auto* const bits = static_cast<const Bits*>(data);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) any |= bits[i] == sign;
    if (!any) return nullptr;
    std::unique_ptr<unsigned char[]> copy(new unsigned char[n * sizeof(T)]);
    auto* const to = reinterpret_cast<Bits*>(copy.get());
    for (std::size_t i = 0; i < n; ++i) to[i] = bits[i] == sign ? Bits{0} : bits[i];
    return copy;
  };
  if (kind == scalar_kind::f64) return replace(double{}, std::uint64_t{1} << 63);
  if (kind == scalar_kind::f32) return replace(float{}, std::uint32_t{1} << 31);
  return nullptr;
}

nb::object scalar_at(const data_type& type, const void* data, std::size_t i) {
  if (type.is_time()) {
    const new_array one = make_array(type, 1);
    std::memcpy(one.data, static_cast<const std::int64_t*>(data) + i, 8);
    return one.array[0];
  }
  if (type.logical == logical_type::boolean) {
    return nb::borrow(static_cast<const std::uint8_t*>(data)[i] != 0 ? Py_True : Py_False);
  }
  PyObject* const number = visit_kind(type.kind, [&]<class T>(T) {
    const T x = static_cast<const T*>(data)[i];
    if constexpr (std::is_floating_point_v<T>) {
      return PyFloat_FromDouble(static_cast<double>(x));
    } else if constexpr (std::is_signed_v<T>) {
      return PyLong_FromLongLong(x);
    } else {
      return PyLong_FromUnsignedLongLong(x);
    }
  });
  if (number == nullptr) throw nb::python_error();
  return nb::steal(number);
}

}  // namespace espalier::python
