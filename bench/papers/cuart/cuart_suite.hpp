// cuart_suite.hpp - `espalier bench papers cuart`: figures 7 to 12 and 15 to 17 of paper 004, a radix tree on GPUs.
//
// The paper's machines (A100, RTX 3090, GTX 1070) are not available, so figures are measured on the GPU of this
// machine, or on its CPU. The paper's code is not available either: the peers are an adaptive radix tree of pointers
// and a packed one like GRT, both our own. Rates are end to end, from keys in host memory to results there, as in the
// paper; a GPU has a second curve for keys in its own memory.
#pragma once

#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

/// Its parts are the figures, "7" to "17". Each part is written to the folder when it has been measured. The names of
/// its files are printed to `out`, and progress to standard error.
void run_cuart_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
