// visit.hpp - visits the expressions of plan nodes of any kind.
#pragma once

#include <functional>
#include <set>

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Visits every expression that the node itself evaluates; `visit` may replace it.
void for_each_expression(plan_node& node, const std::function<void(expr_ptr&)>& visit);
/// Visits every subquery in the expressions of the tree; a subquery precedes those nested in it.
void for_each_subquery(plan_node& node, const std::function<void(const plan_ptr&, const expr&)>& visit);
/// Visits every node of the plan, of its subqueries and of the queries that it shares, once each. A node precedes its
/// inputs, which `visit` may replace.
void for_each_node(plan_node& plan, const std::function<void(plan_node&)>& visit);
/// Returns whether an expression of the plan may fail because of the values of a row.
[[nodiscard]] bool may_fail(plan_node& plan);
[[nodiscard]] std::set<column_id> output_ids(const plan_node& plan);
/// Returns the columns that the plan uses and no node in it defines, which belong to an enclosing query.
[[nodiscard]] std::set<column_id> free_columns(const plan_node& plan);
/// Adds the columns of the expression itself and the free columns of its subqueries.
void collect_columns_and_outer(const expr_ptr& e, std::set<column_id>& into);
/// Returns whether `have` has all of these columns.
[[nodiscard]] bool contains_all(const std::set<column_id>& have, const expr_ptr& e);

}  // namespace espalier::engine
