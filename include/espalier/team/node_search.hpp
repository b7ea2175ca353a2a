// node_search.hpp - how a CPU team ranks a key in a sorted node. Policies, chosen by type.
//
// The two SIMD searches of the HB+-tree paper. Both are free of branches.
#pragma once

namespace espalier {

/// Compares every slot: N / lanes independent vector compares and one sum.
struct linear_search {};

/// Compares the boundary slots to choose a part, then the slots of that part alone: fewer compares, which
/// depend on each other.
struct hierarchical_search {};

}  // namespace espalier
