// hb_suite.hpp - `espalier bench papers hb-plus-tree`: figures 7 to 18 and 20 of paper 003, an index in host memory
// that CPU and GPU traverse together.
//
// Figures 7 to 9 and 20 are the paper's CPU-optimised tree, here the static tree. The others are our hybrid tree with
// the GPU of this machine. Without a GPU, CPU threads replace it, which shows that it works but not what a GPU gains.
#pragma once

#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

/// Its parts are the figures, "7" to "20". Each part is written to the folder when it has been measured. The names of
/// its files are printed to `out`, and progress to standard error.
void run_hb_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
