// query_suite.hpp - `espalier bench --suite query-engine`: figures 8 to 13 of paper 001, SQL over a table with an
// index, and what the engine has to reach beside DuckDB and Arrow.
//
// Everything goes through statements. The paper has one GPU and 2^15 rows; here each kind of index stands beside the
// same engine without one, and beside DuckDB where a Python with its package is at hand.
#pragma once

#include <cstdint>
#include <ostream>

#include "bench/suite.hpp"

namespace espalier::bench {

inline constexpr std::uint64_t most_query_rows = std::uint64_t{1} << 27;

/// Its parts: identical, non-identical (figures 8 to 10 and 11 to 13), ranges, joins, loads, batches, as-of,
/// tpch. Each is written into the folder when it has been measured, and the names of its files to `out`; what is being measured to
/// standard error.
void run_query_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
