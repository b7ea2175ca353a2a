// element_checksum.hpp - the checksum that `visit` computes: the bits of all keys and values, added modulo 2^64, so
// that it does not depend on the order of additions.
#pragma once

#include <cstdint>
#include <cstring>

#include "espalier/core/config.hpp"

namespace espalier::bench {

template <class T>
[[nodiscard]] ESPALIER_HD inline std::uint64_t bits_of(T scalar) {
  std::uint64_t bits = 0;
  memcpy(&bits, &scalar, sizeof(T));
  return bits;
}

struct element_bits {
  template <class Key>
  ESPALIER_HD std::uint64_t operator()(Key key) const {
    return bits_of(key);
  }
  template <class Key, class Value>
  ESPALIER_HD std::uint64_t operator()(Key key, Value value) const {
    return bits_of(key) + bits_of(value);
  }
};

struct add_bits {
  ESPALIER_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};

}  // namespace espalier::bench
