// cuda_host_pool.cu - see cuda_host_pool.cuh.
#include "device/cuda_host_pool.cuh"

#include <new>

#include "device/system.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::detail {

namespace {

// Rounds to few sizes, so that blocks can be reused; large blocks, for which that would waste most, are rounded to
// whole pages.
std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t least = std::size_t{64} << 10, most = std::size_t{64} << 20, page = std::size_t{2} << 20;
  if (bytes > most) return (bytes + page - 1) / page * page;
  std::size_t size = least;
  while (size < bytes) size *= 2;
  return size;
}

}  // namespace

cuda_host_pool::~cuda_host_pool() { release_kept(); }

void* cuda_host_pool::allocate(std::size_t bytes, const stream&) {
  const device_guard guard(ordinal_);
  const std::size_t size = rounded(bytes);
  if (void* const p = take_kept(size)) return p;
  void* p = nullptr;
  constexpr unsigned how = cudaHostAllocPortable | cudaHostAllocMapped;
  cudaError_t status = cudaHostAlloc(&p, size, how);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    {
      const std::lock_guard lock(mutex_);
      release_kept();
    }
    status = cudaHostAlloc(&p, size, how);
  }
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw out_of_memory("pinned host memory", bytes, info().free);
  }
  check_cuda(status, "cudaHostAlloc", bytes);
  return p;
}

void cuda_host_pool::deallocate(void* p, std::size_t bytes, const stream& s) noexcept {
  if (p == nullptr) return;
  // As for device memory: CUDA fails here only after the context is lost.
  try {
    const device_guard guard(ordinal_);
    if (keep(p, rounded(bytes), s)) return;
    if (cudaStreamSynchronize(cuda_backend::native(s)) != cudaSuccess) (void)cudaGetLastError();
    if (cudaFreeHost(p) != cudaSuccess) (void)cudaGetLastError();
  } catch (const error&) {
  }
}

void* cuda_host_pool::take_kept(std::size_t size) {
  block b{};
  {
    const std::lock_guard lock(mutex_);
    const auto at = kept_.find(size);
    if (at == kept_.end()) return nullptr;
    b = at->second;
    kept_.erase(at);
    kept_bytes_ -= size;
  }
  const cudaError_t status = cudaEventSynchronize(b.done);
  (void)cudaEventDestroy(b.done);
  if (status != cudaSuccess) (void)cudaFreeHost(b.memory);
  check_cuda(status, "cudaEventSynchronize");
  return b.memory;
}

bool cuda_host_pool::keep(void* p, std::size_t size, const stream& s) {
  cudaEvent_t done = nullptr;
  if (cudaEventCreateWithFlags(&done, cudaEventDisableTiming) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  bool kept = cudaEventRecord(done, cuda_backend::native(s)) == cudaSuccess;
  if (kept) {
    try {
      const std::lock_guard lock(mutex_);
      kept = kept_bytes_ + size <= most_kept;
      if (kept) {
        kept_.insert({size, {p, done}});
        kept_bytes_ += size;
      }
    } catch (const std::bad_alloc&) {
      kept = false;
    }
  } else {
    (void)cudaGetLastError();
  }
  if (!kept) (void)cudaEventDestroy(done);
  return kept;
}

void cuda_host_pool::release_kept() noexcept {
  for (const auto& [size, b] : kept_) {
    (void)cudaEventSynchronize(b.done);
    (void)cudaEventDestroy(b.done);
    (void)cudaFreeHost(b.memory);
  }
  (void)cudaGetLastError();
  kept_.clear();
  kept_bytes_ = 0;
}

memory_info cuda_host_pool::info() const { return system_memory(); }

}  // namespace espalier::detail
