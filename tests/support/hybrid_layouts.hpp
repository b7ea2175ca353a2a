// hybrid_layouts.hpp - what tests of the hybrid tree go through.
#pragma once

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::test {

inline constexpr hybrid_layout layouts[] = {hybrid_layout::implicit, hybrid_layout::regular};

}  // namespace espalier::test
