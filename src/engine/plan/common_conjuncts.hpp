// common_conjuncts.hpp - extracts the conjuncts that all branches of an OR have in common.
#pragma once

#include <set>
#include <vector>

#include "engine/expr/expr.hpp"

namespace espalier::engine {

/// Rewrites (a AND b) OR (a AND c) to a AND (b OR c) and appends the conjuncts to `into`. An equality of two tables
/// that is in every branch then becomes a join condition, and a test of one table can be pushed down to it. Only
/// comparisons of columns and constants are extracted: these cannot fail, so no condition is evaluated that another one
/// guarded. Other conditions are appended unchanged.
void add_factored(const expr_ptr& condition, std::vector<expr_ptr>& into);

/// Returns what an OR implies for the given columns: (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4) implies x = 1 OR x
/// = 3 for the rows of `a`. Returns null if a branch has no condition on them. Only tests that cannot fail are used, as
/// above.
[[nodiscard]] expr_ptr implied_by_or(const expr_ptr& condition, const std::set<column_id>& columns);

}  // namespace espalier::engine
