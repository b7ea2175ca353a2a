// errors.cpp - Python exceptions of the library's errors: MemoryError, OverflowError, ValueError, RuntimeError
// (device), KeyboardInterrupt.
#include <nanobind/nanobind.h>

#include <csignal>
#include <exception>
#include <new>

#include "columns.hpp"
#include "espalier/core/error.hpp"
#include "unlocked.hpp"

namespace espalier::python {

namespace {

nb::handle get_handler, usual_handler;  // signal.getsignal and signal.default_int_handler, kept for ever

}  // namespace

void register_errors(nb::module_&) {
  const nb::module_ signals = nb::module_::import_("_signal");
  get_handler = nb::object(signals.attr("getsignal")).release();
  usual_handler = nb::object(signals.attr("default_int_handler")).release();
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
    } catch (const interrupted&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

bool unlocked::was_interrupted() {
  // A daemon thread whose interpreter has ended must not take the GIL: that would end the thread within C++ frames.
  if (!nb::is_alive()) return false;
  const nb::gil_scoped_acquire locked;
  return get_handler(SIGINT).is(usual_handler) && PyOS_InterruptOccurred() != 0;
}

void require_same_length(const char* what, std::size_t n, const char* other, std::size_t m) {
  if (n == m) return;
  throw nb::value_error((std::string(what) + " has " + std::to_string(n) + " elements, and " + other + " has " +
                         std::to_string(m) + ": both must have the same length.")
                            .c_str());
}

}  // namespace espalier::python
