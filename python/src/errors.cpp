// errors.cpp - Python exceptions of the library's errors: MemoryError, OverflowError, ValueError, RuntimeError
// (device).
#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "columns.hpp"
#include "espalier/core/error.hpp"

namespace espalier::python {

void register_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const espalier::error& e) {
      PyObject* kind = PyExc_ValueError;
      switch (e.kind()) {
        case error_kind::out_of_memory:
          kind = PyExc_MemoryError;
          break;
        case error_kind::overflow:
          kind = PyExc_OverflowError;
          break;
        case error_kind::device:
          kind = PyExc_RuntimeError;
          break;
        case error_kind::invalid_argument:
          break;
      }
      PyErr_SetString(kind, e.what());
    }
  });
}

void require_same_length(const char* what, std::size_t n, const char* other, std::size_t m) {
  if (n == m) return;
  throw nb::value_error((std::string(what) + " has " + std::to_string(n) + " elements, and " + other + " has " +
                         std::to_string(m) + ": both must have the same length.")
                            .c_str());
}

}  // namespace espalier::python
