// btree_query_suite.cpp - see btree_query_suite.hpp.
#include "bench/papers/btree_query_engine/btree_query_suite.hpp"

#include <array>

#include "bench/papers/btree_query_engine/pair_figures.hpp"

namespace espalier::bench {
namespace {

constexpr const char* pair_introduction =
    "# SQL over an indexed table: figures of the B-tree query engine's paper\n\nFigures 8 to 13 of the paper: range "
    "selection, COUNT and SUM by the number of keys in a range, identical and non-identical key-value pairs. A "
    "statement is measured from its text to an Arrow table; answers are checked. The paper's GPU is not this one, its "
    "table has 2^15 rows, and it searches for every key of a range.\n\n";

constexpr std::array figure_parts{
    query_part{"identical", [](query_setting& s) { return measure_pairs(s, pair_kind::identical); }},
    query_part{"non-identical", [](query_setting& s) { return measure_pairs(s, pair_kind::non_identical); }},
};

}  // namespace

void run_btree_query_suite(const suite_options& what, std::ostream& out) {
  run_query_parts(what, pair_introduction, figure_parts, out);
}

}  // namespace espalier::bench
