// joins.cpp - as-of, window and interval joins.
#include <nanobind/nanobind.h>

#include "columns.hpp"

namespace espalier::python {

void bind_joins(nb::module_&) {}

}  // namespace espalier::python
