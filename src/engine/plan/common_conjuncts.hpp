// common_conjuncts.hpp - conditions that every branch of an OR repeats.
#pragma once

#include <set>
#include <vector>

#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// (a AND b) OR (a AND c) as a AND (b OR c): an equality of two tables that stands in every branch can then be joined
/// by, and a test of one table moves down to it. Only comparisons of columns and constants are taken out, which cannot
/// fail, so that none is evaluated where another guarded it. Conditions that are no such OR are added as they are.
void add_factored(const expr_ptr& condition, std::vector<expr_ptr>& into);

/// What an OR says of some columns alone: (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4) lets through only rows of `a`
/// with x = 1 OR x = 3. Null where a branch says nothing of them. Only tests that cannot fail, as above.
[[nodiscard]] expr_ptr implied_by_or(const expr_ptr& condition, const std::set<column_id>& columns);

}  // namespace espalier::engine
