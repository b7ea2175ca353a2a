// btree_query_suite.hpp - `espalier bench papers btree-query-engine`: figures 8 to 13 of paper 001, SQL over a table
// with an index.
//
// The paper uses one GPU and 2^15 rows. Here each kind of index is compared with the same engine without an index, and
// with DuckDB if a Python with its package is found.
#pragma once

#include <ostream>

#include "bench/query/query_suite.hpp"

namespace espalier::bench {

/// Its parts are identical (figures 8 to 10) and non-identical (11 to 13) pairs of keys and values.
void run_btree_query_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
