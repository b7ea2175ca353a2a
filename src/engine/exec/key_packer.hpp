// key_packer.hpp - keys of several columns as one word each, where their values fit: equal words, equal keys.
//
// A column takes as many bits as the distance from its least code to its greatest needs, with one more code for NULL.
// So most keys of two or three columns are one word, and grouping and joining hash words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/exec/normalized_keys.hpp"

namespace espalier::engine {

struct packed_keys {
  std::vector<std::uint64_t> own;
  std::span<const std::uint64_t> words;  ///< of `own`, or of the one column there is
  std::uint64_t base = 0;                ///< the least word: subtracted from all
  std::vector<std::uint8_t> without;     ///< 1 where the row has no key; empty: all have one
  std::uint64_t codes = 0;               ///< words are below this; 0: below 2^64

  [[nodiscard]] std::size_t rows() const { return words.size(); }
  [[nodiscard]] std::uint64_t word(std::size_t row) const { return words[row] - base; }
  [[nodiscard]] bool has(std::size_t row) const { return without.empty() || without[row] == 0; }
};

struct key_direction {
  bool descending = false;
  bool nulls_first = false;
};

class key_packer {
 public:
  /// For these columns, which have `rows` rows. `null_is_a_key`: else rows with a NULL have no key. None if the values
  /// take more than 64 bits.
  [[nodiscard]] static std::optional<key_packer> plan(const std::vector<const sort_key_column*>& columns,
                                                      std::size_t rows, bool null_is_a_key);
  /// Words in the order of rows that are ordered by the columns, one after the other.
  [[nodiscard]] static std::optional<key_packer> plan_order(const std::vector<const sort_key_column*>& columns,
                                                            std::span<const key_direction> directions,
                                                            std::size_t rows);
  /// Packed words are below this; 0: below 2^64.
  [[nodiscard]] std::uint64_t codes() const noexcept { return codes_; }
  /// Keys of the columns that the plan is for, which have to outlive the answer. Also of others that are compared with
  /// them by whoever bears words beyond those of the plan.
  [[nodiscard]] packed_keys pack(const std::vector<const sort_key_column*>& columns, std::size_t rows) const;
  /// Keys of other columns that are compared with them: values beyond those of the plan have no key.
  [[nodiscard]] packed_keys pack_others(const std::vector<const sort_key_column*>& columns, std::size_t rows) const;

 private:
  struct field {
    std::uint64_t base = 0;
    std::uint64_t span = 0;  ///< from the least word to the greatest
    bool has_null = false;   ///< whose code is before or behind all others
    bool folded = false;     ///< two words that are one number of 64 bits
    unsigned shift = 0;
    key_direction direction;

    [[nodiscard]] std::uint64_t null_code() const { return direction.nulls_first ? 0 : span + 1; }
    [[nodiscard]] std::uint64_t code(std::uint64_t word) const {
      const std::uint64_t up = word - base;
      return (direction.descending ? span - up : up) + (has_null && direction.nulls_first ? 1 : 0);
    }
  };
  [[nodiscard]] static std::optional<key_packer> plan_all(const std::vector<const sort_key_column*>& columns,
                                                          std::span<const key_direction> directions, std::size_t rows,
                                                          bool null_is_a_key);
  void add_words(const field& f, const sort_key_column& column, std::size_t begin, std::size_t end,
                 packed_keys& out) const;

  std::vector<field> fields_;
  bool directed_ = false;  ///< some column is descending
  std::uint64_t codes_ = 0;
};

}  // namespace espalier::engine
