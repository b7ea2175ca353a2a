// large_pages_suite.hpp - `espalier bench papers large-pages`: figures 2 to 4 of paper 002, a B+tree on a GPU with
// large pages (K. Kaczmarek, "Experimental B+-tree for GPU").
//
// The paper's terms map to ours as follows:
// - page: a node of the B-link tree. The paper's pages have 2048 to 16384 elements; our nodes have the widths that the
//   library is compiled for: 8, the default, 32, 128 and 4096. Only 4096 is in the paper's range.
// - creation: insertion of all elements, in random order, into an empty tree, each element by its own descent. The bulk
//   build is a second curve, which the paper does not have.
// - insertion: one element at a time in the paper; ours takes batches. The figure has batches of 100 and of 2^16
//   elements, each element by its own descent; times are per element.
// - search: the average of 100 random searches in the paper; one batch of 100 here, and one of 2^20. Half of the keys
//   are in the collection.
// - visit: transform() with a scalar operation on each value, with results in an array.
// - Thrust: a flat sorted array: thrust::lower_bound and thrust::transform on a GPU, std::lower_bound in all threads
//   and tbb::parallel_for on a CPU.
// - STX B+tree: absl::btree_map on the CPU; insertions and visits in one thread, searches in all.
// The threads per block of figure 2 have no counterpart: the width of a node determines how many lanes read it.
#pragma once

#include <cstdint>
#include <ostream>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

inline constexpr std::uint64_t most_large_page_keys = 30'000'000;  ///< as in the paper's searches

/// Its parts are the figures 2, 3 and 4. Each part is written to the folder when it has been measured. The names of its
/// files are printed to `out`, and progress to standard error.
void run_large_pages_suite(const suite_options& what, std::ostream& out);

}  // namespace espalier::bench
