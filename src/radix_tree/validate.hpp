// validate.hpp - checks every invariant of a radix tree on the host, on a copy of its memory.
#pragma once

#include "espalier/radix_tree/options.hpp"
#include "espalier/radix_tree/view.hpp"

namespace espalier::detail {

/// Numbers of nodes and leaves: each must be reached once, or be dead.
struct radix_counts {
  std::size_t nodes[4], leaves[leaf_classes], dead_nodes[4], dead_leaves[leaf_classes];
};

/// `tree` refers to host memory.
template <unsigned V>
[[nodiscard]] validation validate_radix(const radix_view<V>& tree, const radix_counts& counts);

}  // namespace espalier::detail
