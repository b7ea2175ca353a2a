// pairs.hpp - rows of two relations that meet, and what each kind of join makes of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/evaluate.hpp"
#include "engine/exec/groups.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Row left[i] of one side meets row right[i] of the other; pairs of one left row are together, left rows ascend.
struct row_pairs {
  std::vector<std::int64_t> left, right;
};

/// The answer of the join: `residual` conditions are checked, then rows of the left side (and of the right one, for
/// full joins) that met nobody are added or dropped as the type says.
[[nodiscard]] relation finish_join(join_type type, const std::vector<bound_ptr>& residual, const relation& left,
                                   const relation& right, row_pairs pairs, const evaluation& values);

/// Pairs whose keys are equal; NULLs meet nobody. `build_left`: the table is made of the left side's keys.
[[nodiscard]] row_pairs equal_pairs(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& left,
                                    const std::vector<std::shared_ptr<arrow::ChunkedArray>>& right, bool build_left);

/// Rows of one side, each group of equal keys in order of a value: what as-of and band joins without an index search.
class ordered_groups {
 public:
  /// `keys` may be empty: then all rows are one group. Rows with a NULL are left out.
  ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                 const std::shared_ptr<arrow::ChunkedArray>& values);

  /// The group of each row of the other side's keys, or no_group.
  [[nodiscard]] std::vector<std::uint32_t> groups_of(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                                                     std::size_t rows) const;
  /// The first place in the group whose value is not below `value` (`above`: is above it).
  [[nodiscard]] std::size_t first_place(std::uint32_t group, std::uint64_t high, std::uint64_t word, bool above) const;
  /// The same for many values of one word, where there is one group only: 16 searches at a time hide each other's
  /// misses.
  [[nodiscard]] bool has_many_places() const { return !table_ && highs_.empty(); }
  void first_places(std::span<const std::uint64_t> words, bool above, std::span<std::size_t> places) const;
  [[nodiscard]] std::size_t group_begin(std::uint32_t group) const { return offsets_[group]; }
  [[nodiscard]] std::size_t group_end(std::uint32_t group) const { return offsets_[group + 1]; }
  [[nodiscard]] std::int64_t row_at(std::size_t place) const { return rows_[place]; }

 private:
  void sort_words(const code_column& codes);
  void sort_all(const code_column& codes);

  std::unique_ptr<key_table> table_;  ///< null: one group
  // By group, value and row. Apart from each other: searches read words only.
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> highs_;  ///< of values with two words, else empty
  std::vector<std::int64_t> rows_;
  std::vector<std::size_t> offsets_;
};

}  // namespace espalier::engine
