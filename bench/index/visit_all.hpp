// visit_all.hpp - the checksum of element_checksum.hpp over all elements of any tree that has a reduce().
#pragma once

#include <cstdint>

#include "bench/harness/element_checksum.hpp"

namespace espalier::bench {

/// It is static, since nvcc and the host compiler generate different functions from it (static_tree/visit.hpp).
template <class Tree>
[[nodiscard]] static std::uint64_t visit_all(const Tree& tree) {
  return reduce(tree, std::uint64_t{0}, element_bits{}, add_bits{});
}

}  // namespace espalier::bench
