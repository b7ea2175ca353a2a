// btree_suite.hpp - `espalier bench papers btree-on-gpu`: the measurements of paper 000 (B-trees on GPUs) and its mesh.
//
// Search and insertion of n keys compared with std::map, n = 2^10 to 2^25, 32-bit keys and values: shuffled (tables 5.2
// and 5.4), ascending (table 5.3, figure 5.4) and gaussian (figures 5.2 and 5.3); then the edges of a triangle mesh as
// 64-bit keys, for which the paper has the task but no figures. A search requests the keys in the order of the data; an
// insertion fills an empty tree key by key.
#pragma once

#include <cstdint>
#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

inline constexpr std::uint64_t most_btree_keys = std::uint64_t{1} << 25;  ///< as in the paper

/// Its parts are the data sets: shuffled, ascending, gaussian, mesh. Each part is written to the folder when it has
/// been measured. The names of its files are printed to `out`, and progress to standard error.
void run_btree_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
