// device_kernels.cu - the steps of device_kernels.hpp in a build with CUDA, and questions to CUDA.
#include "device_kernels.ipp"
#include "device_pointer.hpp"

namespace espalier::python {

bool has_cuda() { return true; }

int gpu_of(std::uintptr_t pointer) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, reinterpret_cast<const void*>(pointer)) != cudaSuccess) {
    (void)cudaGetLastError();
    return -1;
  }
  const bool on_gpu = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_gpu ? attributes.device : -1;
}

}  // namespace espalier::python
