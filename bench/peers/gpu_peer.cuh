// gpu_peer.cuh - code that the peers on a GPU share.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "bench/index/request.hpp"
#include "espalier/core/error.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw error(std::string("The peer's ") + what + " failed: " + cudaGetErrorString(status) + ".");
  }
}

[[nodiscard]] inline cudaStream_t stream_of(const device& dev, const request& r) {
  return static_cast<cudaStream_t>(dev.resolve(r.order).native());
}

inline void finish(const device& dev, const request& r) {
  if (r.wait) dev.resolve(r.order).synchronize();
}

[[nodiscard]] inline unsigned blocks_for(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }

}  // namespace espalier::bench
