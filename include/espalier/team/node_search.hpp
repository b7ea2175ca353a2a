// node_search.hpp - policy types that select how a CPU team ranks a key in a sorted node.
//
// These are the two SIMD searches of the HB+-tree paper. Both are branch-free.
#pragma once

namespace espalier {

/// Compares every slot: N / lanes independent vector compares and one sum.
struct linear_search {};

/// Compares the boundary slots to choose a part, then only the slots of that part: fewer compares, but the second step
/// depends on the first.
struct hierarchical_search {};

}  // namespace espalier
