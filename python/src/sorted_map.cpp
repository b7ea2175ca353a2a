// sorted_map.cpp - calls of espalier._core.SortedMap, which espalier/_sorted_map.py wraps.
#include "sorted_map.hpp"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>

#include "espalier/index/result.hpp"
#include "fixed_index.hpp"
#include "kinds.hpp"

namespace espalier::python {

using espalier::detail::aggregate_op;
using espalier::detail::build_blink_index;
using espalier::detail::element_type;
using espalier::detail::execution;
using espalier::detail::seek_kind;


namespace {

execution now() { return {cpu().default_stream(), true}; }

bool read_ends(nb::handle lo, nb::handle hi, const data_type& type, query_batch& low, query_batch& high) {
  if (!low.read(lo, type) || !high.read(hi, type) || low.is_scalar() != high.is_scalar()) return false;
  require_same_length("lo", low.size(), "hi", high.size());
  return true;
}

/// An array over a buffer of the library.
nb::object array_of(const data_type& type, raw_buffer&& buffer, std::size_t n) {
  auto owner = std::make_shared<raw_buffer>(std::move(buffer));
  const void* const data = owner->data();
  return wrap_array(type, data, n, std::shared_ptr<const void>(owner, data));
}

}  // namespace

sorted_map::sorted_map(nb::handle keys, nb::handle values) {
  const column k = import_column(keys, "keys");
  if (k.type.is_text())
    throw nb::type_error("SortedMap has keys of fixed width: numbers, bool, datetime64 or timedelta64.");
  refuse_missing(k, "keys");
  const column v = import_values(values);
  key_ = k.type;
  value_ = v.type;
  has_values_ = !values.is_none();
  if (has_values_) require_same_length("values", v.size, "keys", k.size);
  const unlocked parallel;
  const auto normal = without_negative_zeros(key_.kind, k.data, k.size);
  const element_type elements{key_.kind, has_values_ ? value_.kind : scalar_kind::opaque,
                              has_values_ ? value_.width() : 0u};
  tree_ = build_blink_index(cpu(), elements, {}, normal != nullptr ? normal.get() : k.data, v.data, k.size, {},
                            cpu().default_stream());
}

std::size_t sorted_map::size() const {
  const unlocked_write released;
  return tree_->size();
}

nb::object sorted_map::write(write_op op, nb::handle keys, nb::handle values) {
  query_batch k, v;
  if (!k.read(keys, key_)) return nb::none();
  const bool writes_values = has_values_ && op != write_op::erase;
  if (writes_values) {
    if (!v.read(values, value_, false)) return nb::none();
    require_same_length("values", v.size(), "keys", k.size());
  }
  // update() does not answer which keys were new: a batch with equal keys can then fill an empty tree at once.
  const bool answers = op != write_op::insert_or_assign;
  new_array done;
  if (answers) done = make_mask(k.size());
  {
    const unlocked_write released;
    ++version_;
    tree_->write(op, k.data(), writes_values ? v.data() : nullptr, k.size(),
                 answers ? done.as<std::uint8_t>() : nullptr, {batch_semantics::ordered, write_path::automatic}, now());
    ++version_;
  }
  return answers ? answer(bool_type, done, k.is_scalar()) : nb::bool_(true);
}

nb::object sorted_map::apply(nb::handle ops, nb::handle keys, nb::handle values) {
  query_batch o, k, v;
  const data_type codes{logical_type::number, scalar_kind::u8};
  if (!k.read(keys, key_) || !o.read(ops, codes, false)) return nb::none();
  require_same_length("operations", o.size(), "keys", k.size());
  const bool reads_values = has_values_ && !values.is_none();
  if (reads_values) {
    if (!v.read(values, value_, false)) return nb::none();
    require_same_length("values", v.size(), "keys", k.size());
  }
  const new_array done = make_mask(k.size());
  new_array found;
  if (has_values_) {
    found = make_array(value_, k.size());
    if (k.size() != 0) std::memset(found.data, 0, k.size() * value_.width());
  }
  {
    const unlocked_write released;
    ++version_;
    tree_->apply(static_cast<const std::uint8_t*>(o.data()), k.data(), reads_values ? v.data() : nullptr, k.size(),
                 found.data, done.as<std::uint8_t>(), {batch_semantics::ordered, write_path::automatic}, now());
    ++version_;
  }
  return nb::make_tuple(has_values_ ? found.array : nb::none(), done.array);
}

void sorted_map::clear() {
  const unlocked_write released;
  ++version_;
  tree_->clear(cpu().default_stream());
  ++version_;
}

nb::object sorted_map::find(nb::handle queries, nb::handle fallback) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array values = make_array(value_, n);
  const auto found = scratch<std::uint8_t>(n);
  {
    const unlocked parallel;
    tree_->find(q.data(), n, values.data, found.get(), {}, now());
  }
  apply_fallback(value_, values.data, found.get(), n, fallback, PyExc_KeyError, "the map does not have this key");
  return answer(value_, values, q.is_scalar());
}

nb::object sorted_map::contains(nb::handle queries) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const new_array found = make_mask(q.size());
  {
    const unlocked parallel;
    tree_->find(q.data(), q.size(), nullptr, found.as<std::uint8_t>(), {}, now());
  }
  return answer(bool_type, found, q.is_scalar());
}

nb::object sorted_map::seek(seek_kind kind, nb::handle queries) const {
  query_batch q;
  if (!q.read(queries, key_)) return nb::none();
  const std::size_t n = q.size();
  const new_array keys = make_array(key_, n), found = make_mask(n);
  new_array values;
  if (has_values_) values = make_array(value_, n);
  {
    const unlocked parallel;
    tree_->seek(kind, q.data(), n, keys.data, values.data, found.as<std::uint8_t>(), {}, now());
  }
  return nb::make_tuple(answer(key_, keys, q.is_scalar()),
                        has_values_ ? answer(value_, values, q.is_scalar()) : nb::none(),
                        answer(bool_type, found, q.is_scalar()));
}

nb::object sorted_map::count(nb::handle lo, nb::handle hi, interval ends) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  const new_array counts = make_array(int64_type, low.size());
  {
    const unlocked parallel;
    tree_->count(low.data(), high.data(), low.size(), {ends}, counts.as<std::uint64_t>(), now());
  }
  return answer(int64_type, counts, low.is_scalar());
}

nb::object sorted_map::aggregate(aggregate_op op, nb::handle lo, nb::handle hi, interval ends,
                                 nb::handle fallback) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  const aggregate_answer a = aggregate_ranges(*tree_, has_values_ ? value_ : key_, aggregates::all, op, low.data(),
                                              high.data(), low.size(), ends, fallback);
  return answer(a.type, a.values, low.is_scalar());
}

nb::object sorted_map::range(nb::handle lo, nb::handle hi, interval ends, nb::handle limit) const {
  query_batch low, high;
  if (!read_ends(lo, hi, key_, low, high)) return nb::none();
  range_options options{ends};
  options.limit = parse_limit(limit);
  espalier::detail::range_buffers found;
  {
    const unlocked parallel;
    found = tree_->range(low.data(), high.data(), low.size(), options, now());
  }
  const new_array offsets = make_array(int64_type, low.size() + 1);
  std::memcpy(offsets.data, found.offsets.data(), (low.size() + 1) * 8);
  return nb::make_tuple(offsets.array, array_of(key_, std::move(found.keys), found.total),
                        has_values_ ? array_of(value_, std::move(found.values), found.total) : nb::none());
}

nb::tuple sorted_map::parts() const {
  espalier::detail::range_buffers all;
  {
    const unlocked parallel;
    const stream order = cpu().default_stream();
    all = tree_->all(order);
    order.synchronize();
  }
  return nb::make_tuple(array_of(key_, std::move(all.keys), all.total),
                        has_values_ ? array_of(value_, std::move(all.values), all.total) : nb::none());
}

nb::dict sorted_map::stats() const {
  const blink_stats s = [&] {
    const unlocked_write released;
    return tree_->stats();
  }();
  nb::dict result;
  result["size"] = s.size;
  result["bytes"] = s.bytes;
  result["height"] = s.height;
  result["leaves"] = s.leaves;
  result["fill"] = s.fill;
  return result;
}

void bind_sorted_map(nb::module_& m) {
  using namespace nb::literals;
  const auto seeking = [](seek_kind kind) {
    return [kind](const sorted_map& self, nb::handle q) { return self.seek(kind, q); };
  };
  nb::class_<sorted_map>(m, "SortedMap")
      .def(nb::init<nb::handle, nb::handle>(), "keys"_a, "values"_a.none())
      .def("__len__", &sorted_map::size)
      .def_prop_ro("dtype", [](const sorted_map& self) { return numpy_dtype(self.key_type()); })
      .def_prop_ro(
          "value_dtype",
          [](const sorted_map& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("version", &sorted_map::version)
      .def(
          "insert", [](sorted_map& self, nb::handle k, nb::handle v) { return self.write(write_op::insert, k, v); },
          nb::arg(), nb::arg().none())
      .def(
          "assign",
          [](sorted_map& self, nb::handle k, nb::handle v) { return self.write(write_op::insert_or_assign, k, v); },
          nb::arg(), nb::arg().none())
      .def(
          "replace", [](sorted_map& self, nb::handle k, nb::handle v) { return self.write(write_op::update, k, v); },
          nb::arg(), nb::arg().none())
      .def("erase", [](sorted_map& self, nb::handle k) { return self.write(write_op::erase, k, nb::none()); })
      .def("apply", &sorted_map::apply, nb::arg(), nb::arg(), nb::arg().none())
      .def("clear", &sorted_map::clear)
      .def("find", &sorted_map::find, nb::arg(), nb::arg().none())
      .def("contains", &sorted_map::contains)
      .def("lower_bound", seeking(seek_kind::lower_bound))
      .def("successor", seeking(seek_kind::successor))
      .def("predecessor", seeking(seek_kind::predecessor))
      .def("count", [](const sorted_map& self, nb::handle lo, nb::handle hi,
                       std::string_view closed) { return self.count(lo, hi, parse_closed(closed)); })
      .def(
          "aggregate",
          [](const sorted_map& self, std::string_view op, nb::handle lo, nb::handle hi, std::string_view closed,
             nb::handle fallback) { return self.aggregate(parse_op(op), lo, hi, parse_closed(closed), fallback); },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "range",
          [](const sorted_map& self, nb::handle lo, nb::handle hi, std::string_view closed, nb::handle limit) {
            return self.range(lo, hi, parse_closed(closed), limit);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("elements", &sorted_map::parts)
      .def("parts", &sorted_map::parts)
      .def("stats", &sorted_map::stats);
}

}  // namespace espalier::python
