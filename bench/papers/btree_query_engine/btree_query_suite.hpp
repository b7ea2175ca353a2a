// btree_query_suite.hpp - `espalier bench papers btree-query-engine`: figures 8 to 13 of paper 001, SQL over a table
// with an index.
//
// The paper has one GPU and 2^15 rows; here each kind of index is compared with the same engine without one, and
// with DuckDB where a Python with its package is found.
#pragma once

#include <ostream>

#include "bench/query/query_suite.hpp"

namespace espalier::bench {

/// Its parts: identical (figures 8 to 10) and non-identical (11 to 13) pairs of keys and values.
void run_btree_query_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
