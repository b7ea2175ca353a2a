// leaf.hpp - leaves: a whole key and its value.
//
// A leaf of 8, 16 or 32 bytes is one, two or four words. A key that fills it makes it full; a shorter one is followed
// by zeros, and its length stands in the last byte. What a key's leaf would look like is known from its length, so that
// a leaf holds a key if its kind and its words are equal. Longer keys lie in a heap of words, where the leaf says;
// their last word is filled up with zeros. Values lie behind the words, one of 16 bytes behind one word at the 16th
// byte. Where bytes are left, four of them are the stamp that tells which of several updates was the last.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/link.hpp"
#include "espalier/static_tree/layout.hpp"  // value_raw

namespace espalier {

/// Keys beyond this are long.
inline constexpr std::uint32_t most_leaf_bytes = 32;
/// Buffers of leaves: of 8, 16, 32 bytes, and of long keys.
inline constexpr unsigned leaf_classes = 4, long_class = 3;

[[nodiscard]] ESPALIER_INLINE unsigned leaf_class(std::uint32_t key_bytes) {
  return key_bytes <= 8 ? 0 : key_bytes <= 16 ? 1 : key_bytes <= most_leaf_bytes ? 2 : long_class;
}
[[nodiscard]] ESPALIER_INLINE unsigned leaf_class(radix_kind kind) {
  return (static_cast<unsigned>(kind) - static_cast<unsigned>(radix_kind::leaf8)) / 2;
}
[[nodiscard]] ESPALIER_INLINE radix_kind leaf_kind(std::uint32_t key_bytes) {
  const unsigned c = leaf_class(key_bytes);
  const bool full = c != long_class && key_bytes == 8u << c;
  return static_cast<radix_kind>(static_cast<unsigned>(radix_kind::leaf8) + 2 * c + (full ? 1 : 0));
}
/// Words of the key, or of where it is.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_words(unsigned c) { return c == long_class ? 2 : 1u << c; }
/// Where the value is: behind the words, and aligned like its slot, since a GPU loads it as a whole.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_value_at(unsigned c, unsigned value_slot) {
  return 8 * leaf_words(c) < value_slot ? value_slot : 8 * leaf_words(c);
}
/// Bytes of a leaf: it crosses no more sectors than it must.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_bytes(unsigned c, unsigned value_slot) {
  const unsigned bytes = leaf_value_at(c, value_slot) + value_slot;
  unsigned stride = 8;
  while (stride < bytes) stride *= 2;
  return stride;
}

/// Where a leaf keeps the stamp of updates (src/radix_tree/update.hpp): in four bytes that it would leave unused, of the
/// same sector as the value. 0: there are none. Behind a value of four bytes they make one word with it.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_stamp_at(unsigned c, unsigned value_slot) {
  const unsigned words = 8 * leaf_words(c), value = leaf_value_at(c, value_slot), behind = value + value_slot;
  return value_slot == 0 ? 0 : behind + 4 <= leaf_bytes(c, value_slot) ? behind : words + 4 <= value ? words : 0;
}

/// Word `w` of the leaf that holds `key`, which is not long.
template <class Key>
[[nodiscard]] ESPALIER_INLINE std::uint64_t leaf_word(const Key& key, unsigned w, unsigned words) {
  std::uint64_t x = key.word(8 * w);
  if (w + 1 == words && key.size < 8 * words) x |= key.size;
  return x;
}

/// The key of a leaf, readable like byte_key_view.
struct leaf_key {
  const std::uint64_t* words;
  std::uint32_t size;
  std::uint32_t tail;  ///< last word, in which the length is no part of the key; no_tail: there is none
  static constexpr std::uint32_t no_tail = 0xffffffffu;

  [[nodiscard]] ESPALIER_INLINE std::uint64_t word(std::uint32_t at) const {  // at is a multiple of 8
    const std::uint64_t x = words[at / 8];
    return at / 8 == tail ? x & ~std::uint64_t{0xff} : x;
  }
};

}  // namespace espalier
