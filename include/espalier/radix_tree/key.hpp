// key.hpp - byte strings as keys: batches, their words, and the first difference of two keys.
//
// Keys are compared byte by byte, unsigned, and a key is less than any longer key that it is a prefix of. A key
// therefore has a symbol at every position up to its length: its bytes, followed by `end`, which is less than every
// byte. Words are eight bytes, most significant byte first, so that words compare like bytes; bytes after the end are
// zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "espalier/core/config.hpp"

namespace espalier {

[[nodiscard]] ESPALIER_INLINE std::uint64_t swap_bytes(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  const auto low = static_cast<std::uint32_t>(x), high = static_cast<std::uint32_t>(x >> 32);
  return (std::uint64_t{__byte_perm(low, 0, 0x0123)} << 32) | __byte_perm(high, 0, 0x0123);
#else
  return __builtin_bswap64(x);
#endif
}
[[nodiscard]] ESPALIER_INLINE unsigned leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__clzll(static_cast<long long>(x)));
#else
  return static_cast<unsigned>(__builtin_clzll(x));
#endif
}

/// A non-owning view of one key.
struct byte_key_view {
  const std::uint8_t* bytes;
  std::uint32_t size;

  /// Returns bytes [at, at + 8) as a word.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t word(std::uint32_t at) const {
    if (at >= size) return 0;
    const std::uint8_t* const p = bytes + at;
    const std::uint32_t left = size - at;
    if (left >= 8) return whole_word(p);
    std::uint64_t w = 0;
    for (std::uint32_t i = 0; i < left; ++i) w |= std::uint64_t{p[i]} << (56 - 8 * i);
    return w;
  }

 private:
  static ESPALIER_INLINE std::uint64_t whole_word(const std::uint8_t* p) {
#if defined(__CUDA_ARCH__)  // a load must not be wider than the alignment of its address
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (address % 8 == 0) return swap_bytes(*reinterpret_cast<const std::uint64_t*>(p));
    if (address % 4 == 0) {
      const auto* const half = reinterpret_cast<const std::uint32_t*>(p);
      return swap_bytes(std::uint64_t{half[0]} | std::uint64_t{half[1]} << 32);
    }
    std::uint64_t w = 0;
    for (unsigned i = 0; i < 8; ++i) w = w << 8 | p[i];
    return w;
#else
    std::uint64_t w;
    memcpy(&w, p, 8);
    return swap_bytes(w);
#endif
  }
};

/// Converts a symbol to a number with the same order: 0 for `end`, otherwise the byte + 1.
[[nodiscard]] ESPALIER_INLINE unsigned symbol_of_byte(std::uint8_t b) { return b + 1u; }
inline constexpr unsigned end_symbol = 0;

/// A batch of keys: key i is bytes [offsets[i], offsets[i + 1]), or without offsets the `stride` bytes from i * stride
/// on.
struct byte_batch {
  const std::uint8_t* bytes = nullptr;
  const std::uint64_t* offsets = nullptr;
  std::uint64_t stride = 0;

  [[nodiscard]] ESPALIER_INLINE byte_key_view operator[](std::size_t i) const {
    if (offsets == nullptr) return {bytes + i * stride, static_cast<std::uint32_t>(stride)};
    const std::uint64_t begin = offsets[i];
    return {bytes + begin, static_cast<std::uint32_t>(offsets[i + 1] - begin)};
  }
  [[nodiscard]] byte_batch from(std::size_t i) const {
    return offsets == nullptr ? byte_batch{bytes + i * stride, nullptr, stride} : byte_batch{bytes, offsets + i, 0};
  }
};

/// Returns the first position at which a and b, any kinds of key with `size` and word(at), have different symbols;
/// `same_key` if they are equal. Both must agree before `from`.
inline constexpr std::uint32_t same_key = 0xffffffffu;
template <class A, class B>
[[nodiscard]] ESPALIER_INLINE std::uint32_t first_difference(const A& a, const B& b, std::uint32_t from = 0) {
  const std::uint32_t shorter = a.size < b.size ? a.size : b.size;
  for (std::uint32_t at = from / 8 * 8; at < shorter; at += 8) {
    const std::uint64_t x = a.word(at) ^ b.word(at);
    if (x == 0) continue;
    const std::uint32_t differs = at + leading_zeros(x) / 8;
    return differs < shorter ? differs : shorter;  // beyond it one key has ended, and the other may have zero bytes
  }
  return a.size == b.size ? same_key : shorter;
}
/// Returns the symbol of a key at a position up to its size.
template <class Key>
[[nodiscard]] ESPALIER_INLINE unsigned symbol_at(const Key& key, std::uint32_t at) {
  if (at >= key.size) return end_symbol;
  return static_cast<unsigned>(key.word(at / 8 * 8) >> (56 - 8 * (at % 8)) & 0xff) + 1;
}

[[nodiscard]] ESPALIER_INLINE unsigned symbol_at(const byte_key_view& key, std::uint32_t at) {
  return at >= key.size ? end_symbol : symbol_of_byte(key.bytes[at]);
}

}  // namespace espalier
