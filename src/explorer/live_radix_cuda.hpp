// live_radix_cuda.hpp - radix trees on a GPU: the side that nvcc compiles.
#pragma once

#include "explorer/live_tree.hpp"

namespace espalier::explorer {

[[nodiscard]] std::unique_ptr<live_tree> make_live_radix_cuda(const device& where, const live_request& request);

}  // namespace espalier::explorer
