// device_call.hpp - what calls of device_index and device_map have in common: the stream, keys without -0.0, missing
// answers, and the queries that both answer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "device_index.hpp"
#include "device_kernels.hpp"
#include "espalier/index/result.hpp"

namespace espalier::python {

/// One call: its device, stream, and scratch memory, which is freed in the order of the stream.
class device_call {
 public:
  device_call(const device& on, address handle) : on_(on), handle_(handle), order_(stream_at(on, handle)) {}

  [[nodiscard]] espalier::detail::execution run() const { return {order_, on_.kind() == device_kind::cpu}; }
  [[nodiscard]] device_kernels::work_place place() const { return {on_, order_}; }
  [[nodiscard]] const stream& order() const { return order_; }
  [[nodiscard]] address handle() const { return handle_; }
  template <class T>
  [[nodiscard]] buffer<T> scratch(std::size_t n) const {
    return buffer<T>(on_, n, order_);
  }
  [[nodiscard]] raw_buffer room(std::size_t bytes) const { return raw_buffer(on_, bytes, order_); }

 private:
  const device& on_;
  address handle_;
  stream order_;
};

template <class T>
T* at_address(address p) {
  return reinterpret_cast<T*>(p);
}
inline const void* input(address p) { return reinterpret_cast<const void*>(p); }
inline void* output(address p) { return reinterpret_cast<void*>(p); }

inline bool is_float(const data_type& type) { return type.kind == scalar_kind::f32 || type.kind == scalar_kind::f64; }

[[nodiscard]] data_type type_of_example(nb::handle example);
/// The bytes of the one value of `fallback`, zero-extended.
[[nodiscard]] std::uint64_t bits_of(nb::handle fallback, const data_type& type);
[[noreturn]] void throw_missing(PyObject* error, const char* sentence, std::uint64_t query);

inline constexpr std::uint64_t none_missing = std::numeric_limits<std::uint64_t>::max();
inline constexpr const char* no_key = "the index does not have this key";
inline constexpr const char* no_key_in_map = "the map does not have this key";
inline constexpr const char* no_bound = "a range without elements has no minimum and no maximum";

/// Keys of a call, with 0.0 for -0.0: the library orders -0.0 before 0.0, Python takes them as equal.
class key_batch {
 public:
  key_batch(const device_call& c, const data_type& type, address keys, std::size_t n) : data_(input(keys)) {
    if (!is_float(type) || n == 0) return;
    copy_ = c.room(n * type.width());
    device_kernels::without_negative_zeros(c.place(), type.kind, data_, n, copy_.data());
    data_ = copy_.data();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  const void* data_;
  raw_buffer copy_;
};

/// Fills what is missing, or returns the first query that is, or none_missing.
[[nodiscard]] std::uint64_t settle_missing(const device_call& c, const data_type& type, const std::uint8_t* found,
                                           std::size_t n, bool has_fallback, std::uint64_t bits, void* values);

template <class Tree>
void find_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, const data_type& value,
             address q, std::size_t n, address values, nb::handle fallback, address handle, const char* sentence) {
  const bool has_fallback = !fallback.is_none();
  const std::uint64_t bits = has_fallback ? bits_of(fallback, value) : 0;
  std::uint64_t missing = none_missing;
  {
    const unlocked_write released;
    const device_call c(on, handle);
    const key_batch keys(c, key, q, n);
    const auto found = c.scratch<std::uint8_t>(n);
    tree.find(keys.data(), n, output(values), found.data(), {}, c.run());
    missing = settle_missing(c, value, found.data(), n, has_fallback, bits, output(values));
    uses.note(c.order(), handle);
  }
  if (missing != none_missing) throw_missing(PyExc_KeyError, sentence, missing);
}

template <class Tree>
void contains_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, address q, std::size_t n,
                 address found, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  const key_batch keys(c, key, q, n);
  tree.find(keys.data(), n, nullptr, at_address<std::uint8_t>(found), {}, c.run());
  uses.note(c.order(), handle);
}

template <class Tree>
void count_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, address lo, address hi,
              std::size_t n, interval ends, address counts, address handle) {
  const unlocked_write released;
  const device_call c(on, handle);
  const key_batch low(c, key, lo, n), high(c, key, hi, n);
  tree.count(low.data(), high.data(), n, {ends}, at_address<std::uint64_t>(counts), c.run());
  uses.note(c.order(), handle);
}

template <class Tree>
void aggregate_in(const Tree& tree, const device& on, stream_uses& uses, const data_type& key, const data_type& from,
                  aggregates kept, espalier::detail::aggregate_op op, address lo, address hi, std::size_t n,
                  interval ends, address results, nb::handle fallback, address handle) {
  const data_type type = aggregate_type(from, kept, op);
  const bool is_bound = espalier::detail::is_bound(op);
  const bool has_fallback = is_bound && !fallback.is_none();
  const std::uint64_t bits = has_fallback ? bits_of(fallback, type) : 0;
  std::uint64_t missing = none_missing, too_large = n;
  {
    const unlocked_write released;
    const device_call c(on, handle);
    const key_batch low(c, key, lo, n), high(c, key, hi, n);
    if (espalier::detail::result_bytes(op, from.kind) == 16) {
      const auto wide = c.scratch<int128>(n);
      tree.aggregate(op, low.data(), high.data(), n, ends, wide.data(), nullptr, c.run());
      too_large = device_kernels::narrow_sums(c.place(), espalier::detail::is_signed(from.kind), wide.data(), n,
                                              output(results));
    } else {
      const auto found = c.scratch<std::uint8_t>(is_bound ? n : 0);
      tree.aggregate(op, low.data(), high.data(), n, ends, output(results), found.data(), c.run());
      if (is_bound) missing = settle_missing(c, type, found.data(), n, has_fallback, bits, output(results));
    }
    uses.note(c.order(), handle);
  }
  if (missing != none_missing) throw_missing(PyExc_ValueError, no_bound, missing);
  if (too_large != n) {
    throw overflow("sum: that of query " + std::to_string(too_large) + " does not fit 64 bits; ask for 128-bit sums.");
  }
}

}  // namespace espalier::python
