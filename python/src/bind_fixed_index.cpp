// bind_fixed_index.cpp - espalier._core.FixedIndex, which espalier/_index.py wraps.
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "fixed_index.hpp"

namespace espalier::python {
using espalier::detail::aggregate_op;

aggregate_op parse_op(std::string_view op) {
  if (op == "sum") return aggregate_op::sum;
  if (op == "min") return aggregate_op::min;
  if (op == "max") return aggregate_op::max;
  if (op == "avg") return aggregate_op::avg;
  throw nb::value_error(("no aggregate has the name '" + std::string(op) + "'.").c_str());
}

const char* keep_name(aggregates keep) {
  switch (keep) {
    case aggregates::none:
      return "none";
    case aggregates::sum:
      return "sum";
    case aggregates::min_max:
      return "min,max";
    case aggregates::all:
      return "sum,min,max";
  }
  return "none";
}

void bind_fixed_index(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<fixed_index>(m, "FixedIndex")
      .def_static("of_parts", &fixed_index::of_parts, "keys"_a, "values"_a.none(), "rows"_a.none(), "keep"_a.none())
      .def("__len__", &fixed_index::size)
      .def_prop_ro("dtype", [](const fixed_index& self) { return numpy_dtype(self.key_type()); })
      .def_prop_ro(
          "value_dtype",
          [](const fixed_index& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("keep", [](const fixed_index& self) { return keep_name(self.kept()); })
      .def("searchsorted",
           [](const fixed_index& self, nb::handle q, bool right) { return self.searchsorted(q, right); })
      .def("seconds_per_call", &fixed_index::seconds_per_call)
      .def("get_indexer", &fixed_index::get_indexer)
      .def("find", &fixed_index::find, nb::arg(), nb::arg().none())
      .def("contains", &fixed_index::contains)
      .def(
          "asof",
          [](const fixed_index& self, nb::handle q, std::string_view direction, nb::handle tolerance, bool exact) {
            return self.asof(q, parse_asof(direction, tolerance, exact, self.key_type().kind));
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("neighbour", &fixed_index::neighbour)
      .def("count", [](const fixed_index& self, nb::handle lo, nb::handle hi,
                       std::string_view closed) { return self.count(lo, hi, parse_closed(closed)); })
      .def(
          "aggregate",
          [](const fixed_index& self, std::string_view op, nb::handle lo, nb::handle hi, std::string_view closed,
             nb::handle fallback) { return self.aggregate(parse_op(op), lo, hi, parse_closed(closed), fallback); },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "range",
          [](const fixed_index& self, nb::handle lo, nb::handle hi, std::string_view closed, nb::handle limit) {
            return self.range(lo, hi, parse_closed(closed), limit);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("at", &fixed_index::at)
      .def("parts", &fixed_index::parts)
      .def("stats", &fixed_index::stats);
}

}  // namespace espalier::python
