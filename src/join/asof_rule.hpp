// asof_rule.hpp - which ranks of a left row an as-of join needs, and which position they select. For host and GPU.
//
//   backward   the last word not greater: upper rank - 1;   without exact matches, the last word less: lower rank - 1
//   forward    the first word not less: lower rank;         without exact matches, the first word greater: upper rank
//   nearest    both, of which the backward one is taken if distances are equal
// Equal words are in row order, so these are the last and the first row of equal keys.
#pragma once

#include "espalier/join/asof_join.hpp"
#include "join/packed_words.hpp"

namespace espalier::join_detail {

template <class KeyWord, class Word>
struct asof_rule {
  word_packing<KeyWord, Word> packing;
  word_distances<KeyWord> distances;
  asof_direction direction = asof_direction::backward;
  bool is_exact = true;

  /// The rank that all directions need: of the first row after the key (nearest), or that of the direction.
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> query(std::uint32_t group, KeyWord key) const {
    const bool is_upper = direction == asof_direction::nearest || (direction == asof_direction::backward) == is_exact;
    return packing.before_key(group, key, is_upper);
  }
  /// Whether a second rank is needed: that of rows before the key, if those that equal it do not match.
  [[nodiscard]] ESPALIER_INLINE bool needs_second_query() const {
    return direction == asof_direction::nearest && !is_exact;
  }
  [[nodiscard]] ESPALIER_INLINE rank_query<Word> second_query(std::uint32_t group, KeyWord key) const {
    return packing.before_key(group, key, false);
  }

  /// The position of the match among n sorted words, or no_row. `second` equals `first` where it is not needed.
  /// word_at(p) is the word at position p < n.
  template <class WordAt>
  [[nodiscard]] ESPALIER_INLINE row_number match(row_number first, row_number second, row_number n, std::uint32_t group,
                                                 KeyWord key, const WordAt& word_at) const {
    const bool is_forward = direction == asof_direction::forward;
    row_number at = is_forward ? first : second - 1;  // wraps around before the first word
    if (packing.has_groups || distances.is_limited || direction == asof_direction::nearest) {
      Word word{};
      bool matches = at < n;
      if (matches) {
        word = word_at(at);
        matches = packing.is_in_group(word, group);
      }
      if (direction == asof_direction::nearest && first < n) {
        const Word above = word_at(first);
        if (packing.is_in_group(above, group) &&
            (!matches || distances.is_nearer(packing.key_of(above), packing.key_of(word), key))) {
          at = first;
          word = above;
          matches = true;
        }
      }
      return matches && distances.allows(packing.key_of(word), key) ? at : no_row;
    }
    return at < n ? at : no_row;
  }
};

}  // namespace espalier::join_detail
