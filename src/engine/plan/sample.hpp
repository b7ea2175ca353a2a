// sample.hpp - what the planner learns of a table by looking at some of its rows.
//
// Without statistics that are kept, a condition such as status = 'F' was taken to let one row in a hundred through, and a
// join column to have as many values as its table has rows. Some hundred rows, evenly spread, are read in microseconds
// and tell both well enough to order joins by.
#pragma once

#include <optional>

#include "engine/plan/planner.hpp"

namespace espalier::engine {

/// The share of the table's rows that pass all conditions of a scan. None where they cannot be evaluated while the plan
/// is made: subqueries, parameters without values, a condition that fails for a row.
[[nodiscard]] std::optional<double> sampled_share(const scan_node& scan, const planner_options& options);

/// About how many different values a column of the table has. Remembered for each version of a table.
[[nodiscard]] double sampled_value_count(const table_entry& table, std::size_t column);

}  // namespace espalier::engine
