// module.cpp - the extension module espalier._core. The public names are in espalier/__init__.py.
#include <nanobind/nanobind.h>

#include "columns.hpp"
#include "espalier/core/version.hpp"

namespace espalier::python {
void bind_joins(nb::module_& m);    // joins.cpp
void bind_columns(nb::module_& m);  // columns.cpp
void bind_fixed_index(nb::module_& m);
void bind_text_index(nb::module_& m);
void bind_sorted_map(nb::module_& m);
void bind_partition(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_text_map(nb::module_& m);
void bind_device_index(nb::module_& m);
}  // namespace espalier::python

NB_MODULE(_core, m) {
  using namespace espalier::python;
  nb::set_leak_warnings(false);  // objects that a program still has at its end are not leaks
  m.doc() = "Compiled part of espalier; use the names of the package espalier.";
  detail::initialize_numpy();
  register_errors(m);
  m.attr("version") = nb::make_tuple(ESPALIER_VERSION_MAJOR, ESPALIER_VERSION_MINOR, ESPALIER_VERSION_PATCH);
  bind_columns(m);
  bind_fixed_index(m);
  bind_text_index(m);
  bind_sorted_map(m);
  bind_text_map(m);
  bind_device_index(m);
  bind_joins(m);
  bind_partition(m);
  bind_threads(m);
}
