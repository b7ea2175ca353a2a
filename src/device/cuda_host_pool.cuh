// cuda_host_pool.cuh - pinned host memory that a GPU's kernels access at the same address.
//
// Pinning takes longer than most calls of an index, so deallocated blocks are cached for the next request: up to
// `most_kept` bytes, because pinned memory is unavailable to other processes. The host may write to an allocated block
// at once; so a block is reused only when the stream that last used it has reached the deallocation, and allocate()
// waits for that.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <mutex>

#include "espalier/device/memory_resource.hpp"

namespace espalier::detail {

class cuda_host_pool final : public memory_resource {
 public:
  explicit cuda_host_pool(int ordinal) : ordinal_(ordinal) {}
  ~cuda_host_pool() override;
  cuda_host_pool(const cuda_host_pool&) = delete;
  cuda_host_pool& operator=(const cuda_host_pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override;
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override;
  [[nodiscard]] memory_info info() const override;

 private:
  static constexpr std::size_t most_kept = std::size_t{256} << 20;
  struct block {
    void* memory;
    cudaEvent_t done;  ///< recorded after the work that its last user had enqueued
  };
  [[nodiscard]] void* take_kept(std::size_t size);
  [[nodiscard]] bool keep(void* p, std::size_t size, const stream& s);
  void release_kept() noexcept;

  int ordinal_;
  std::mutex mutex_;
  std::multimap<std::size_t, block> kept_;  ///< by size
  std::size_t kept_bytes_ = 0;
};

}  // namespace espalier::detail
