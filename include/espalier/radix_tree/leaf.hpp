// leaf.hpp - leaves: a complete key and its value.
//
// A leaf of 8, 16 or 32 bytes has one, two or four words. A leaf is full if its key fills it; a shorter key is padded
// with zeros, and its length is in the last byte. The kind and the words of the leaf of a key follow from the key, so a
// leaf holds a key if its kind and its words are equal. Longer keys are stored in a heap of words, and the leaf holds
// their position; their last word is padded with zeros. Values follow the words; a value of 16 bytes in a leaf of one
// word is at byte 16. Where bytes are left, four of them are the stamp that orders concurrent updates.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/index/value_slot.hpp"
#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/link.hpp"

namespace espalier {

/// Keys of more bytes are long.
inline constexpr std::uint32_t most_leaf_bytes = 32;
/// Buffers of leaves: 8, 16 and 32 bytes, and long keys.
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
/// Number of words of the key, or of its position in the heap.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_words(unsigned c) { return c == long_class ? 2 : 1u << c; }
/// Offset of the value: after the words, aligned like its slot, because a GPU loads it as a whole.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_value_at(unsigned c, unsigned value_slot) {
  return 8 * leaf_words(c) < value_slot ? value_slot : 8 * leaf_words(c);
}
/// Size of a leaf: a power of two, so that it does not straddle more sectors than necessary.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_bytes(unsigned c, unsigned value_slot) {
  const unsigned bytes = leaf_value_at(c, value_slot) + value_slot;
  unsigned stride = 8;
  while (stride < bytes) stride *= 2;
  return stride;
}

/// Offset of the stamp of updates (src/radix_tree/update.hpp): four bytes that would be unused, in the sector of the
/// value. 0 if there are none. After a value of four bytes, both form one word.
[[nodiscard]] ESPALIER_HD constexpr unsigned leaf_stamp_at(unsigned c, unsigned value_slot) {
  const unsigned words = 8 * leaf_words(c), value = leaf_value_at(c, value_slot), behind = value + value_slot;
  return value_slot == 0 ? 0 : behind + 4 <= leaf_bytes(c, value_slot) ? behind : words + 4 <= value ? words : 0;
}

/// Returns word `w` of the leaf that holds `key`, which is not long.
template <class Key>
[[nodiscard]] ESPALIER_INLINE std::uint64_t leaf_word(const Key& key, unsigned w, unsigned words) {
  std::uint64_t x = key.word(8 * w);
  if (w + 1 == words && key.size < 8 * words) x |= key.size;
  return x;
}

/// The key of a leaf, with the interface of byte_key_view.
struct leaf_key {
  const std::uint64_t* words;
  std::uint32_t size;
  std::uint32_t tail;  ///< index of the last word, which contains the length; no_tail if no word does
  static constexpr std::uint32_t no_tail = 0xffffffffu;

  [[nodiscard]] ESPALIER_INLINE std::uint64_t word(std::uint32_t at) const {  // at is a multiple of 8
    const std::uint64_t x = words[at / 8];
    return at / 8 == tail ? x & ~std::uint64_t{0xff} : x;
  }
};

}  // namespace espalier
