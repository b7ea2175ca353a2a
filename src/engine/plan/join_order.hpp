// join_order.hpp - chooses the order of three or more inputs of inner joins.
//
// The joins are executed in the order of the least estimated cost, so which conditions are checked for which rows
// depends on estimates. A failure of a condition counts for the rows of all inputs together that no other condition
// excludes, which does not: as long as no condition fails, the order makes no difference. If one fails, the executor
// has the joins planned again: the condition then lets the rows pass for which it fails, and is checked once more
// behind all other conditions.
#pragma once

#include <functional>
#include <set>

#include "engine/plan/planner.hpp"

namespace espalier::engine {

/// What consecutive inner joins are planned from.
struct inner_joins {
  std::vector<plan_ptr> inputs;  ///< planned
  std::vector<expr_ptr> conditions;
  std::vector<output_column> outputs;
  planner_options options;
  std::set<std::size_t> tolerated;  ///< conditions whose failures are found behind all other conditions
};

/// Returns whether the node is the top of at least two consecutive inner joins.
[[nodiscard]] bool has_join_order(const plan_node& node);
/// Returns the left-deep join order with the fewest intermediate rows, with join methods chosen. `chosen` plans an
/// input. The order of the statement is kept if none is better.
[[nodiscard]] plan_ptr ordered_joins(const join_node& top, const std::function<plan_ptr(plan_ptr)>& chosen,
                                     const planner_options& options);

/// Plans those inner joins of the plan again that have a condition with an expression at this position of the statement
/// (any condition that may fail, if the position is negative), such that its failures count only for rows that no other
/// condition excludes. Returns false if there are none, or if their failures were found that way.
[[nodiscard]] bool tolerate_failures(plan_node& plan, int position);

/// Estimates the number of rows of an inner join by the conditions between its inputs.
[[nodiscard]] double rows_of_inner_join(const plan_node& left, const plan_node& right,
                                        const std::vector<expr_ptr>& conditions);
/// Estimates the share of the left side's rows that a semi join keeps, by its equalities; one half if nothing is known.
[[nodiscard]] double matched_share(const plan_node& left, const plan_node& right,
                                   const std::vector<expr_ptr>& conditions);

}  // namespace espalier::engine
