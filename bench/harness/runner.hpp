// runner.hpp - runs what `espalier bench` was asked for.
#pragma once

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// Where --device leads. Throws bad_arguments if there is no GPU.
[[nodiscard]] device choose_device(const options& what);

/// Throws bad_arguments if the device is not there, wrong_answer if an answer is wrong.
[[nodiscard]] report run_benchmarks(const options& what);

/// Without rows: where, when and by which command.
[[nodiscard]] report begin_report(const options& what);

}  // namespace espalier::bench
