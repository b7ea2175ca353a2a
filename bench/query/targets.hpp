// targets.hpp - measures the targets of the query engine; each function is a part of the suite.
#pragma once

#include "bench/query/query_setting.hpp"

namespace espalier::bench {

/// COUNT and SUM over a tenth of 2^24 rows, and 1,000 rows by range, compared with DuckDB's scans.
[[nodiscard]] suite_part measure_ranges(query_setting& setting);
/// As-of joins of 2^20 x 2^20 rows and a band join of 2^20 x 2^16, with and without an index, compared with DuckDB.
[[nodiscard]] suite_part measure_joins(query_setting& setting);
/// A CSV file, one with quotes, and a Parquet file, compared with Arrow's own readers.
[[nodiscard]] suite_part measure_loads(query_setting& setting);
/// 2^16 range sums over 2^27 rows as one batch of a prepared statement, on each device.
[[nodiscard]] suite_part measure_batches(query_setting& setting);
/// An as-of join of 2^26 x 2^26 rows on each device: the statement, and its index query alone.
[[nodiscard]] suite_part measure_large_as_of(query_setting& setting);
/// The 22 statements of TPC-H over 10^6 rows of lineitem without an index, alternating with DuckDB.
[[nodiscard]] suite_part measure_tpch(query_setting& setting);

}  // namespace espalier::bench
