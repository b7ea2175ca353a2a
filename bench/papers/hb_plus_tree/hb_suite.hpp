// hb_suite.hpp - `espalier bench papers hb-plus-tree`: figures 7 to 18 and 20 of paper 003, an index in host memory
// that CPU and GPU walk together.
//
// Figures 7 to 9 and 20 are the paper's CPU-optimised tree, here the static tree. The others are our hybrid tree with
// the GPU of this machine; without one, threads of the CPU stand in for it, which shows that it works, not what a GPU
// brings.
#pragma once

#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

/// Its parts are the figures, "7" to "20". Each is written into the folder when it has been measured, and the names of
/// its files to `out`; what is being measured to standard error.
void run_hb_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
