// failing.hpp - which expressions may raise an error that depends on the values of a row.
//
// A condition guards those written after it: a plan may evaluate an expression for a row that an earlier condition
// excludes only if the expression cannot fail, or if the failure counts only where the row is needed
// (exec/fallible_column.hpp).
#pragma once

#include <vector>

#include "engine/expr/expr.hpp"

namespace espalier::engine {

/// Returns whether the expression has a value, or is NULL, for every row.
[[nodiscard]] bool cannot_fail(const expr_ptr& e);

/// Returns whether the aggregate has a value, or is NULL, for every group of rows.
[[nodiscard]] bool aggregate_cannot_fail(const aggregate_call& call);

/// Returns the condition with the value true for rows for which it fails. The result cannot fail.
[[nodiscard]] expr_ptr true_where_it_fails(const expr_ptr& condition);
[[nodiscard]] bool is_true_where_it_fails(const expr& e);

/// Returns whether the expression is NULL, without an error, for a row whose columns are all NULL, as those of the
/// missing side of an outer join are.
[[nodiscard]] bool is_null_without_row(const expr_ptr& e);

/// Returns the expression with NULL instead of "division by zero" where that makes the whole expression NULL. A row for
/// which it is not NULL has no divisor of zero in the original.
[[nodiscard]] expr_ptr null_where_a_divisor_is_zero(const expr_ptr& e);

/// Returns the conditions that cannot fail, then the others; both in the order in which they were written. Scans and
/// joins check their conditions in this order, with or without an index, so that they fail for the same rows.
[[nodiscard]] std::vector<expr_ptr> harmless_first(std::vector<expr_ptr> conditions);

}  // namespace espalier::engine
