// key_packer.hpp - packs keys of several columns into one word per row, if their values fit. Equal words mean equal
// keys.
//
// A column takes as many bits as the difference of its greatest and least normalized key needs, with one more code for
// NULL. Most keys of two or three columns then fit one word, and grouping and joining hash words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {

struct packed_keys {
  std::vector<std::uint64_t> own;
  std::span<const std::uint64_t> words;  ///< a view of `own`, or of the only column
  std::uint64_t base = 0;                ///< the least word, which is subtracted from all
  std::vector<std::uint8_t> without;     ///< 1 if the row has no key; empty if all rows have one
  std::uint64_t codes = 0;               ///< words are less than this; 0 means 2^64

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
  /// Plans the packing of these columns of `rows` rows. Without `null_is_a_key`, rows with a NULL have no key. Returns
  /// nothing if the values need more than 64 bits.
  [[nodiscard]] static std::optional<key_packer> plan(const std::vector<const sort_key_column*>& columns,
                                                      std::size_t rows, bool null_is_a_key);
  /// Plans words whose order is the lexicographic order of the columns.
  [[nodiscard]] static std::optional<key_packer> plan_order(const std::vector<const sort_key_column*>& columns,
                                                            std::span<const key_direction> directions,
                                                            std::size_t rows);
  /// Packed words are less than this; 0 means 2^64.
  [[nodiscard]] std::uint64_t codes() const noexcept { return codes_; }
  /// Packs the columns of the plan, which must outlive the result. Other columns that are compared with them may be
  /// packed, too, if the caller accepts words outside the range of the plan.
  [[nodiscard]] packed_keys pack(const std::vector<const sort_key_column*>& columns, std::size_t rows) const;
  /// Packs other columns that are compared with those of the plan; values outside its range have no key.
  [[nodiscard]] packed_keys pack_others(const std::vector<const sort_key_column*>& columns, std::size_t rows) const;

 private:
  struct field {
    std::uint64_t base = 0;
    std::uint64_t span = 0;  ///< greatest word minus least word
    bool has_null = false;   ///< NULL is coded before or after all values
    bool folded = false;     ///< two words that hold one 64-bit number
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
  bool directed_ = false;  ///< a column is descending
  std::uint64_t codes_ = 0;
};

}  // namespace espalier::engine
