// bind_device_index.cpp - espalier._core.DeviceIndex, DeviceMap and what their calls need, which espalier/_gpu
// wraps.
#include <nanobind/stl/string_view.h>

#include "device_index.hpp"
#include "device_pointer.hpp"
#include "dlpack.hpp"

namespace espalier::python {
using espalier::detail::seek_kind;

namespace {

/// Enqueues a copy between any memories, and waits for it if asked to.
void copy(int ordinal, address to, address from, std::size_t bytes, address handle, bool wait) {
  const device& on = device_at(ordinal);
  const unlocked_write released;
  const stream order = stream_at(on, handle);
  on.copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, order);
  if (wait) order.synchronize();
}

void copy_strided(int ordinal, address to, address from, std::ptrdiff_t stride, unsigned width, std::size_t n,
                  address handle) {
  const device& on = device_at(ordinal);
  const unlocked_write released;
  const stream order = stream_at(on, handle);
  device_kernels::copy_strided({on, order}, width, reinterpret_cast<const void*>(from), stride, n,
                               reinterpret_cast<void*>(to));
}

/// What the stream `waits` enqueues from now on runs behind what the stream `first` has enqueued.
void order_streams(int ordinal, address waits, address first) {
  const device& on = device_at(ordinal);
  if (waits == first || on.kind() == device_kind::cpu) return;
  stream_at(on, waits).wait_for(stream_at(on, first).mark());
}

void synchronize(int ordinal, address handle) {
  const device& on = device_at(ordinal);
  const unlocked_write released;
  stream_at(on, handle).synchronize();
}

}  // namespace

void bind_device_index(nb::module_& m) {
  using namespace nb::literals;
  m.attr("has_cuda") = has_cuda();
  m.def("gpu_of", &gpu_of);
  m.def("open_device", [](int ordinal) { return device_at(ordinal).name(); });
  m.def("device_copy", &copy);
  m.def("device_copy_strided", &copy_strided);
  m.def("device_order", &order_streams);
  m.def("device_synchronize", &synchronize);
  m.def("dlpack_capsule", &dlpack_capsule);
  nb::class_<dlpack_tensor>(m, "DLPackTensor")
      .def(nb::init<nb::object>())
      .def_prop_ro("pointer", &dlpack_tensor::pointer)
      .def_prop_ro("device", &dlpack_tensor::device)
      .def_prop_ro("type", &dlpack_tensor::type)
      .def_prop_ro("shape", &dlpack_tensor::shape)
      .def_prop_ro("strides", &dlpack_tensor::strides);
  nb::class_<device_memory>(m, "DeviceMemory")
      .def(nb::init<int, std::size_t, address>())
      .def_prop_ro("pointer", &device_memory::pointer)
      .def_prop_ro("nbytes", &device_memory::bytes);
  nb::class_<found_range>(m, "FoundRange").def(nb::init<int>()).def("take", &found_range::take);

  nb::class_<device_index>(m, "DeviceIndex")
      .def(nb::init<int, nb::handle, address, std::size_t, nb::handle, address, address, unsigned, nb::handle,
                    address>(),
           "device"_a, "key_example"_a, "keys"_a, "n"_a, "value_example"_a.none(), "values"_a, "rows"_a, "row_bytes"_a,
           "keep"_a.none(), "stream"_a)
      .def("__len__", &device_index::size)
      .def_prop_ro("dtype", [](const device_index& self) { return numpy_dtype(self.key_type()); })
      .def_prop_ro(
          "value_dtype",
          [](const device_index& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("keep", [](const device_index& self) { return keep_name(self.kept()); })
      .def("aggregate_dtype",
           [](const device_index& self, std::string_view op) {
             const data_type& from = self.has_values() ? self.value_type() : self.key_type();
             return numpy_dtype(aggregate_type(from, self.kept(), parse_op(op)));
           })
      .def("searchsorted", &device_index::searchsorted)
      .def("get_indexer", &device_index::get_indexer)
      .def("find", &device_index::find, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("find_rows", &device_index::find_rows, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("contains", &device_index::contains)
      .def("seconds_per_find", &device_index::seconds_per_find)
      .def(
          "asof",
          [](const device_index& self, address q, std::size_t n, std::string_view direction, nb::handle tolerance,
             bool exact, address rows, address found, address handle) {
            self.asof(q, n, parse_asof(direction, tolerance, exact, self.key_type().kind), rows, found, handle);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("neighbour", &device_index::neighbour)
      .def("count", [](const device_index& self, address lo, address hi, std::size_t n, std::string_view closed,
                       address counts, address handle) { self.count(lo, hi, n, parse_closed(closed), counts, handle); })
      .def(
          "aggregate",
          [](const device_index& self, std::string_view op, address lo, address hi, std::size_t n,
             std::string_view closed, address results, nb::handle fallback, address handle) {
            self.aggregate(parse_op(op), lo, hi, n, parse_closed(closed), results, fallback, handle);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def(
          "range",
          [](const device_index& self, address lo, address hi, std::size_t n, std::string_view closed, nb::handle limit,
             address offsets, address starts,
             address handle) { return self.range(lo, hi, n, parse_closed(closed), limit, offsets, starts, handle); },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("range_rows", &device_index::range_rows)
      .def("at", &device_index::at)
      .def("parts", &device_index::parts)
      .def("stats", &device_index::stats);

  const auto writing = [](write_op op) {
    return [op](device_map& self, address keys, address values, std::size_t n, address done, address handle) {
      self.write(op, keys, values, n, done, handle);
    };
  };
  const auto seeking = [](seek_kind kind) {
    return [kind](const device_map& self, address q, std::size_t n, address keys, address values, address found,
                  address handle) { self.seek(kind, q, n, keys, values, found, handle); };
  };
  nb::class_<device_map>(m, "DeviceMap")
      .def(nb::init<int, nb::handle, address, std::size_t, nb::handle, address, address>(), "device"_a, "key_example"_a,
           "keys"_a, "n"_a, "value_example"_a.none(), "values"_a, "stream"_a)
      .def("__len__", &device_map::size)
      .def_prop_ro("dtype", [](const device_map& self) { return numpy_dtype(self.key_type()); })
      .def_prop_ro(
          "value_dtype",
          [](const device_map& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("version", &device_map::version)
      .def("aggregate_dtype",
           [](const device_map& self, std::string_view op) {
             const data_type& from = self.has_values() ? self.value_type() : self.key_type();
             return numpy_dtype(aggregate_type(from, aggregates::all, parse_op(op)));
           })
      .def("insert", writing(write_op::insert))
      .def("assign", writing(write_op::insert_or_assign))
      .def("replace", writing(write_op::update))
      .def("erase", writing(write_op::erase))
      .def("apply", &device_map::apply)
      .def("clear", &device_map::clear)
      .def("find", &device_map::find, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("contains", &device_map::contains)
      .def("lower_bound", seeking(seek_kind::lower_bound))
      .def("successor", seeking(seek_kind::successor))
      .def("predecessor", seeking(seek_kind::predecessor))
      .def("count", [](const device_map& self, address lo, address hi, std::size_t n, std::string_view closed,
                       address counts, address handle) { self.count(lo, hi, n, parse_closed(closed), counts, handle); })
      .def(
          "aggregate",
          [](const device_map& self, std::string_view op, address lo, address hi, std::size_t n,
             std::string_view closed, address results, nb::handle fallback, address handle) {
            self.aggregate(parse_op(op), lo, hi, n, parse_closed(closed), results, fallback, handle);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def(
          "range",
          [](const device_map& self, address lo, address hi, std::size_t n, std::string_view closed, nb::handle limit,
             address offsets, found_range& found,
             address handle) { return self.range(lo, hi, n, parse_closed(closed), limit, offsets, found, handle); },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("all", &device_map::all)
      .def("parts", &device_map::parts)
      .def("stats", &device_map::stats);
}

}  // namespace espalier::python
