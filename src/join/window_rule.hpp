// window_rule.hpp - the two ranks of the window of a left row, from words of keys. For host and GPU; shifted() of
// window_join.cpp does the same with keys.
#pragma once

#include <optional>

#include "espalier/join/column.hpp"
#include "join/packed_words.hpp"

namespace espalier::join_detail {

/// A checked end of a window: a distance, exact for integer keys and a double for float keys.
struct window_end {
  bool is_bounded = false;
  int128 integer = 0;
  double real = 0;

  [[nodiscard]] static window_end of(const std::optional<key_distance>& distance) {
    if (!distance) return {};
    return {true, distance->integer(), distance->real()};
  }
};

template <class KeyWord, class Word>
struct window_rule {
  word_packing<KeyWord, Word> packing;
  bool is_real = false;  // keys are floats
  window_end preceding, following;
  bool includes_first = true, includes_last = true;

  /// The rank of the first row of the window of a key, and that of the first row after it.
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> first(std::uint32_t group, KeyWord key) const {
    if (!preceding.is_bounded) return packing.before_group(group);
    return is_real ? at_real(group, real_of(key) - preceding.real, !includes_first)
                   : at_integer(group, static_cast<int128>(key) - preceding.integer, !includes_first);
  }
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> last(std::uint32_t group, KeyWord key) const {
    if (!following.is_bounded) return packing.after_group(group);
    return is_real ? at_real(group, real_of(key) + following.real, includes_last)
                   : at_integer(group, static_cast<int128>(key) + following.integer, includes_last);
  }

 private:
  // Words of integers are the integers plus a constant, so they are shifted alike.
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> at_integer(std::uint32_t group, int128 moved, bool is_upper) const {
    if (moved < 0) return packing.before_group(group);
    if (moved > static_cast<int128>(static_cast<KeyWord>(~KeyWord{0}))) return packing.after_group(group);
    return packing.before_key(group, static_cast<KeyWord>(moved), is_upper);
  }
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> at_real(std::uint32_t group, double moved, bool is_upper) const {
    return packing.before_key(group, word_of_real(moved, is_upper), is_upper);
  }
  /// For f32 keys, the nearest float that has the same keys before it: keys are less than x if they are less than the
  /// least float that is not less than x, and not greater if they are not greater than the greatest one that is not.
  [[nodiscard]] static ESPALIER_INLINE KeyWord word_of_real(double x, bool is_upper) {
    if (x == 0) x = 0;  // not -0.0
    if constexpr (sizeof(KeyWord) == 4) {
      auto f = static_cast<float>(x);
      if (!is_upper && static_cast<double>(f) < x) f = nextafterf(f, INFINITY);
      if (is_upper && static_cast<double>(f) > x) f = nextafterf(f, -INFINITY);
      if (f == 0) f = 0;
      std::uint32_t raw;
      memcpy(&raw, &f, sizeof raw);
      return encode_bits(scalar_kind::f32, raw);
    } else {
      std::uint64_t raw;
      memcpy(&raw, &x, sizeof raw);
      return encode_bits(scalar_kind::f64, raw);
    }
  }
};

}  // namespace espalier::join_detail
