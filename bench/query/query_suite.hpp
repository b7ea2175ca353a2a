// query_suite.hpp - `espalier bench query`: SQL statements against DuckDB and Arrow, and the targets of the engine.
//
// Everything goes through statements. Each kind of index is compared with the same engine without one, and with DuckDB
// where a Python with its package is found.
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

/// Measures the chosen parts. Each is written into the folder when it has been measured, and the names of its files to
/// `out`; what is being measured is written to standard error.
void run_query_parts(const suite_options& what, const char* introduction, std::span<const query_part> parts,
                     std::ostream& out);

/// Its parts: ranges, joins, loads, batches, as-of, tpch.
void run_query_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
