// radix_traced_run.hpp - traced calls of radix trees with values of eight bytes, compiled once per kind of device.
#pragma once

#include "espalier/inspect/radix_trace.hpp"

namespace espalier::detail {

[[nodiscard]] radix_traced_outcome run_traced_cpu(radix_index& tree, const radix_traced_call& call);
[[nodiscard]] radix_traced_outcome run_traced_cuda(radix_index& tree, const radix_traced_call& call);

}  // namespace espalier::detail
