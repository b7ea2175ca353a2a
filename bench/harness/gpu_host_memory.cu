// gpu_host_memory.cu - page-locked memory, for host_memory.cpp.
#include <cuda_runtime.h>

#include <cstddef>

#include "espalier/device/cuda.cuh"

namespace espalier::bench {

void* allocate_page_locked(std::size_t bytes, const device& dev);
void free_page_locked(void* p);

void* allocate_page_locked(std::size_t bytes, const device& dev) {
  const espalier::detail::device_guard guard(dev.ordinal());
  void* p = nullptr;
  espalier::detail::check_cuda(cudaHostAlloc(&p, bytes, cudaHostAllocPortable), "cudaHostAlloc", bytes);
  return p;
}

void free_page_locked(void* p) { (void)cudaFreeHost(p); }

}  // namespace espalier::bench
