// ordered_groups.hpp - rows of one side of a join, each group of equal keys in order of a value: what as-of and band
// joins without an index search.
//
// Where group and value fit into one word of 64 bits they are packed into one, the group above the value's distance
// from the least one: then rows are ordered by a radix sort, and searches begin where a table of the leading bits says.
// All else, which is decimals and values far apart in many groups, is sorted and searched by comparisons.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/exec/groups.hpp"
#include "engine/exec/normalized_keys.hpp"

namespace espalier::engine {

class ordered_groups {
 public:
  /// `keys` may be empty: then all rows are one group. Rows with a NULL are left out.
  ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                 const std::shared_ptr<arrow::ChunkedArray>& values);
  /// The same with codes of the values, where those of the other side have to be comparable with them.
  ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys, const sort_key_column& codes);

  /// The group of each row of the other side's keys, or no_group.
  [[nodiscard]] std::vector<std::uint32_t> groups_of(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                                                     std::size_t rows) const;
  /// For rows from `first` on of the other side: the first place in the row's group whose value is not below the row's
  /// (`above`: is above it). Of rows in no group and of NULLs it says nothing.
  void first_places(std::span<const std::uint32_t> groups, const sort_key_column& codes, std::size_t first, bool above,
                    std::span<std::size_t> places) const;

  [[nodiscard]] std::size_t group_begin(std::uint32_t group) const { return offsets_[group]; }
  [[nodiscard]] std::size_t group_end(std::uint32_t group) const { return offsets_[group + 1]; }
  [[nodiscard]] std::int64_t row_at(std::size_t place) const { return rows_[place]; }

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

  std::unique_ptr<key_table> table_;  ///< null: one group
  // By group, value and row. Apart from each other: searches read words only.
  std::vector<std::uint64_t> words_;  ///< packed, or the value's
  std::vector<std::uint64_t> highs_;  ///< of values with two words, else empty
  std::vector<std::int64_t> rows_;
  std::vector<std::size_t> offsets_;
  bool is_packed_ = false;
  unsigned bits_ = 0;  ///< of a value in a packed word
  std::uint64_t least_ = 0, most_ = 0;
  unsigned top_shift_ = 0;
  std::vector<std::size_t> top_;  ///< by the leading bits of a packed word: the first place that has them, or more
};

}  // namespace espalier::engine
