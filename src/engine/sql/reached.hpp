// reached.hpp - the conditions under which an expression evaluates a subquery in it.
//
// CASE, COALESCE, AND and OR evaluate a part for the rows only that the parts before it leave open. A subquery that
// names outer columns is computed by a join with all outer rows, so a join of a subquery that may fail gets these
// conditions, too.
#pragma once

#include <set>
#include <vector>

#include "engine/expr/expr.hpp"

namespace espalier::engine {

/// Conditions that are all true, and never NULL, for a row that reaches an expression.
using reached_where = std::vector<expr_ptr>;

/// Calls visit(i, where) for each argument of the expression in order, with the conditions under which it is evaluated.
/// `visit` returns the argument that the conditions of later ones are made of.
template <class Visit>
void for_each_argument(const expr& e, reached_where where, const Visit& visit) {
  constexpr column_type truth{type_id::boolean};
  const auto test = [&](op kind, const expr_ptr& value) { return make_call(kind, truth, {value}, value->position); };
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const bool is_condition = e.kind == op::case_when && i % 2 == 0 && i + 1 < e.args.size();
    const auto value = visit(i, where);
    if (is_condition) {
      auto taken = where;
      taken.push_back(test(op::is_true, value));
      (void)visit(++i, taken);
      where.push_back(test(op::is_not_true, value));
    }
    if (e.kind == op::logical_and) where.push_back(test(op::is_not_false, value));
    if (e.kind == op::logical_or) where.push_back(test(op::is_not_true, value));
    if (e.kind == op::coalesce) where.push_back(test(op::is_null, value));
  }
}

/// Returns CASE WHEN condition THEN value END.
[[nodiscard]] expr_ptr when(const expr_ptr& condition, const expr_ptr& value);

/// Returns the comparison such that it is NULL, and evaluates the side with outer columns only, where the condition is
/// not true. Returns null for other expressions.
[[nodiscard]] expr_ptr compared_where(const expr_ptr& condition, const expr_ptr& comparison,
                                      const std::set<column_id>& outer);

}  // namespace espalier::engine
