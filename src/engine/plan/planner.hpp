// planner.hpp - from what a statement says to how it is answered.
//
// In this order: conditions move down to where their columns come from (push_down.cpp), columns that nobody reads are
// left out (prune.cpp), then bottom-up each scan gets its access path (access_path.cpp), each aggregate and sort is
// given to an index where one can answer it (index_answers.cpp), three or more inputs of inner joins get their order
// (join_order.cpp), each join gets its method (join_method.cpp). Choices
// are by cost, in nanoseconds of a model; how many rows a range of an index has is not estimated but counted, by the
// index.
#pragma once

#include <vector>

#include "engine/plan/node.hpp"

namespace espalier::engine {

struct planner_options {
  bool use_indexes = true;
  bool prefer_indexes = false;                             ///< whatever they cost
  std::vector<std::shared_ptr<arrow::Scalar>> parameters;  ///< values of $1, ... if they are known
};

/// Plans of subqueries inside expressions are planned, too.
[[nodiscard]] plan_ptr optimized(plan_ptr plan, const planner_options& options);

// The steps.

/// The plan with `conditions` on its rows and all filters as far down as they go.
[[nodiscard]] plan_ptr push_down(plan_ptr plan, std::vector<expr_ptr> conditions);
/// Outputs that `needed` does not name are dropped, all the way down.
void prune(plan_node& plan, const std::set<column_id>& needed);
/// Fills ranges, residual, estimate and cost of a scan.
void choose_access_path(scan_node& scan, const planner_options& options);
/// The aggregation as a question to an index, or null.
[[nodiscard]] plan_ptr aggregate_by_index(const aggregate_node& aggregate, const planner_options& options);
/// Makes the scan below a sort deliver its order; the plan without the sort, or null if that does not pay.
[[nodiscard]] plan_ptr order_by_index(const sort_node& sort, const planner_options& options);
/// Makes the scan below an aggregation or DISTINCT deliver its rows group by group out of an index, where that pays.
void group_by_index(plan_node& node, const planner_options& options);
/// Fills equal, residual, method and what belongs to it.
void choose_join_method(join_node& join, const planner_options& options);
/// An index that answers the nearest row, where the right side is a plain scan.
void choose_as_of_index(as_of_node& join, const planner_options& options);

// What they share.

/// Are all columns that the scan hands on, or that conditions beyond the range read, in the index, and are they as
/// exact there as in the rows?
[[nodiscard]] bool is_covering(const scan_node& scan, const index_range& range, const row_options& asked);
/// What the columns that the scan hands on cost for that many rows, out of the index.
[[nodiscard]] double key_cost(const scan_node& scan, double rows);
/// The conditions that none of the ranges answers.
[[nodiscard]] std::vector<expr_ptr> unanswered(const scan_node& scan, const std::vector<index_range>& ranges);

/// The range of the index that the scan's conditions describe, as much of them as it can; none if they say nothing of
/// its first column.
[[nodiscard]] std::optional<index_range> range_of(const scan_node& scan,
                                                  const std::shared_ptr<const table_index>& index);
/// How many rows the range has: exact where the index has ranks, or few rows are found.
[[nodiscard]] double rows_in(const index_range& range, const planner_options& options);
/// The scan's output id of a column of its table, if it is among the outputs.
[[nodiscard]] std::optional<column_id> output_of(const scan_node& scan, std::size_t table_column);
/// The column of the table behind a plain column of the scan.
[[nodiscard]] std::optional<std::size_t> table_column_of(const scan_node& scan, const expr_ptr& e);
[[nodiscard]] double selectivity(const expr_ptr& condition);

namespace cost {
inline constexpr double scanned_value = 0.7;  // a value read in row order and tested
inline constexpr double gathered_value = 6;   // a value fetched by row id
inline constexpr double gathered_text = 40;   // a text fetched by row id
inline constexpr double found_row = 4;        // a row id out of an index, in key order
inline constexpr double found_key = 4;        // a number of a key out of an index, in key order
inline constexpr double found_text = 36;      // a text of a key
inline constexpr double counted_row = 8;      // a row added to one of few groups
inline constexpr double question = 4000;      // a call of an index
inline constexpr double index_probe = 120;    // one key of a batch of lookups
inline constexpr double hashed_row = 45;      // a row put into or looked up in a hash table
inline constexpr double sorted_row = 6;       // times the logarithm of how many
inline constexpr double merged_row = 3;
}  // namespace cost

}  // namespace espalier::engine
