// window_join_rule.hpp - correlated aggregates over ranges of one value, and counts of the spans around a point.
#pragma once

#include <memory>
#include <vector>

#include "engine/sql/binder.hpp"

namespace espalier::engine {

/// Returns the window join that adds `calls`, aggregates over the rows of `right` that pass the correlated
/// `conditions`, to the rows of `left`; or null if the conditions are not equalities and bounds of one value, or if an
/// aggregate has no window form.
[[nodiscard]] std::shared_ptr<window_join_node> recognise_window_join(const plan_ptr& left, const plan_ptr& right,
                                                                      const std::vector<expr_ptr>& conditions,
                                                                      const std::vector<aggregate_call>& calls);

/// The same for counts of the rows of `right` with start <= point <= finish, where the point is a value of `left` and
/// both comparisons may be strict: the rows that start before the point, less those that finish before it. Returns null
/// if the conditions are others than these and equalities.
[[nodiscard]] plan_ptr recognise_span_counts(binder& binds, const plan_ptr& left, const plan_ptr& right,
                                             const std::vector<expr_ptr>& conditions,
                                             const std::vector<aggregate_call>& calls);

}  // namespace espalier::engine
