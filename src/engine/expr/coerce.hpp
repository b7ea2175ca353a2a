// coerce.hpp - implicit conversions: the common type of the operands of an operation, and the casts to it.
#pragma once

#include <optional>

#include "engine/expr/expr.hpp"

namespace espalier::engine {

/// Returns the type in which values of both types can be compared, if there is one.
[[nodiscard]] std::optional<column_type> common_type(const column_type& a, const column_type& b);

/// Returns the expression converted to `to`. Constants are converted immediately, parameters and NULL take the type,
/// and other expressions are wrapped in a cast.
[[nodiscard]] expr_ptr coerced(const expr_ptr& e, const column_type& to);

/// Converts both sides to one type for a comparison. A constant that fits the other side's type exactly is converted
/// instead of the other side, so that an index on a smallint can answer `column = 3`.
void coerce_to_compare(expr_ptr& left, expr_ptr& right, int position);

/// Binds +, -, *, / and %: converts the operands to the types that expr/arithmetic.cpp takes and derives the result
/// type.
[[nodiscard]] expr_ptr bound_arithmetic(op kind, expr_ptr left, expr_ptr right, int position);

/// Converts all values to one type, for CASE, COALESCE, VALUES and UNION. Throws if there is none.
[[nodiscard]] column_type unify(std::vector<expr_ptr>& values, int position);

/// Evaluates an expression without columns and parameters to a literal. Returns `e` itself if that is not possible now.
[[nodiscard]] expr_ptr folded(const expr_ptr& e);

}  // namespace espalier::engine
