// radix_state.hpp - a radix tree of numbers as data, from a copy of its memory.
#pragma once

#include "espalier/trace/state.hpp"
#include "explorer/radix_work.hpp"

namespace espalier::explorer {

/// `tree` is in host memory; root_info: the word of the root's latch.
[[nodiscard]] trace_state radix_state(const numbers_view& tree, std::uint32_t root_info);

}  // namespace espalier::explorer
