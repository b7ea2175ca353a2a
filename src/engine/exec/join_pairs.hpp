// join_pairs.hpp - pairs of matching rows of two relations, and the result of each join type.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "engine/expr/evaluate.hpp"
#include "engine/keys/groups.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Row left[i] of one side matches row right[i] of the other. Pairs of one left row are adjacent, and left rows ascend.
struct join_pairs {
  std::vector<std::int64_t> left, right;
};

/// Returns the relation with the `wanted` columns only.
[[nodiscard]] relation only(const relation& from, const std::set<column_id>& wanted);

/// Removes the pairs for which a condition is not true.
void keep_pairs_that_pass(const std::vector<expr_ptr>& residual, const relation& left, const relation& right,
                          join_pairs& pairs, const evaluation& values);

/// Returns the result of the join with the columns of `outputs`. The `residual` conditions are checked, then unmatched
/// rows of the left side (and of the right side, for a full join) are added or dropped according to the type.
[[nodiscard]] relation finish_join(join_type type, const std::vector<output_column>& outputs,
                                   const std::vector<expr_ptr>& residual, const relation& left, const relation& right,
                                   join_pairs pairs, const evaluation& values);

/// The approximate number of pairs that a join produces at once, which is 64 MB of row numbers.
inline constexpr std::size_t pairs_at_once = std::size_t{1} << 22;

/// Produces pairs with equal keys block by block; NULLs match nothing. Both sides are matched on construction, which
/// takes memory per row, not per pair.
class equal_pairs {
 public:
  using keys = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

  /// `build_left` means that the hash table is built on the left side.
  equal_pairs(const keys& left, const keys& right, bool build_left);
  ~equal_pairs();
  equal_pairs(const equal_pairs&) = delete;
  equal_pairs& operator=(const equal_pairs&) = delete;

  /// Returns the total number of pairs.
  [[nodiscard]] std::size_t count() const;
  /// Produces the pairs of the next probe rows, about `pairs_at_once`. Returns false if there are no more.
  [[nodiscard]] bool next(join_pairs& block);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
