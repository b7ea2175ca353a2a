// sql_timing.hpp - the time of one statement of our engine; peer/duckdb_peer.py applies the same rules to DuckDB.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bench/harness/timing.hpp"

namespace espalier::bench {

/// A run has enough statements for the clock, but at most this many.
inline constexpr double shortest_statement_run = 0.005;
inline constexpr double most_statements = 1000;

/// `ask(i)` runs the i-th of `different` statements, the first of which took `first` seconds when it was warm.
template <class Ask>
[[nodiscard]] double statement_seconds(std::size_t different, double first, unsigned repeat, const Ask& ask) {
  const auto count =
      static_cast<std::size_t>(std::clamp(shortest_statement_run / std::max(first, 1e-9), 1.0, most_statements));
  return median_of_runs(repeat, [&] {
    const stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) ask(i % different);
    return watch.seconds() / static_cast<double>(count);
  });
}

}  // namespace espalier::bench
