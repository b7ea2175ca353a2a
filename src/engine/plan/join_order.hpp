// join_order.hpp - chooses the order of three or more inputs of inner joins.
#pragma once

#include <functional>

#include "engine/plan/planner.hpp"

namespace espalier::engine {

/// Returns whether the node is the top of at least two consecutive inner joins.
[[nodiscard]] bool has_join_order(const plan_node& node);
/// Returns the left-deep join order with the fewest intermediate rows, with join methods chosen. `chosen` plans an
/// input. The order of the statement is kept if none is better.
[[nodiscard]] plan_ptr ordered_joins(const join_node& top, const std::function<plan_ptr(plan_ptr)>& chosen,
                                     const planner_options& options);

/// Estimates the number of rows of an inner join by the conditions between its inputs.
[[nodiscard]] double rows_of_inner_join(const plan_node& left, const plan_node& right,
                                        const std::vector<expr_ptr>& conditions);
/// Estimates the share of the left side's rows that a semi join keeps, by its equalities; one half if nothing is known.
[[nodiscard]] double matched_share(const plan_node& left, const plan_node& right,
                                   const std::vector<expr_ptr>& conditions);

}  // namespace espalier::engine
