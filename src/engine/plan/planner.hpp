// planner.hpp - the optimizer: from a logical plan to access paths and join methods.
//
// The steps run in this order. Conditions are pushed down to the inputs that produce their columns (push_down.cpp),
// expressions that may fail move above a LIMIT (late_projection.cpp), and unused columns are removed (prune.cpp). Then,
// bottom-up, each scan gets its access path (access_path.cpp), each aggregate and sort is replaced by an index where
// one can answer it (index_aggregate_rule.cpp), three or more inputs of inner joins get their order (join_order.cpp)
// and each join gets its method (join_method.cpp). Choices are made by cost, in nanoseconds of a model. The number of
// rows in an index range is not estimated but counted by the index.
#pragma once

#include <vector>

#include "engine/plan/node.hpp"

namespace espalier::engine {

struct planner_options {
  bool use_indexes = true;
  bool prefer_indexes = false;                             ///< ignore costs and use indexes where possible
  std::vector<std::shared_ptr<arrow::Scalar>> parameters;  ///< values of $1, ... if known
};

/// Returns the optimized plan. Subqueries in expressions are optimized, too.
[[nodiscard]] plan_ptr optimized(plan_ptr plan, const planner_options& options);

// Steps of the optimizer.

/// Returns the plan filtered by `conditions`, with all filters pushed down as far as possible.
[[nodiscard]] plan_ptr push_down(plan_ptr plan, std::vector<expr_ptr> conditions);
/// Returns the plan with the expressions below a LIMIT that may fail above it (late_projection.cpp).
[[nodiscard]] plan_ptr with_late_projections(plan_ptr plan);
/// Removes outputs that are not in `needed`, recursively.
void prune(plan_node& plan, const std::set<column_id>& needed);
/// Sets the ranges, residual, estimate and cost of a scan.
void choose_access_path(scan_node& scan, const planner_options& options);
/// Returns the aggregation as an index query, or null if no index can answer it.
[[nodiscard]] plan_ptr aggregate_by_index(const aggregate_node& aggregate, const planner_options& options);
/// Makes the scan below a sort return rows in sort order. Returns the plan without the sort, or null if that is not
/// cheaper.
[[nodiscard]] plan_ptr order_by_index(const sort_node& sort, const planner_options& options);
/// Makes the scan below an aggregation or DISTINCT return its rows grouped, in index order, if that is cheaper.
void group_by_index(plan_node& node, const planner_options& options);
/// Sets `equal`, `residual`, `method` and the fields of the method.
void choose_join_method(join_node& join, const planner_options& options);
/// Chooses an index that finds the nearest row, if the right side is a plain scan.
void choose_as_of_index(as_of_node& join, const planner_options& options);
/// Chooses an index that answers the windows, if the right side is a plain scan.
void choose_window_index(window_join_node& join, const planner_options& options);

// Functions that several steps share.

/// Returns whether the index has all columns that the scan outputs or that conditions outside the range read, and
/// whether its keys hold their values exactly.
[[nodiscard]] bool is_covering(const scan_node& scan, const index_range& range, const row_options& asked);
/// Returns the cost of reading the scan's output columns of `rows` rows from the index.
[[nodiscard]] double key_cost(const scan_node& scan, double rows);
/// Returns the conditions that none of the ranges answers.
[[nodiscard]] std::vector<expr_ptr> unanswered(const scan_node& scan, const std::vector<index_range>& ranges);

/// Returns the range of the index that the scan's conditions describe, as far as possible, or nothing if there is no
/// condition on its first column.
[[nodiscard]] std::optional<index_range> range_of(const scan_node& scan,
                                                  const std::shared_ptr<const table_index>& index);
/// Returns the number of rows in the range. It is exact if the index has ranks or the range is short.
[[nodiscard]] double rows_in(const index_range& range, const planner_options& options);
/// Returns the scan's output id of a table column, if it is among the outputs.
[[nodiscard]] std::optional<column_id> output_of(const scan_node& scan, std::size_t table_column);
/// Returns the table column behind a plain column of the scan.
[[nodiscard]] std::optional<std::size_t> table_column_of(const scan_node& scan, const expr_ptr& e);
[[nodiscard]] double selectivity(const expr_ptr& condition);

namespace cost {
inline constexpr double scanned_value = 0.7;  // a value read in row order and tested
inline constexpr double gathered_value = 6;   // a value fetched by row id
inline constexpr double gathered_text = 40;   // a text fetched by row id
inline constexpr double found_row = 4;        // a row id out of an index, in key order
inline constexpr double found_key = 4;        // a numeric key read from an index, in key order
inline constexpr double found_text = 36;      // a text key read from an index
inline constexpr double counted_row = 8;      // a row added to one of few groups
inline constexpr double question = 4000;      // a call of an index
inline constexpr double index_probe = 120;    // one key of a batch of lookups
inline constexpr double hashed_row = 45;      // a row put into or looked up in a hash table
inline constexpr double sorted_row = 6;       // multiplied by the logarithm of the row count
inline constexpr double merged_row = 3;
}  // namespace cost

}  // namespace espalier::engine
