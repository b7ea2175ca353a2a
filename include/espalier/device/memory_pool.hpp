// memory_pool.hpp - where a device's memory comes from. Stream-ordered, as cudaMallocAsync is.
#pragma once

#include <cstddef>

namespace espalier {

class stream;

struct memory_info {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// What memory is for: a pool may give leaves of trees, which are most of an index, other pages than the rest.
enum class memory_use : unsigned char { any, leaves };

/// A source of device memory. Memory from allocate() may be used by work enqueued on `s` afterwards;
/// deallocate() may be called while such work is still queued: the memory is reused only after it.
class memory_pool {
 public:
  virtual ~memory_pool() = default;
  /// At least 256-byte aligned (64 on a CPU); huge pages where the system gives them. Throws out_of_memory.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, const stream& s) = 0;
  [[nodiscard]] virtual void* allocate_for(memory_use /*use*/, std::size_t bytes, const stream& s) {
    return allocate(bytes, s);
  }
  virtual void deallocate(void* p, std::size_t bytes, const stream& s) noexcept = 0;
  [[nodiscard]] virtual memory_info info() const = 0;
};

}  // namespace espalier
