// host_memory.cpp - see host_memory.hpp.
#include "bench/harness/host_memory.hpp"

#include <cstdlib>
#include <new>

namespace espalier::bench {

#ifdef ESPALIER_HAS_CUDA
void* allocate_page_locked(std::size_t bytes, const device& dev);  // defined in gpu_host_memory.cu
void free_page_locked(void* p);
#endif

host_memory::host_memory(std::size_t bytes, const device& dev) : bytes_(bytes) {
  if (bytes == 0) return;
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) {
    data_ = {allocate_page_locked(bytes, dev), free_page_locked};
    return;
  }
#else
  (void)dev;  // builds without CUDA support CPUs only
#endif
  void* const p = std::malloc(bytes);
  if (p == nullptr) throw std::bad_alloc();
  data_ = {p, std::free};
}

}  // namespace espalier::bench
