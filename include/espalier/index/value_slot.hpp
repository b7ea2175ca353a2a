// value_slot.hpp - values inside an index: words of 4, 8 or 16 bytes, or none, whatever the caller's type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"

namespace espalier {

/// Raw bytes of a value inside an index.
template <unsigned Bytes>
struct value_raw;
template <>
struct value_raw<0> {
  struct type {};
};
template <>
struct value_raw<4> {
  using type = std::uint32_t;
};
template <>
struct value_raw<8> {
  using type = std::uint64_t;
};
template <>
struct value_raw<16> {
  struct alignas(16) type {
    std::uint64_t low, high;
  };
};

/// Loads the caller's value i, which may be narrower than a slot; the other bytes of the slot are zero.
template <unsigned V>
[[nodiscard]] ESPALIER_INLINE typename value_raw<V>::type load_value(unsigned value_bytes, const void* values,
                                                                     std::size_t i) {
  typename value_raw<V>::type v{};
  if constexpr (V != 0) {
    const auto* from = static_cast<const unsigned char*>(values) + i * value_bytes;
    if (value_bytes == V && reinterpret_cast<std::uintptr_t>(values) % V == 0) {
      v = *reinterpret_cast<const typename value_raw<V>::type*>(from);
    } else if constexpr (V == 16) {
      for (unsigned b = 0; b < value_bytes; ++b) {
        (b < 8 ? v.low : v.high) |= std::uint64_t{from[b]} << (8 * (b % 8));
      }
    } else {
      for (unsigned b = 0; b < value_bytes; ++b) v |= static_cast<decltype(v)>(decltype(v){from[b]} << (8 * b));
    }
  }
  return v;
}

}  // namespace espalier
