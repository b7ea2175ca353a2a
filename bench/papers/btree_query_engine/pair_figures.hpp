// pair_figures.hpp - figures 8 to 13 of paper 001: range selection, COUNT and SUM by the number of keys in a range.
#pragma once

#include "bench/query/key_table.hpp"
#include "bench/query/query_setting.hpp"

namespace espalier::bench {

/// Measures figures 8 to 10 (identical pairs) or 11 to 13: each over query sizes of 2^0 to 2^20, for the paper's 2^15
/// rows and for the largest table, and over tables of 2^15 to 2^27 rows.
[[nodiscard]] suite_part measure_pairs(query_setting& setting, pair_kind kind);

}  // namespace espalier::bench
