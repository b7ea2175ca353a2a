// demo_sql.hpp - the SQL part of `espalier demo`.
#pragma once

#include <ostream>

namespace espalier::cli {

/// Loads a table of orders, indexes it, runs range, count, sum, join and as-of queries, compares every result with
/// plain loops over the same rows, and prints a table.
void run_sql_demo(std::ostream& out);

}  // namespace espalier::cli
