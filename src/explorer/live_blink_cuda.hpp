// live_blink_cuda.hpp - the GPU's half of live_blink.cpp.
#pragma once

#include <memory>

#include "explorer/live_tree.hpp"

namespace espalier::explorer {

/// Null: not compiled with hooks.
[[nodiscard]] std::unique_ptr<live_tree> make_live_blink_cuda(const device& dev, const live_request& request);

}  // namespace espalier::explorer
