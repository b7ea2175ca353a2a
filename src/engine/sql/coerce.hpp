// coerce.hpp - which types meet in an operation, and the casts that bring them there.
#pragma once

#include <optional>

#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// The type in which values of both can be compared; nothing if there is none.
[[nodiscard]] std::optional<column_type> common_type(const column_type& a, const column_type& b);

/// The expression with that type: constants are converted at once, parameters and NULL take it, others get a cast.
[[nodiscard]] expr_ptr coerced(const expr_ptr& e, const column_type& to);

/// Both with one type, to be compared. A constant that fits the other side's type exactly is converted rather than the
/// other side, so that an index over a smallint answers `column = 3`.
void coerce_to_compare(expr_ptr& left, expr_ptr& right, int position);

/// +, -, *, /, %: operands in the types that exec/arithmetic.cpp takes, and the type of the result.
[[nodiscard]] expr_ptr bound_arithmetic(op kind, expr_ptr left, expr_ptr right, int position);

/// All with one type (CASE, COALESCE, VALUES, UNION); throws where there is none.
[[nodiscard]] column_type unify(std::vector<expr_ptr>& values, int position);

/// The value of an expression without columns and parameters, as a literal; itself where it cannot be computed now.
[[nodiscard]] expr_ptr folded(const expr_ptr& e);

}  // namespace espalier::engine
