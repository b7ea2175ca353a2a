// device_map.cpp - a map in the memory of a GPU.
#include "device_call.hpp"
#include "device_index.hpp"
#include "kinds.hpp"

namespace espalier::python {

using espalier::detail::aggregate_op;
using espalier::detail::element_type;
using espalier::detail::seek_kind;

device_map::device_map(int ordinal, nb::handle key_example, address keys, std::size_t n, nb::handle value_example,
                       address values, address handle)
    : on_(device_at(ordinal)),
      key_(type_of_example(key_example)),
      value_(type_of_example(value_example)),
      has_values_(!value_example.is_none()) {
  const unlocked_write released;
  if (handle > 1) on_.default_stream().wait_for(stream_at(on_, handle).mark());
  const device_call c(on_, 0);
  const key_batch normal(c, key_, keys, n);
  const element_type types{key_.kind, has_values_ ? value_.kind : scalar_kind::opaque,
                           has_values_ ? value_.width() : 0u};
  tree_ = espalier::detail::build_blink_index(on_, types, {}, normal.data(), input(values), n, {}, c.order());
  c.order().synchronize();
}

device_map::~device_map() { uses_.join(on_); }

std::size_t device_map::size() const {
  const unlocked_write released;
  return tree_->size();
}

void device_map::write(write_op op, address keys, address values, std::size_t n, address done, address handle) {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch k(c, key_, keys, n);
  ++version_;
  tree_->write(op, k.data(), has_values_ && op != write_op::erase ? input(values) : nullptr, n,
               at_address<std::uint8_t>(done), {batch_semantics::ordered, write_path::automatic}, c.run());
  uses_.note(c.order(), handle);
  ++version_;
}

void device_map::apply(address ops, address keys, address values, std::size_t n, address found, address done,
                       address handle) {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch k(c, key_, keys, n);
  if (has_values_) on_.fill(output(found), 0, n * value_.width(), c.order());
  ++version_;
  tree_->apply(at_address<const std::uint8_t>(ops), k.data(), input(values), n, has_values_ ? output(found) : nullptr,
               at_address<std::uint8_t>(done), {batch_semantics::ordered, write_path::automatic}, c.run());
  uses_.note(c.order(), handle);
  ++version_;
}

void device_map::clear() {
  const unlocked_write released;
  ++version_;
  tree_->clear(on_.default_stream());
  ++version_;
}

void device_map::find(address q, std::size_t n, address values, nb::handle fallback, address handle) const {
  find_in(*tree_, on_, uses_, key_, value_, q, n, values, fallback, handle, no_key_in_map);
}

void device_map::contains(address q, std::size_t n, address found, address handle) const {
  contains_in(*tree_, on_, uses_, key_, q, n, found, handle);
}

void device_map::seek(seek_kind kind, address q, std::size_t n, address keys, address values, address found,
                      address handle) const {
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch asked(c, key_, q, n);
  tree_->seek(kind, asked.data(), n, output(keys), has_values_ ? output(values) : nullptr,
              at_address<std::uint8_t>(found), {}, c.run());
  uses_.note(c.order(), handle);
}

void device_map::count(address lo, address hi, std::size_t n, interval ends, address counts, address handle) const {
  count_in(*tree_, on_, uses_, key_, lo, hi, n, ends, counts, handle);
}

void device_map::aggregate(aggregate_op op, address lo, address hi, std::size_t n, interval ends, address results,
                           nb::handle fallback, address handle) const {
  aggregate_in(*tree_, on_, uses_, key_, has_values_ ? value_ : key_, aggregates::all, op, lo, hi, n, ends, results,
               fallback, handle);
}

std::uint64_t device_map::range(address lo, address hi, std::size_t n, interval ends, nb::handle limit, address offsets,
                                found_range& found, address handle) const {
  range_options options{ends};
  options.limit = parse_limit(limit);
  const unlocked_write released;
  const device_call c(on_, handle);
  const key_batch low(c, key_, lo, n), high(c, key_, hi, n);
  found.buffers = tree_->range(low.data(), high.data(), n, options, {c.order(), true});
  on_.copy(output(offsets), found.buffers.offsets.data(), (n + 1) * sizeof(std::uint64_t), c.order());
  uses_.note(c.order(), handle);
  return found.buffers.total;
}

std::uint64_t device_map::all(found_range& found) const {
  const unlocked_write released;
  const stream order = on_.default_stream();
  found.buffers = tree_->all(order);
  order.synchronize();
  return found.buffers.total;
}

nb::tuple device_map::parts() const {
  espalier::detail::range_buffers all;
  {
    const unlocked_write released;
    const stream order = on_.default_stream();
    all = tree_->all(order);
    order.synchronize();
  }
  const new_array keys = make_array(key_, all.total);
  new_array values;
  if (has_values_) values = make_array(value_, all.total);
  {
    const unlocked_write released;
    const stream order = on_.default_stream();
    on_.copy(keys.data, all.keys.data(), all.total * key_.width(), order);
    if (has_values_) on_.copy(values.data, all.values.data(), all.total * value_.width(), order);
    order.synchronize();
    all = {};
  }
  return nb::make_tuple(keys.array, has_values_ ? values.array : nb::none());
}

nb::dict device_map::stats() const {
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

void found_range::take(address keys, unsigned key_bytes, address values, unsigned value_bytes, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  on.copy(output(keys), buffers.keys.data(), buffers.total * key_bytes, c.order());
  on.copy(output(values), buffers.values.data(), buffers.total * value_bytes, c.order());
  buffers = {};
}

}  // namespace espalier::python
