// hybrid_data.hpp - data for a hybrid tree: as in blink_data.hpp, but in key order and sorted without positions, so
// that 2^28 keys take seconds.
#pragma once

#include <cstdint>

#include "bench/data/blink_data.hpp"

namespace espalier::bench {

/// Returns spec.keys keys for the tree, ascending, and `fresh` more in random order. Throws bad_arguments if the
/// distribution does not have that many.
[[nodiscard]] blink_data make_hybrid_data(const data_spec& spec, std::uint64_t fresh);

}  // namespace espalier::bench
