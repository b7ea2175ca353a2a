// join_pairs.hpp - rows of two relations that meet, and what each kind of join makes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "engine/exec/evaluate.hpp"
#include "engine/exec/groups.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Row left[i] of one side meets row right[i] of the other; pairs of one left row are together, left rows ascend.
struct join_pairs {
  std::vector<std::int64_t> left, right;
};

/// The columns that are wanted.
[[nodiscard]] relation only(const relation& from, const std::set<column_id>& wanted);

/// Keeps the pairs for which all conditions hold.
void keep_pairs_that_pass(const std::vector<expr_ptr>& residual, const relation& left, const relation& right,
                          join_pairs& pairs, const evaluation& values);

/// The answer of the join: `residual` conditions are checked, then rows of the left side (and of the right one, for
/// full joins) that met nobody are added or dropped as the type says. It has the columns of `outputs`.
[[nodiscard]] relation finish_join(join_type type, const std::vector<output_column>& outputs,
                                   const std::vector<expr_ptr>& residual, const relation& left, const relation& right,
                                   join_pairs pairs, const evaluation& values);

/// About how many pairs a join makes at once: 64 MB of row numbers.
inline constexpr std::size_t pairs_at_once = std::size_t{1} << 22;

/// Pairs whose keys are equal, made block by block; NULLs match nothing. Both sides are matched when it is made; that
/// takes memory for each row, not for each pair.
class equal_pairs {
 public:
  using keys = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

  /// `build_left`: the table is made of the left side's keys.
  equal_pairs(const keys& left, const keys& right, bool build_left);
  ~equal_pairs();
  equal_pairs(const equal_pairs&) = delete;
  equal_pairs& operator=(const equal_pairs&) = delete;

  /// How many there are in all.
  [[nodiscard]] std::size_t count() const;
  /// The pairs of the next rows of the probed side, about `pairs_at_once`; false: there are no more.
  [[nodiscard]] bool next(join_pairs& block);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
