// packed_words.hpp - groups and keys of rows as unsigned words whose order is that of (group, key). For host and GPU.
//
//   without groups   the order-preserving word of the key (scalar.hpp), with -0.0 as +0.0: 32 or 64 bits
//   with groups      group << bits | (key word - least key word of the side): 64 bits if that is enough, else 128
//
// Every search of a join is then a lower bound in a sorted array of words. A key outside the key range of the side
// sorts before or after all rows of its group, so `bits` has to cover the keys of one side only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::join_detail {

/// Reads the bits of keys in memory as order-preserving words. By default, memory has the words themselves.
template <class Word>
struct word_reader {
  static constexpr Word top = Word{1} << (8 * sizeof(Word) - 1);
  Word sign = 0;         // flipped
  Word float_mask = 0;   // all ones for floats, whose negative numbers have all bits flipped
  Word infinite_bits{};  // of a float; only NaN has greater ones

  [[nodiscard]] static word_reader of(scalar_kind kind) {
    switch (kind) {
      case scalar_kind::i32:
      case scalar_kind::i64:
        return {top, 0, 0};
      case scalar_kind::f32:
        return {top, static_cast<Word>(~Word{0}), Word{0x7f800000u}};
      case scalar_kind::f64:
        return {top, static_cast<Word>(~Word{0}), static_cast<Word>(Word{0x7ff00000u} << (8 * sizeof(Word) - 32))};
      default:
        return {};
    }
  }
  [[nodiscard]] ESPALIER_INLINE Word operator()(Word raw) const {
    if (float_mask != 0 && raw == top) raw = 0;  // -0.0
    const Word is_negative = Word{0} - (raw >> (8 * sizeof(Word) - 1));
    return raw ^ (sign | (is_negative & float_mask));
  }
  [[nodiscard]] ESPALIER_INLINE bool is_nan(Word raw) const {
    return float_mask != 0 && static_cast<Word>(raw & ~top) > infinite_bits;
  }
};

/// The number of words that are less than `word`, or, with `is_all`, the number of all words.
template <class Word>
struct rank_query {
  Word word;
  bool is_all;
};

/// How the (group, key) of one sorted side become words.
template <class KeyWord, class Word>
struct word_packing {
  KeyWord least = 0;                    // of the side
  unsigned bits = 8 * sizeof(KeyWord);  // of a key; groups are above them
  bool has_groups = false;

  [[nodiscard]] ESPALIER_INLINE KeyWord key_mask() const {
    return bits >= 8 * sizeof(KeyWord) ? static_cast<KeyWord>(~KeyWord{0})
                                       : static_cast<KeyWord>((KeyWord{1} << bits) - 1);
  }
  /// Precondition: least <= key <= least + key_mask().
  [[nodiscard]] ESPALIER_INLINE Word pack(std::uint32_t group, KeyWord key) const {
    return first_of(group) | static_cast<Word>(static_cast<KeyWord>(key - least));
  }
  [[nodiscard]] ESPALIER_INLINE KeyWord key_of(Word word) const {
    return static_cast<KeyWord>(least + (static_cast<KeyWord>(word) & key_mask()));
  }
  [[nodiscard]] ESPALIER_INLINE bool is_in_group(Word word, std::uint32_t group) const {
    return !has_groups || (bits >= 8 * sizeof(Word) ? 0 : static_cast<std::uint32_t>(word >> bits)) == group;
  }

  [[nodiscard]] ESPALIER_INLINE rank_query<Word> before_group(std::uint32_t group) const {
    return {first_of(group), false};
  }
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> after_group(std::uint32_t group) const {
    return upper(first_of(group) | static_cast<Word>(key_mask()));
  }
  /// Words of earlier groups, and those of the group whose key is less than `key`; with `is_upper`, not greater.
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> before_key(std::uint32_t group, KeyWord key, bool is_upper) const {
    if (key < least) return before_group(group);
    if (static_cast<KeyWord>(key - least) > key_mask()) return after_group(group);
    const Word word = pack(group, key);
    return is_upper ? upper(word) : rank_query<Word>{word, false};
  }

 private:
  // `bits` may be all bits of a word, if the only group is 0.
  [[nodiscard]] ESPALIER_INLINE Word first_of(std::uint32_t group) const {
    return static_cast<Word>(static_cast<Word>(group) << (bits % (8 * sizeof(Word))));
  }
  [[nodiscard]] static ESPALIER_INLINE rank_query<Word> upper(Word word) {
    const auto next = static_cast<Word>(word + 1);
    return {next, next == 0};
  }
};

/// The number that an order-preserving word of a float stands for.
template <class KeyWord>
[[nodiscard]] ESPALIER_INLINE double real_of(KeyWord word) {
  if constexpr (sizeof(KeyWord) == 4) {
    const auto raw = decode_bits<std::uint32_t>(scalar_kind::f32, word);
    float value;
    memcpy(&value, &raw, sizeof value);
    return value;
  } else {
    const auto raw = decode_bits<std::uint64_t>(scalar_kind::f64, word);
    double value;
    memcpy(&value, &raw, sizeof value);
    return value;
  }
}

/// Distances of keys that are given as words: as distance_between() of keys.hpp.
template <class KeyWord>
struct word_distances {
  bool is_real = false;  // keys are floats
  bool is_limited = false;
  std::uint64_t limit = 0;
  double real_limit = 0;

  [[nodiscard]] ESPALIER_INLINE bool allows(KeyWord a, KeyWord b) const {
    if (!is_limited) return true;
    return is_real ? real(a, b) <= real_limit : integer(a, b) <= limit;
  }
  /// Whether a is nearer to q than b is.
  [[nodiscard]] ESPALIER_INLINE bool is_nearer(KeyWord a, KeyWord b, KeyWord q) const {
    return is_real ? real(a, q) < real(b, q) : integer(a, q) < integer(b, q);
  }

 private:
  // Words of integers are the integers plus a constant.
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t integer(KeyWord a, KeyWord b) { return a < b ? b - a : a - b; }
  [[nodiscard]] static ESPALIER_INLINE double real(KeyWord a, KeyWord b) {
    return a == b ? 0.0 : fabs(real_of(a) - real_of(b));  // inf - inf is NaN
  }
};

}  // namespace espalier::join_detail
