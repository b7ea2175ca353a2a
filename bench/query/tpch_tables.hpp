// tpch_tables.hpp - generates the eight tables of TPC-H: keys, dates, prices and texts have the domains and the
// dependencies of the specification (revision 3, section 4.2), so that each of the 22 statements has a result.
//
// It is not dbgen: random numbers are our own (bench/data/random.hpp), comments are words drawn from one list, and the
// size is a number of rows of lineitem, not a scale factor. One million rows are a scale factor of about a sixth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/query/row_files.hpp"

namespace espalier::bench {

struct tpch_table {
  std::string name;
  std::uint64_t rows;
  row_source source;
};

/// Returns the tables, whose sizes are derived from that of lineitem. All are pure functions of (lineitem rows, seed).
[[nodiscard]] std::vector<tpch_table> tpch_tables(std::uint64_t lineitem_rows, std::uint64_t seed);

}  // namespace espalier::bench
