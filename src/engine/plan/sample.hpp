// sample.hpp - estimates from a sample of a table's rows.
//
// The engine stores no statistics. Without samples, a condition such as status = 'F' was assumed to select one row in a
// hundred, and a join column to have as many distinct values as its table has rows. A few hundred rows, evenly spread,
// are read in microseconds and estimate both well enough to order joins.
#pragma once

#include <optional>

#include "engine/plan/planner.hpp"

namespace espalier::engine {

/// Returns the share of the table's rows that satisfy all conditions of a scan. Returns nothing if they cannot be
/// evaluated during planning: subqueries, parameters without values, or a condition that fails for a row.
[[nodiscard]] std::optional<double> sampled_share(const scan_node& scan, const planner_options& options);

/// Estimates the number of distinct values of a column. The result is cached per table version.
[[nodiscard]] double sampled_value_count(const table_entry& table, std::size_t column);

/// Returns whether the values of a column ascend from row to row as far as a sample shows.
[[nodiscard]] bool appears_sorted(const table_entry& table, std::size_t column);

}  // namespace espalier::engine
