// window_join_rule.hpp - correlated aggregates over ranges of one value, and over the spans around a point or
// overlapping a span.
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

/// The same for counts, sums and averages of the rows of `right` with start <= end and finish >= beginning, where the
/// span from the beginning to the end, or the point that both are, is of `left`. Sums are of integers and of numerics
/// of up to 28 digits, whose sums never overflow; minima, maxima and sums of floats are left to pairs.
[[nodiscard]] std::shared_ptr<window_join_node> recognise_span_aggregates(const plan_ptr& left, const plan_ptr& right,
                                                                          const std::vector<expr_ptr>& conditions,
                                                                          const std::vector<aggregate_call>& calls);

}  // namespace espalier::engine
