// device_pointer.hpp - questions to CUDA that the library does not answer; without CUDA there are no GPUs.
#pragma once

#include <cstdint>

namespace espalier::python {

/// Whether this module was built with the library's GPU code.
[[nodiscard]] bool has_cuda();
/// The GPU whose memory this address is in; -1 for other memory.
[[nodiscard]] int gpu_of(std::uintptr_t pointer);

}  // namespace espalier::python
