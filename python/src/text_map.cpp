// text_map.cpp - calls of espalier._core.TextMap, which espalier/_sorted_map.py wraps.
#include "text_map.hpp"

#include <nanobind/stl/string_view.h>

#include <cstring>

#include "fixed_index.hpp"

namespace espalier::python {

using espalier::bound_type;
using espalier::detail::aggregate_op;
using espalier::detail::build_radix_index;
using espalier::detail::byte_keys;
using espalier::detail::byte_range_buffers;
using espalier::detail::element_type;
using espalier::detail::execution;
using espalier::detail::radix_slice;

namespace {

execution now() { return {cpu().default_stream(), true}; }

nb::object array_of(const data_type& type, raw_buffer&& buffer, std::size_t n) {
  auto owner = std::make_shared<raw_buffer>(std::move(buffer));
  const void* const data = owner->data();
  return wrap_array(type, data, n, std::shared_ptr<const void>(owner, data));
}

nb::object offsets_of(const byte_range_buffers& found, std::size_t n) {
  const new_array offsets = make_array(int64_type, n + 1);
  std::memcpy(offsets.data, found.offsets.data(), (n + 1) * 8);
  return offsets.array;
}

nb::object text_of(const data_type& type, std::string_view text) {
  if (type.logical == logical_type::string) return nb::str(text.data(), text.size());
  return nb::bytes(text.data(), text.size());
}

}  // namespace

// ---- ends of ranges --------------------------------------------------------------------------------------------------

/// Lower and upper ends, one of which may be a scalar. None is the end of all keys. A range with NULL is empty.
class text_map::ends {
 public:
  ends(const text_map& map, nb::handle lo, nb::handle hi) {
    if (!lo.is_none()) low_.emplace(lo, map.key_, "lo");
    if (!hi.is_none()) high_.emplace(hi, map.key_, "hi");
    if (low_ && high_ && low_->size() != high_->size()) {
      if (low_->is_scalar()) {
        low_.emplace(lo, map.key_, "lo", high_->size());
      } else if (high_->is_scalar()) {
        high_.emplace(hi, map.key_, "hi", low_->size());
      } else {
        require_same_length("lo", low_->size(), "hi", high_->size());
      }
    }
    const std::size_t n = low_ ? low_->size() : high_ ? high_->size() : 1;
    const bool has_nulls = (low_ && low_->has_nulls()) || (high_ && high_->has_nulls());
    if (low_ && high_ && !has_nulls) return;
    const std::string last = high_ ? std::string() : map.beyond();
    byte_string_batch::memory lower, upper;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_empty = (low_ && !low_->is_valid(i)) || (high_ && !high_->is_valid(i));
      lower.add(is_empty ? std::string_view("\1") : low_ ? (*low_)[i] : std::string_view());
      upper.add(is_empty ? std::string_view() : high_ ? (*high_)[i] : std::string_view(last));
    }
    lower_.emplace(std::move(lower));
    upper_.emplace(std::move(upper));
  }

  [[nodiscard]] const byte_keys& lo() const { return lower_ ? lower_->raw() : low_->raw(); }
  [[nodiscard]] const byte_keys& hi() const { return upper_ ? upper_->raw() : high_->raw(); }
  [[nodiscard]] std::size_t size() const { return lo().n; }
  /// The argument that says of what kind the answer is; null if both ends are open.
  [[nodiscard]] const text_batch* asked() const {
    return low_ && (!low_->is_scalar() || !high_) ? &*low_ : high_ ? &*high_ : nullptr;
  }

 private:
  std::optional<text_batch> low_, high_;
  std::optional<byte_string_batch> lower_, upper_;
};

// ---- build -----------------------------------------------------------------------------------------------------------

text_map::text_map(nb::handle bytes, nb::handle offsets, bool is_str, nb::handle values) {
  key_.logical = is_str ? logical_type::string : logical_type::binary;
  const column text = import_column(bytes, "bytes"), places = import_column(offsets, "offsets");
  const auto* const at = static_cast<const std::uint64_t*>(places.data);
  if (text.type.kind != scalar_kind::u8 || places.type.kind != scalar_kind::u64 || places.size == 0 ||
      at[places.size - 1] != text.size) {
    throw nb::value_error("the parts of a map of text do not fit together.");
  }
  const std::size_t n = places.size - 1;
  const column elements = import_values(values);
  value_ = elements.type;
  has_values_ = !values.is_none();
  if (has_values_) require_same_length("values", elements.size, "keys", n);
  const unlocked parallel;
  const byte_string_batch keys = batch_of(static_cast<const char*>(text.data), at, n);
  tree_ = build_radix_index(cpu(), element(), keys.raw(), elements.data, {}, cpu().default_stream());
  lengthen(keys.raw());
}

element_type text_map::element() const {
  return {scalar_kind::opaque, has_values_ ? value_.kind : scalar_kind::opaque, has_values_ ? value_.width() : 0u};
}

text_map::tree_pointer text_map::tree() const {
  const std::lock_guard lock(latch_);
  return tree_;
}

void text_map::lengthen(const byte_keys& keys) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < keys.n; ++i) {
    longest = std::max<std::size_t>(longest, keys.batch.offsets[i + 1] - keys.batch.offsets[i]);
  }
  std::size_t before = longest_;
  while (before < longest && !longest_.compare_exchange_weak(before, longest)) {
  }
}

std::size_t text_map::size() const {
  const unlocked_write released;
  return tree()->stats().size;
}

// ---- writes ----------------------------------------------------------------------------------------------------------

nb::object text_map::write(write_op op, nb::handle keys, nb::handle values) {
  query_batch v;
  const bool writes_values = has_values_ && op != write_op::erase;
  if (writes_values && !v.read(values, value_, false)) return nb::none();
  const text_batch k(keys, key_, "keys");
  if (writes_values) require_same_length("values", v.size(), "keys", k.size());
  if (op != write_op::erase) refuse_missing(k.source(), "keys");
  const std::size_t n = k.size();
  const new_array done = make_mask(n);
  {
    const unlocked_write released;
    const tree_pointer tree = this->tree();
    if (op != write_op::erase) lengthen(k.raw());
    ++version_;
    if (!k.has_nulls()) {
      tree->write(op, k.raw(), writes_values ? v.data() : nullptr, done.as<std::uint8_t>(), radix_path::automatic,
                  now());
    } else {
      byte_string_batch::memory valid;
      for (std::size_t i = 0; i < n; ++i) {
        if (k.is_valid(i)) valid.add(k[i]);
      }
      const byte_string_batch present(std::move(valid));
      const auto mask = scratch<std::uint8_t>(present.size());
      tree->write(op, present.raw(), nullptr, mask.get(), radix_path::automatic, now());
      for (std::size_t i = 0, next = 0; i < n; ++i) done.as<std::uint8_t>()[i] = k.is_valid(i) ? mask[next++] : 0;
    }
    ++version_;
  }
  return k.wrap(bool_type, done);
}

void text_map::clear() {
  const unlocked_write released;
  const byte_string_batch none(std::span<const std::string_view>{});
  tree_pointer empty = build_radix_index(cpu(), element(), none.raw(), nullptr, {}, cpu().default_stream());
  {
    const std::lock_guard lock(latch_);
    ++version_;
    tree_.swap(empty);
  }
}

// ---- points ----------------------------------------------------------------------------------------------------------

nb::object text_map::find(nb::handle queries, nb::handle fallback) const {
  const text_batch q(queries, key_, "queries");
  const std::size_t n = q.size();
  const new_array values = make_array(value_, n);
  const auto found = scratch<std::uint8_t>(n);
  {
    const unlocked parallel;
    tree()->find(q.raw(), values.data, found.get(), now());
    q.clear_nulls(found.get());
  }
  apply_fallback(value_, values.data, found.get(), n, fallback, PyExc_KeyError, "the map does not have this key");
  return q.wrap(value_, values);
}

nb::object text_map::contains(nb::handle queries) const {
  const text_batch q(queries, key_, "queries");
  const new_array found = make_mask(q.size());
  {
    const unlocked parallel;
    tree()->find(q.raw(), nullptr, found.as<std::uint8_t>(), now());
    q.clear_nulls(found.as<std::uint8_t>());
  }
  return q.wrap(bool_type, found);
}

nb::object text_map::searchsorted(nb::handle queries, bool right) const {
  const text_batch q(queries, key_, "queries");
  const new_array ranks = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    const tree_pointer tree = this->tree();
    tree->rank(right ? bound_type::upper : bound_type::lower, q.raw(), ranks.as<std::uint64_t>(), now());
    if (q.has_nulls()) {
      const std::size_t last = tree->stats().size;
      for (std::size_t i = 0; i < q.size(); ++i) {
        if (!q.is_valid(i)) ranks.as<std::uint64_t>()[i] = last;
      }
    }
  }
  return q.wrap(int64_type, ranks);
}

nb::object text_map::seek(radix_slice kind, nb::handle queries) const {
  const text_batch q(queries, key_, "queries");
  const std::size_t n = q.size();
  const new_array found = make_mask(n);
  new_array values;
  if (has_values_) values = make_array(value_, n);
  byte_range_buffers list;
  {
    const unlocked parallel;
    list = this->list(kind, q.raw(), q.raw(), {});
    const unsigned width = value_.width();
    if (has_values_) std::memset(values.data, 0, n * width);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t at = list.offsets.data()[i];
      const bool ok = q.is_valid(i) && list.offsets.data()[i + 1] != at;
      found.as<std::uint8_t>()[i] = ok ? 1 : 0;
      if (!ok || !has_values_) continue;
      std::memcpy(values.as<char>() + i * width, static_cast<const char*>(list.values.data()) + at * width, width);
    }
  }
  nb::list keys;
  for (std::size_t i = 0; i < n; ++i) {
    if (found.as<std::uint8_t>()[i] == 0) {
      keys.append(nb::none());
      continue;
    }
    const std::uint64_t* const at = list.key_offsets.data() + list.offsets.data()[i];
    keys.append(text_of(key_, {static_cast<const char*>(list.key_bytes.data()) + at[0], at[1] - at[0]}));
  }
  return nb::make_tuple(q.wrap(keys), has_values_ ? q.wrap(value_, values) : nb::none(), q.wrap(bool_type, found));
}

nb::object text_map::longest_prefix(nb::handle queries) const {
  const text_batch q(queries, key_, "queries");
  const std::size_t n = q.size();
  const new_array found = make_mask(n);
  new_array values;
  if (has_values_) values = make_array(value_, n);
  const auto lengths = scratch<std::uint32_t>(n);
  {
    const unlocked parallel;
    if (has_values_) std::memset(values.data, 0, n * value_.width());
    tree()->longest_prefix(q.raw(), lengths.get(), values.data, found.as<std::uint8_t>(), now());
    q.clear_nulls(found.as<std::uint8_t>());
  }
  nb::list keys;
  for (std::size_t i = 0; i < n; ++i) {
    if (found.as<std::uint8_t>()[i] == 0) {
      keys.append(nb::none());
    } else {
      keys.append(text_of(key_, q[i].substr(0, lengths[i])));
    }
  }
  return nb::make_tuple(q.wrap(keys), has_values_ ? q.wrap(value_, values) : nb::none(), q.wrap(bool_type, found));
}

nb::tuple text_map::last() const {
  byte_range_buffers found;
  {
    const unlocked parallel;
    const std::string after = beyond();
    const byte_string_batch one{std::string_view(after)};
    found = list(radix_slice::predecessor, one.raw(), one.raw(), {});
  }
  const nb::list keys = keys_of(found);
  return nb::make_tuple(keys, values_of(found));
}

// ---- ranges and prefixes ---------------------------------------------------------------------------------------------

byte_range_buffers text_map::list(radix_slice what, const byte_keys& lo, const byte_keys& hi,
                                  const range_options& options) const {
  const stream order = cpu().default_stream();
  byte_range_buffers found = tree()->list(what, lo, hi, options, {order, true});
  order.synchronize();
  return found;
}

nb::list text_map::keys_of(const byte_range_buffers& found) const {
  return nb::borrow<nb::list>(make_text(key_, found.key_offsets.data(),
                                        static_cast<const char*>(found.key_bytes.data()), found.total));
}

nb::object text_map::values_of(byte_range_buffers& found) const {
  return has_values_ ? array_of(value_, std::move(found.values), found.total) : nb::none();
}

nb::object text_map::count(nb::handle lo, nb::handle hi, interval closed) const {
  const ends e(*this, lo, hi);
  const new_array counts = make_array(int64_type, e.size());
  {
    const unlocked parallel;
    tree()->count(radix_slice::range, e.lo(), e.hi(), {closed}, counts.as<std::uint64_t>(), now());
  }
  return e.asked()->wrap(int64_type, counts);
}

nb::object text_map::aggregate(aggregate_op op, nb::handle lo, nb::handle hi, interval closed,
                               nb::handle fallback) const {
  if (!has_values_) throw nb::value_error("str and bytes have no sum, minimum or mean: the map needs values.");
  const ends e(*this, lo, hi);
  const tree_pointer tree = this->tree();
  const aggregate_answer a = aggregate_ranges(text_ranges{*tree, radix_slice::range}, value_, aggregates::all, op,
                                              &e.lo(), &e.hi(), e.size(), closed, fallback);
  return e.asked()->wrap(a.type, a.values);
}

nb::object text_map::range(nb::handle lo, nb::handle hi, interval closed, nb::handle limit) const {
  const ends e(*this, lo, hi);
  range_options options{closed};
  options.limit = parse_limit(limit);
  byte_range_buffers found;
  {
    const unlocked parallel;
    found = list(radix_slice::range, e.lo(), e.hi(), options);
  }
  const nb::object offsets = offsets_of(found, e.size());
  const nb::object keys = keys_of(found);
  const nb::object values = values_of(found);
  const text_batch* const asked = e.asked();
  if (asked == nullptr || asked->is_scalar()) return nb::make_tuple(offsets, keys, values);
  return nb::make_tuple(asked->wrap(offsets), asked->wrap(keys), has_values_ ? asked->wrap(values) : values);
}

byte_string_batch text_map::prefixes_without_nulls(const text_batch& prefixes) const {
  byte_string_batch::memory all;
  const std::string none = beyond();
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    all.add(prefixes.is_valid(i) ? prefixes[i] : std::string_view(none));
  }
  return byte_string_batch(std::move(all));
}

nb::object text_map::prefix(nb::handle prefixes, nb::handle limit) const {
  const text_batch q(prefixes, key_, "prefix");
  std::optional<byte_string_batch> replaced;
  if (q.has_nulls()) replaced = prefixes_without_nulls(q);
  const byte_keys& asked = replaced ? replaced->raw() : q.raw();
  range_options options;
  options.limit = parse_limit(limit);
  byte_range_buffers found;
  {
    const unlocked parallel;
    found = list(radix_slice::prefix, asked, asked, options);
  }
  const nb::object offsets = offsets_of(found, q.size());
  const nb::object keys = keys_of(found);
  const nb::object values = values_of(found);
  if (q.is_scalar()) return nb::make_tuple(keys, values);
  return nb::make_tuple(q.wrap(offsets), q.wrap(keys), has_values_ ? q.wrap(values) : values);
}

nb::object text_map::count_prefix(nb::handle prefixes) const {
  const text_batch q(prefixes, key_, "prefix");
  const new_array counts = make_array(int64_type, q.size());
  {
    const unlocked parallel;
    tree()->count(radix_slice::prefix, q.raw(), q.raw(), {}, counts.as<std::uint64_t>(), now());
    for (std::size_t i = 0; q.has_nulls() && i < q.size(); ++i) {
      if (!q.is_valid(i)) counts.as<std::uint64_t>()[i] = 0;
    }
  }
  return q.wrap(int64_type, counts);
}

nb::object text_map::aggregate_prefix(aggregate_op op, nb::handle prefixes, nb::handle fallback) const {
  if (!has_values_) throw nb::value_error("str and bytes have no sum, minimum or mean: the map needs values.");
  const text_batch q(prefixes, key_, "prefix");
  std::optional<byte_string_batch> replaced;
  if (q.has_nulls()) replaced = prefixes_without_nulls(q);
  const byte_keys& asked = replaced ? replaced->raw() : q.raw();
  const tree_pointer tree = this->tree();
  const aggregate_answer a = aggregate_ranges(text_ranges{*tree, radix_slice::prefix}, value_, aggregates::all, op,
                                              &asked, &asked, q.size(), interval::closed, fallback);
  return q.wrap(a.type, a.values);
}

// ---- parts -----------------------------------------------------------------------------------------------------------

nb::tuple text_map::elements() const {
  byte_range_buffers all;
  {
    const unlocked parallel;
    const byte_string_batch every{std::string_view()};  // every key begins with the empty string
    all = list(radix_slice::prefix, every.raw(), every.raw(), {});
  }
  const nb::list keys = keys_of(all);
  return nb::make_tuple(keys, values_of(all));
}

nb::tuple text_map::parts() const {
  byte_range_buffers all;
  {
    const unlocked parallel;
    const byte_string_batch every{std::string_view()};
    all = list(radix_slice::prefix, every.raw(), every.raw(), {});
  }
  const new_array offsets = make_array(scalar_kind::u64, all.total + 1);
  std::memcpy(offsets.data, all.key_offsets.data(), (all.total + 1) * 8);
  const nb::object bytes =
      array_of({logical_type::number, scalar_kind::u8}, std::move(all.key_bytes), all.total_bytes);
  return nb::make_tuple(bytes, offsets.array, key_.logical == logical_type::string, values_of(all));
}

nb::dict text_map::stats() const {
  const radix_stats s = [&] {
    const unlocked_write released;
    return tree()->stats();
  }();
  nb::dict result;
  result["size"] = s.size;
  result["bytes"] = s.bytes;
  result["key_bytes"] = s.heap_bytes;
  result["nodes"] = s.nodes[0] + s.nodes[1] + s.nodes[2] + s.nodes[3];
  result["leaves"] = s.leaves[0] + s.leaves[1] + s.leaves[2] + s.leaves[3];
  return result;
}

void bind_text_map(nb::module_& m) {
  using namespace nb::literals;
  const auto writing = [](write_op op) {
    return [op](text_map& self, nb::handle k, nb::handle v) { return self.write(op, k, v); };
  };
  const auto seeking = [](radix_slice kind) {
    return [kind](const text_map& self, nb::handle q) { return self.seek(kind, q); };
  };
  nb::class_<text_map>(m, "TextMap")
      .def(nb::init<nb::handle, nb::handle, bool, nb::handle>(), "bytes"_a, "offsets"_a, "is_str"_a, "values"_a.none())
      .def("__len__", &text_map::size)
      .def_prop_ro("dtype",
                   [](const text_map& self) {
                     const bool is_str = self.key_type().logical == logical_type::string;
                     return nb::borrow(reinterpret_cast<PyObject*>(is_str ? &PyUnicode_Type : &PyBytes_Type));
                   })
      .def_prop_ro(
          "value_dtype",
          [](const text_map& self) { return self.has_values() ? numpy_dtype(self.value_type()) : nb::none(); })
      .def_prop_ro("version", &text_map::version)
      .def("insert", writing(write_op::insert), nb::arg(), nb::arg().none())
      .def("assign", writing(write_op::insert_or_assign), nb::arg(), nb::arg().none())
      .def("replace", writing(write_op::update), nb::arg(), nb::arg().none())
      .def("erase", [](text_map& self, nb::handle k) { return self.write(write_op::erase, k, nb::none()); })
      .def("clear", &text_map::clear)
      .def("find", &text_map::find, nb::arg(), nb::arg().none())
      .def("contains", &text_map::contains)
      .def("searchsorted", &text_map::searchsorted)
      .def("lower_bound", seeking(radix_slice::lower_bound))
      .def("successor", seeking(radix_slice::successor))
      .def("predecessor", seeking(radix_slice::predecessor))
      .def("longest_prefix", &text_map::longest_prefix)
      .def("last", &text_map::last)
      .def("count", [](const text_map& self, nb::handle lo, nb::handle hi,
                       std::string_view closed) { return self.count(lo, hi, parse_closed(closed)); })
      .def("count_prefix", &text_map::count_prefix)
      .def(
          "aggregate",
          [](const text_map& self, std::string_view op, nb::handle lo, nb::handle hi, std::string_view closed,
             nb::handle fallback) { return self.aggregate(parse_op(op), lo, hi, parse_closed(closed), fallback); },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "aggregate_prefix",
          [](const text_map& self, std::string_view op, nb::handle p, nb::handle fallback) {
            return self.aggregate_prefix(parse_op(op), p, fallback);
          },
          nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "range",
          [](const text_map& self, nb::handle lo, nb::handle hi, std::string_view closed, nb::handle limit) {
            return self.range(lo, hi, parse_closed(closed), limit);
          },
          nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg().none())
      .def("prefix", &text_map::prefix, nb::arg(), nb::arg().none())
      .def("elements", &text_map::elements)
      .def("parts", &text_map::parts)
      .def("stats", &text_map::stats);
}

}  // namespace espalier::python
