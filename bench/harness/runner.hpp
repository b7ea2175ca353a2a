// runner.hpp - runs `espalier bench`.
#pragma once

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// Returns the device of --device. Throws bad_arguments if there is no GPU.
[[nodiscard]] device choose_device(const options& what);

/// Throws bad_arguments if the device does not exist, wrong_answer if a result is wrong.
[[nodiscard]] report run_benchmarks(const options& what);

/// Returns a report without rows: machine, time and command.
[[nodiscard]] report begin_report(const options& what);

}  // namespace espalier::bench
