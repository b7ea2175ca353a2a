// cuart_suite.hpp - `espalier bench papers cuart`: figures 7 to 12 and 15 to 17 of paper 004, a radix tree on GPUs.
//
// The paper's machines (A100, RTX 3090, GTX 1070) are not at hand: figures are measured on the GPU of this machine, or
// on its CPU. Neither is the paper's code: beside our tree stand an adaptive radix tree of pointers and a packed one
// like GRT, both ours. Rates are end to end, from keys in host memory to answers there, as the paper's are; a GPU has a
// second curve for keys in its own memory.
#pragma once

#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

/// Its parts are the figures, "7" to "17". Each is written into the folder when it has been measured, and the names of
/// its files to `out`; what is being measured to standard error.
void run_cuart_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
