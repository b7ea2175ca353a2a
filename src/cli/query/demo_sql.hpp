// demo_sql.hpp - the part of `espalier demo` that asks SQL.
#pragma once

#include <ostream>

namespace espalier::cli {

/// Loads a table of orders, indexes it, asks range, count, sum, join and as-of questions, compares every answer with
/// plain loops over the same rows, and prints a table.
void run_sql_demo(std::ostream& out);

}  // namespace espalier::cli
