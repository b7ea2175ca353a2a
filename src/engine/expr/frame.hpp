// frame.hpp - the words of a frame clause: ROWS BETWEEN 1 PRECEDING AND CURRENT ROW.
#pragma once

#include <cstdint>

namespace espalier::engine {

enum class frame_unit : std::uint8_t { rows, range, groups };
/// In the order of the rows that they name.
enum class frame_bound : std::uint8_t { unbounded_preceding, preceding, current_row, following, unbounded_following };

}  // namespace espalier::engine
