// demo_run.hpp - the work behind `espalier demo`.
#pragma once

#include <cstdint>
#include <ostream>

namespace espalier::bench {

/// Builds an index of `keys` pairs on the best device, asks it and its peers, prints a table.
void run_demo(std::uint64_t keys, std::ostream& out);

}  // namespace espalier::bench
