// live_blink_cuda.hpp - the GPU part of live_blink.cpp.
#pragma once

#include <memory>

#include "explorer/live_tree.hpp"

namespace espalier::explorer {

/// Returns null if the policy is not compiled with hooks.
[[nodiscard]] std::unique_ptr<live_tree> make_live_blink_cuda(const device& dev, const live_request& request);

}  // namespace espalier::explorer
