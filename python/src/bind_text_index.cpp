// bind_text_index.cpp - espalier._core.TextIndex, and build_index(), which chooses it or FixedIndex.
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "text_index.hpp"

namespace espalier::python {
namespace {

nb::object build_index(nb::handle keys, nb::handle values, nb::handle keep) {
  column c = import_column(keys, "keys");
  const aggregates kept = parse_keep(keep);
  if (c.type.is_text()) return nb::cast(std::make_unique<text_index>(std::move(c), values, kept));
  return nb::cast(std::make_unique<fixed_index>(std::move(c), values, kept));
}

}  // namespace

void bind_text_index(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<text_index>(m, "TextIndex")
      .def_static("of_parts", &text_index::of_parts, "bytes"_a, "offsets"_a, "is_str"_a, "starts"_a.none(),
                  "rows"_a.none(), "values"_a.none(), "keep"_a.none())
      .def("__len__", &text_index::size)
      .def_prop_ro("dtype",
                   [](const text_index& self) {
                     const bool is_str = self.key_type().logical == logical_type::string;
                     return nb::borrow(reinterpret_cast<PyObject*>(is_str ? &PyUnicode_Type : &PyBytes_Type));
                   })
      .def_prop_ro(
          "value_dtype",
          [](const text_index& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("keep", [](const text_index& self) { return keep_name(self.kept()); })
      .def("searchsorted", &text_index::searchsorted)
      .def("get_indexer", &text_index::get_indexer)
      .def("find", &text_index::find, nb::arg(), nb::arg().none())
      .def("contains", &text_index::contains)
      .def("asof", &text_index::asof, nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("neighbour", &text_index::neighbour)
      .def("count", &text_index::count)
      .def("aggregate", &text_index::aggregate, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("range", &text_index::range, nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("prefix", &text_index::prefix, nb::arg(), nb::arg().none())
      .def("at", &text_index::at)
      .def("parts", &text_index::parts)
      .def("stats", &text_index::stats);
  m.def("build_index", &build_index, "keys"_a, "values"_a.none(), "keep"_a.none());
}

}  // namespace espalier::python
