// ordered_groups.hpp - the rows of one join side, grouped by equal keys and sorted by a value within each group. As-of
// and band joins without an index search it.
//
// If group and value fit 64 bits, they are packed into one word, with the group above the difference of the value from
// the least value. Rows are then radix-sorted, and a table of the leading bits narrows each search. Decimals, and
// values with a wide range in many groups, are sorted and searched by comparisons.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/keys/groups.hpp"
#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {

class ordered_groups {
 public:
  /// If `keys` is empty, all rows are one group. Rows with a NULL are omitted.
  ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                 const std::shared_ptr<arrow::ChunkedArray>& values);
  /// The same with normalized keys of the values, for use with comparable keys of the other side.
  ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys, const sort_key_column& codes);

  /// Returns the group of each row of the other side, or no_group.
  [[nodiscard]] std::vector<std::uint32_t> groups_of(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                                                     std::size_t rows) const;
  /// Finds, for rows of the other side from `first` on, the first position in the row's group whose value is not less
  /// than the row's, or, with `above`, is greater. The result is unspecified for rows without a group and for NULLs.
  void first_places(std::span<const std::uint32_t> groups, const sort_key_column& codes, std::size_t first, bool above,
                    std::span<std::size_t> places) const;

  [[nodiscard]] std::size_t groups() const { return offsets_.size() - 1; }
  [[nodiscard]] std::size_t group_begin(std::uint32_t group) const { return offsets_[group]; }
  [[nodiscard]] std::size_t group_end(std::uint32_t group) const { return offsets_[group + 1]; }
  [[nodiscard]] std::int64_t row_at(std::size_t place) const { return rows_[place]; }
  /// Returns the row at each position.
  [[nodiscard]] std::span<const std::int64_t> rows() const { return rows_; }

 private:
  [[nodiscard]] std::uint32_t group_of(std::size_t row) const { return table_ ? table_->groups().of_row[row] : 0; }
  void choose_rows(const sort_key_column& codes);
  [[nodiscard]] bool pack(const sort_key_column& codes);
  void sort_packed();
  void make_top();
  void sort_by_comparing(const sort_key_column& codes);

  [[nodiscard]] std::uint64_t packed(std::uint32_t group, std::uint64_t word) const {
    return (bits_ < 64 ? std::uint64_t{group} << bits_ : 0) | (word - least_);
  }
  void packed_places(std::span<const std::uint64_t> asked, bool above, std::span<std::size_t> places) const;
  [[nodiscard]] std::size_t compared_place(std::uint32_t group, std::uint64_t high, std::uint64_t word,
                                           bool above) const;

  std::unique_ptr<key_table> table_;  ///< null if there is one group
  // Sorted by group, value and row. The arrays are separate, since searches read words only.
  std::vector<std::uint64_t> words_;  ///< packed words, or words of the values
  std::vector<std::uint64_t> highs_;  ///< used by values of two words, otherwise empty
  std::vector<std::int64_t> rows_;
  std::vector<std::size_t> offsets_;
  bool is_packed_ = false;
  unsigned bits_ = 0;  ///< bits of the value in a packed word
  std::uint64_t least_ = 0, most_ = 0;
  unsigned top_shift_ = 0;
  std::vector<std::size_t> top_;  ///< by leading bits of a packed word: the first position not below them
};

}  // namespace espalier::engine
