// query_suite.hpp - `espalier bench query`: SQL statements compared with DuckDB and Arrow, and the targets of the
// engine.
//
// Everything is measured through statements. Each kind of index is compared with the same engine without an index, and
// with DuckDB if a Python with its package is found.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

struct query_setting;

inline constexpr std::uint64_t most_query_rows = std::uint64_t{1} << 27;

/// One part of a suite that runs statements.
struct query_part {
  const char* name;
  suite_part (*measure)(query_setting&);
};

/// Measures the selected parts. Each part is written to the folder when it has been measured. The names of its files
/// are printed to `out`, and progress to standard error.
void run_query_parts(const suite_options& what, const char* introduction, std::span<const query_part> parts,
                     std::ostream& out);

/// Its parts are ranges, joins, loads, batches, as-of and tpch.
void run_query_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
