// cuda_factory.hpp - the only entry from host code to the CUDA side. In a build without CUDA (ESPALIER_HAS_CUDA is not
// 1) the same functions are defined here.
#pragma once

#include <memory>
#include <string>

#include "device/device_impl.hpp"

namespace espalier::detail {

/// Number of GPUs that the driver reports, usable or not; 0 and the reason if there is no driver, it is too old for
/// this build, or there is no GPU.
struct cuda_device_count {
  int devices = 0;
  std::string reason;
};

#if defined(ESPALIER_HAS_CUDA) && ESPALIER_HAS_CUDA

[[nodiscard]] cuda_device_count count_cuda_devices();
/// Throws `error` with the reason if the GPU cannot be used.
[[nodiscard]] std::shared_ptr<device_impl> make_cuda_device(int ordinal);
/// A cudaStream_t of the caller as a stream of the GPU to which CUDA says it belongs: for CUDA's default streams, the
/// current GPU.
[[nodiscard]] std::shared_ptr<stream_impl> make_cuda_stream(void* native);

#else

[[nodiscard]] inline cuda_device_count count_cuda_devices() { return {0, "this build has no CUDA code"}; }
[[nodiscard]] inline std::shared_ptr<device_impl> make_cuda_device(int) {
  throw error("No GPU can be used: this build has no CUDA code; build again where nvcc is found.");
}
[[nodiscard]] inline std::shared_ptr<stream_impl> make_cuda_stream(void*) {
  throw error("A CUDA stream cannot be used: this build has no CUDA code; build again where nvcc is found.");
}

#endif

}  // namespace espalier::detail
