// async_readback.cuh - a few bytes on their way from a GPU to the host, while both go on with other work.
//
// A plain copy makes the host wait for all that is queued before it, and the GPU for what the host does then. A letter
// is sent where the bytes are ready; what is queued behind it keeps the GPU busy while the host opens it and queues the
// rest.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

namespace espalier::detail {

/// Page-locked memory and an event. Making them takes longer than most letters do, so they are kept for the next one.
struct readback_buffer {
  static constexpr std::size_t bytes = 64;
  void* memory = nullptr;
  cudaEvent_t arrived = nullptr;
};

class async_readback {
 public:
  /// `size`: at most readback_buffer::bytes.
  async_readback(int ordinal, const void* from, std::size_t size, cudaStream_t order);
  ~async_readback();
  async_readback(const async_readback&) = delete;
  async_readback& operator=(const async_readback&) = delete;

  /// Waits until it is there. What comes back lives as long as the letter.
  [[nodiscard]] const void* open();

 private:
  int ordinal_;
  readback_buffer envelope_;
};

template <class T>
class cuda_letter_of {
 public:
  static_assert(sizeof(T) <= readback_buffer::bytes);
  cuda_letter_of(int ordinal, const T* from, cudaStream_t order) : letter_(ordinal, from, sizeof(T), order) {}
  [[nodiscard]] T get() {
    T x;
    std::memcpy(&x, letter_.open(), sizeof(T));
    return x;
  }

 private:
  async_readback letter_;
};

}  // namespace espalier::detail
