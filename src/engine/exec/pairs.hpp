// pairs.hpp - rows of two relations that meet, and what each kind of join makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/evaluate.hpp"
#include "engine/exec/groups.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Row left[i] of one side meets row right[i] of the other; pairs of one left row are together, left rows ascend.
struct row_pairs {
  std::vector<std::int64_t> left, right;
};

/// Keeps the pairs for which all conditions hold.
void keep_pairs_that_pass(const std::vector<bound_ptr>& residual, const relation& left, const relation& right,
                          row_pairs& pairs, const evaluation& values);

/// The answer of the join: `residual` conditions are checked, then rows of the left side (and of the right one, for
/// full joins) that met nobody are added or dropped as the type says. It has the columns of `outputs`.
[[nodiscard]] relation finish_join(join_type type, const std::vector<output_column>& outputs,
                                   const std::vector<bound_ptr>& residual, const relation& left, const relation& right,
                                   row_pairs pairs, const evaluation& values);

/// Pairs whose keys are equal; NULLs meet nobody. `build_left`: the table is made of the left side's keys.
[[nodiscard]] row_pairs equal_pairs(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& left,
                                    const std::vector<std::shared_ptr<arrow::ChunkedArray>>& right, bool build_left);

}  // namespace espalier::engine
