// cuda_memory_resource.cuh - trees in memory of the caller's CUDA memory resource: cuda::mr of the CUDA toolkit, RMM.
// Requires CUDA's headers, not nvcc.
//
//   #include <cuda/memory_resource>   // define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE where CCCL asks for it
//
//   cuda::mr::async_resource_ref<cuda::mr::device_accessible> mine = ...;   // or rmm::device_async_resource_ref
//   const auto gpu = espalier::device::cuda(0);
//   const auto dev = gpu.with_pool(espalier::cuda_pool(mine, gpu));
//   auto tree = espalier::blink_tree<std::uint32_t, float>::build(keys, values, {}, dev);
//
// All device memory of the tree and of what it returns (range_result) comes from the resource. Pinned memory does not:
// device::host_pool() stays as it is.
#pragma once

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "espalier/device/device.hpp"

namespace espalier {

namespace detail {

// CCCL 3.0, which comes with CUDA 13.0, and RMM over it.
template <class R>
concept AllocatesAsync = requires(R& r, void* p, std::size_t n, cudaStream_t s) {
  { r.allocate_async(n, n, s) } -> std::same_as<void*>;
  r.deallocate_async(p, n, n, s);
};
// CCCL 3.1 and later.
template <class R>
concept AllocatesOnStream = requires(R& r, void* p, std::size_t n, cudaStream_t s) {
  { r.allocate(s, n, n) } -> std::same_as<void*>;
  r.deallocate(s, p, n, n);
};

}  // namespace detail

/// A stream-ordered memory resource as cuda::mr defines it, by the names of CCCL 3.0 (allocate_async) or of later ones.
template <class R>
concept CudaMemoryResource = detail::AllocatesOnStream<R> || detail::AllocatesAsync<R>;

namespace detail {

template <CudaMemoryResource Resource>
class cuda_resource_pool final : public memory_resource {
 public:
  cuda_resource_pool(Resource resource, const device& gpu) : resource_(std::move(resource)), gpu_(gpu) {
    if (gpu.kind() != device_kind::cuda) throw error("cuda_pool() needs the GPU of the memory; it was given a CPU.");
  }

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    void* p = nullptr;
    on_gpu(s, [&](cudaStream_t native) {
      try {
        p = request(bytes, native);
      } catch (const std::exception&) {
        // Memory that other streams deallocated becomes usable once they have reached the deallocation.
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        p = request_again(bytes, native);
      }
    });
    return p;
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override {
    if (p == nullptr) return;
    try {
      on_gpu(s, [&](cudaStream_t native) {
        if constexpr (AllocatesOnStream<Resource>) {
          resource_.deallocate(native, p, bytes, alignment);
        } else {
          resource_.deallocate_async(p, bytes, alignment, native);
        }
      });
    } catch (...) {  // as in the library's own pool: fails only after an error that has ended the GPU's context
    }
  }
  [[nodiscard]] memory_info info() const override {
    memory_info found;
    on_gpu({}, [&](cudaStream_t) { check(cudaMemGetInfo(&found.free, &found.total), "cudaMemGetInfo"); });
    return found;
  }

 private:
  static constexpr std::size_t alignment = 256;

  /// Calls f(native stream) with the GPU current.
  template <class F>
  void on_gpu(const stream& s, F f) const {
    const stream order = gpu_.resolve(s);
    gpu_.invoke_in_order(order, [&] { f(static_cast<cudaStream_t>(order.native())); });
  }
  [[nodiscard]] void* request(std::size_t bytes, cudaStream_t native) {
    if constexpr (AllocatesOnStream<Resource>) {
      return resource_.allocate(native, bytes, alignment);
    } else {
      return resource_.allocate_async(bytes, alignment, native);
    }
  }
  [[nodiscard]] void* request_again(std::size_t bytes, cudaStream_t native) {
    try {
      return request(bytes, native);
    } catch (const std::bad_alloc&) {
      throw out_of_memory(name(), bytes, info().free);
    } catch (const std::exception&) {  // resources over CUDA's pools throw cuda::cuda_error if there is no memory
      if (const std::size_t free = info().free; free < bytes) throw out_of_memory(name(), bytes, free);
      throw;
    }
  }
  [[nodiscard]] std::string name() const { return gpu_.name() + " (memory resource of the caller)"; }
  static void check(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    throw device_error(
        std::string(call) + " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ").",
        static_cast<int>(status));
  }

  Resource resource_;
  device gpu_;
};

}  // namespace detail

/// Makes a pool for device::with_pool() of a memory resource of the caller, of which it keeps a copy: a reference
/// (cuda::mr::async_resource_ref, cuda::mr::resource_ref, rmm::device_async_resource_ref) or an owner
/// (cuda::mr::any_resource).
///
/// Preconditions: kernels of `gpu` can access the memory of the resource; its calls are thread-safe, and its
/// deallocations do not throw. Throws `error` if `gpu` is a CPU.
/// Lifetime: what a reference refers to must outlive the pool, and so all trees and buffers with memory of it.
/// Failure: if the resource throws, the pool waits for the GPU and tries once more. Then it throws out_of_memory for a
/// std::bad_alloc, or if the GPU has fewer free bytes; other exceptions of the resource pass through.
/// Concurrency: thread-safe.
template <CudaMemoryResource Resource>
[[nodiscard]] std::shared_ptr<memory_resource> cuda_pool(Resource resource, const device& gpu) {
  return std::make_shared<detail::cuda_resource_pool<Resource>>(std::move(resource), gpu);
}

}  // namespace espalier
