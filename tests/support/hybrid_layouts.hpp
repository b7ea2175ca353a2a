// hybrid_layouts.hpp - the layouts that tests of the hybrid tree iterate over.
#pragma once

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::test {

inline constexpr hybrid_layout layouts[] = {hybrid_layout::implicit, hybrid_layout::regular};

}  // namespace espalier::test
