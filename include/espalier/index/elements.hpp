// elements.hpp - what the untyped calls of all trees are made of: types of elements, execution of a call, owned ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/device.hpp"

namespace espalier::detail {

/// Types of the elements of an index.
struct element_type {
  scalar_kind key = scalar_kind::u32;
  scalar_kind value = scalar_kind::opaque;  ///< opaque: aggregates are not available
  unsigned value_bytes = 0;                 ///< 0 for a set
};

/// The type of a value in the spans of an owner; for a set, whose spans of values are empty, a placeholder.
template <class Value>
using value_or_placeholder = std::conditional_t<std::is_void_v<Value>, unsigned char, Value>;

/// Bytes a value takes inside the index: 0, 4, 8 or 16.
[[nodiscard]] constexpr unsigned value_slot(unsigned value_bytes) {
  return value_bytes == 0 ? 0 : value_bytes <= 4 ? 4 : value_bytes <= 8 ? 8 : 16;
}

/// The stream of a bulk call, and whether the call waits for its completion.
struct execution {
  stream order;
  bool wait = true;
};

/// Takes the place of the stream in calls of an owner that has no streams: its calls wait for their results.
struct no_stream {};

[[nodiscard]] inline execution waiting(const device& dev, const stream& s) { return {dev.resolve(s), true}; }
[[nodiscard]] inline execution waiting(const device&, no_stream) { return {}; }
[[nodiscard]] inline execution enqueued(const device& dev, const stream& s) { return {dev.resolve(s), false}; }

struct range_buffers {
  buffer<std::uint64_t> offsets;  ///< one per query, then the total
  raw_buffer keys;
  raw_buffer values;
  std::uint64_t total = 0;
};

/// An aggregate of the values of a range; of the keys, if the index is a set.
enum class aggregate_op : std::uint8_t { sum, min, max, avg };

[[nodiscard]] ESPALIER_HD constexpr bool is_bound(aggregate_op op) {
  return op == aggregate_op::min || op == aggregate_op::max;
}
[[nodiscard]] ESPALIER_HD constexpr bool is_float(scalar_kind kind) {
  return kind == scalar_kind::f32 || kind == scalar_kind::f64;
}
/// Bytes of one result: minima and maxima have the type of the elements, sums of 64-bit integers have 128 bits.
[[nodiscard]] ESPALIER_HD constexpr unsigned result_bytes(aggregate_op op, scalar_kind kind) {
  if (is_bound(op)) return bytes_of(kind);
  return op == aggregate_op::sum && bytes_of(kind) == 8 && !is_float(kind) ? 16 : 8;
}

}  // namespace espalier::detail
