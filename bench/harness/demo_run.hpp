// demo_run.hpp - the implementation of `espalier demo`.
#pragma once

#include <cstdint>
#include <ostream>

namespace espalier::bench {

/// Builds an index of `keys` pairs on the best device, runs queries on it and its peers, and prints a table.
void run_demo(std::uint64_t keys, std::ostream& out);

}  // namespace espalier::bench
