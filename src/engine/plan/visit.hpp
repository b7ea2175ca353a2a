// visit.hpp - the expressions of a plan's nodes, whatever kind they are.
#pragma once

#include <functional>
#include <set>

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Every expression that the node itself evaluates, to be read or replaced.
void for_each_expression(plan_node& node, const std::function<void(expr_ptr&)>& visit);
/// Every subquery that an expression of the tree holds, innermost ones after those around them.
void for_each_subquery(plan_node& node, const std::function<void(const plan_ptr&, const expr&)>& visit);
[[nodiscard]] std::set<column_id> output_ids(const plan_node& plan);
/// Columns that the plan uses and nobody in it makes: those of a query around it.
[[nodiscard]] std::set<column_id> free_columns(const plan_node& plan);
[[nodiscard]] bool contains_all(const std::set<column_id>& have, const expr_ptr& e);

}  // namespace espalier::engine
