// join_order.hpp - in which order three or more inputs of inner joins meet.
#pragma once

#include <functional>

#include "engine/plan/planner.hpp"

namespace espalier::engine {

/// Is it the top of at least two inner joins in a row?
[[nodiscard]] bool has_join_order(const plan_node& node);
/// The joins in the order that makes the fewest rows on the way, as one input after the other joins what is there, with
/// methods chosen. `chosen` plans an input. The order as written stays where none is better.
[[nodiscard]] plan_ptr ordered_joins(const join_node& top, const std::function<plan_ptr(plan_ptr)>& chosen,
                                     const planner_options& options);

/// Rows that an inner join of two inputs has, by the conditions between them.
[[nodiscard]] double rows_of_inner_join(const plan_node& left, const plan_node& right,
                                        const std::vector<expr_ptr>& conditions);
/// The share of the left side's rows that a semi join keeps, by its equalities; a half where nothing is known.
[[nodiscard]] double matched_share(const plan_node& left, const plan_node& right,
                                   const std::vector<expr_ptr>& conditions);

}  // namespace espalier::engine
