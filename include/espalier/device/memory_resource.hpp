// memory_resource.hpp - the interface of stream-ordered memory pools, like cudaMallocAsync.
#pragma once

#include <cstddef>

namespace espalier {

class stream;

struct memory_info {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// Allocation hint. A pool may back leaves, which dominate an index, with a different page size.
enum class allocation_hint : unsigned char { any, leaves };

/// A pool of device memory. Memory from allocate() may be used by work enqueued on `s` afterwards. deallocate() may be
/// called while such work is queued; the memory is reused only after it. Thread-safe: an implementation must allow
/// concurrent calls, because trees allocate from several threads.
class memory_resource {
 public:
  virtual ~memory_resource() = default;
  /// Allocates memory aligned to at least 256 bytes (64 on a CPU), with huge pages if the system provides them. Throws
  /// out_of_memory.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, const stream& s) = 0;
  /// As allocate(), with a hint. The default implementation ignores the hint.
  [[nodiscard]] virtual void* allocate_with_hint(allocation_hint /*use*/, std::size_t bytes, const stream& s) {
    return allocate(bytes, s);
  }
  /// Frees memory of this pool. `bytes` is the size that was allocated.
  virtual void deallocate(void* p, std::size_t bytes, const stream& s) noexcept = 0;
  /// Free and total bytes.
  [[nodiscard]] virtual memory_info info() const = 0;
};

}  // namespace espalier
