// cuda_letter.cuh - a few bytes on their way from a GPU to the host, while both go on with other work.
//
// A plain copy makes the host wait for all that is queued before it, and the GPU for what the host does then. A letter is
// sent where the bytes are ready; what is queued behind it keeps the GPU busy while the host opens it and queues the rest.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

namespace espalier::detail {

/// Page-locked memory and an event. Making them takes longer than most letters do, so they are kept for the next one.
struct cuda_envelope {
  static constexpr std::size_t bytes = 64;
  void* memory = nullptr;
  cudaEvent_t arrived = nullptr;
};

class cuda_letter {
 public:
  /// `size`: at most cuda_envelope::bytes.
  cuda_letter(int ordinal, const void* from, std::size_t size, cudaStream_t order);
  ~cuda_letter();
  cuda_letter(const cuda_letter&) = delete;
  cuda_letter& operator=(const cuda_letter&) = delete;

  /// Waits until it is there. What comes back lives as long as the letter.
  [[nodiscard]] const void* open();

 private:
  int ordinal_;
  cuda_envelope envelope_;
};

template <class T>
class cuda_letter_of {
 public:
  static_assert(sizeof(T) <= cuda_envelope::bytes);
  cuda_letter_of(int ordinal, const T* from, cudaStream_t order) : letter_(ordinal, from, sizeof(T), order) {}
  [[nodiscard]] T get() {
    T x;
    std::memcpy(&x, letter_.open(), sizeof(T));
    return x;
  }

 private:
  cuda_letter letter_;
};

}  // namespace espalier::detail
