// async_readback.cuh - asynchronous device-to-host readback of up to 64 bytes through pooled pinned memory.
//
// A plain copy makes the host wait for all work enqueued before it, and the GPU for what the host does then. A readback
// is enqueued where the bytes are ready; the work enqueued after it keeps the GPU busy while the host waits for the
// copy only and enqueues the rest.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

namespace espalier::detail {

/// Pinned memory and an event. Creating them takes longer than most readbacks, so they are pooled.
struct readback_buffer {
  static constexpr std::size_t bytes = 64;
  void* memory = nullptr;
  cudaEvent_t arrived = nullptr;
};

class async_readback {
 public:
  /// `size` is at most readback_buffer::bytes.
  async_readback(int ordinal, const void* from, std::size_t size, cudaStream_t order);
  ~async_readback();
  async_readback(const async_readback&) = delete;
  async_readback& operator=(const async_readback&) = delete;

  /// Waits for the copy. The result is valid as long as this object.
  [[nodiscard]] const void* open();

 private:
  int ordinal_;
  readback_buffer buffer_;
};

/// Pinned memory that a kernel writes its result to: no copy follows the kernel.
class mapped_memory {
 public:
  mapped_memory(int ordinal, cudaStream_t order);
  ~mapped_memory();
  mapped_memory(mapped_memory&& other) noexcept;
  mapped_memory& operator=(mapped_memory&&) = delete;

  [[nodiscard]] void* data() const { return buffer_.memory; }
  /// Waits for the work enqueued on the stream so far.
  void wait();

 private:
  int ordinal_;
  cudaStream_t order_;
  readback_buffer buffer_;
  bool written_ = false;  ///< no kernel uses the memory any more
};

template <class T>
class cuda_mapped {
 public:
  static_assert(sizeof(T) <= readback_buffer::bytes);
  cuda_mapped(int ordinal, cudaStream_t order) : memory_(ordinal, order) {}
  [[nodiscard]] T* memory() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] T wait() {
    memory_.wait();
    T x;
    std::memcpy(&x, memory_.data(), sizeof(T));
    return x;
  }

 private:
  mapped_memory memory_;
};

template <class T>
class cuda_readback {
 public:
  static_assert(sizeof(T) <= readback_buffer::bytes);
  cuda_readback(int ordinal, const T* from, cudaStream_t order) : readback_(ordinal, from, sizeof(T), order) {}
  [[nodiscard]] T get() {
    T x;
    std::memcpy(&x, readback_.open(), sizeof(T));
    return x;
  }

 private:
  async_readback readback_;
};

}  // namespace espalier::detail
