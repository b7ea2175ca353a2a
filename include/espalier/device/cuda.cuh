// cuda.cuh - cuda_backend: the compile-time interface of a GPU device for index owners. Requires nvcc; does not include
// CUB.
//
// Every call is stream-ordered and returns before the GPU has finished. An empty stream means the device's default
// stream, which is CUDA's legacy default stream and is ordered with kernels launched without a stream.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/device/device.hpp"

namespace espalier {

namespace detail {

/// Throws if `status` is not success: out_of_memory (with `asked` and the free bytes) if memory ran out, otherwise
/// `error` with CUDA's message and the name of the call. Clears the error, so that the next call does not report it
/// again.
void check_cuda(cudaError_t status, const char* call, std::size_t asked = 0);

/// Makes a GPU current and restores the caller's GPU in the destructor.
class device_guard {
 public:
  explicit device_guard(int ordinal);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int previous_ = 0;
  bool switched_ = false;
};

// The grid stride covers an n above the number of threads of a grid.
template <class Body>
__global__ void for_each_kernel(std::size_t n, Body body) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) body(i);
}

// Teams do not stride: a grid holds 2^39 threads in blocks of 256. __grid_constant__ avoids a copy of the body in local
// memory.
template <class Team, class Body>
__global__ void __launch_bounds__(256) for_each_team_kernel(std::size_t n, const __grid_constant__ Body body) {
  const std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / Team::lanes();
  if (i < n) body(Team{}, i);
}

}  // namespace detail

class cuda_backend {
 public:
  static constexpr unsigned block_threads = 256;

  /// Throws `error` if `dev` is not a GPU.
  explicit cuda_backend(const device& dev);
  [[nodiscard]] const device& get_device() const noexcept { return device_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] int sm_count() const noexcept { return sm_count_; }
  [[nodiscard]] std::size_t l2_bytes() const noexcept { return l2_bytes_; }
  /// Dynamic shared memory that a block may request.
  [[nodiscard]] std::size_t shared_bytes() const noexcept { return shared_bytes_; }

  [[nodiscard]] static cudaStream_t native(const stream& s) {
    return s ? static_cast<cudaStream_t>(s.native()) : cudaStreamLegacy;
  }

  /// Calls body(i) for each i in [0, n) on the GPU, one thread per i but at most most_at_once threads, which stride.
  /// The body is copied to the GPU.
  template <class Body>
  void for_each(const stream& s, std::size_t n, Body body, std::size_t most_at_once = ~std::size_t{0}) const {
    if (n == 0) return;
    const detail::device_guard guard(ordinal_);
    const std::size_t most_blocks = std::clamp<std::size_t>(most_at_once / block_threads, 1, 0x7fffffff);
    const std::size_t blocks = std::min(most_blocks, (n - 1) / block_threads + 1);
    detail::for_each_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, native(s)>>>(n, body);
    detail::check_cuda(cudaGetLastError(), "for_each");
  }

  /// Calls body(team, i) for each i in [0, n), one team (a tile of team/tile.cuh) per i; all its lanes make the call.
  template <class Team, class Body>
  void for_each_team(const stream& s, std::size_t n, const Body& body) const {
    if (n == 0) return;
    const detail::device_guard guard(ordinal_);
    constexpr std::size_t teams = block_threads / Team::lanes();
    const std::size_t blocks = (n - 1) / teams + 1;
    if (blocks > 0x7fffffff)
      throw error("for_each_team: a launch has at most 2^31 - 1 blocks of 256 threads; split it.");
    detail::for_each_team_kernel<Team><<<static_cast<unsigned>(blocks), block_threads, 0, native(s)>>>(n, body);
    detail::check_cuda(cudaGetLastError(), "for_each_team");
  }

  /// Stable sort by bits [begin_bit, end_bit) of the keys, unsigned; `value_bytes` is 0, 4, 8 or 16 and the values
  /// follow their keys. All four arrays hold n elements, aligned to their element, and are overwritten; the value
  /// arrays may be null if value_bytes is 0. Returns true if the result will lie in keys_alt and values_alt.
  /// Takes scratch memory from the device's pool before it changes anything.
  template <class Word>
  [[nodiscard]] bool sort_pairs(const stream& s, Word* keys, Word* keys_alt, void* values, void* values_alt,
                                unsigned value_bytes, std::size_t n, unsigned begin_bit, unsigned end_bit) const;

  /// The same sort out of place; the inputs stay unchanged. Takes scratch memory for a copy of both.
  template <class Word>
  void sort_pairs_from(const stream& s, const Word* keys, Word* sorted_keys, const void* values, void* sorted_values,
                       unsigned value_bytes, std::size_t n, unsigned begin_bit, unsigned end_bit) const;

  /// out[i] = in[0] + ... + in[i - 1], wrapping around on overflow. in == out is allowed. T is u32, u64, i64 or int128.
  template <class T>
  void exclusive_scan(const stream& s, const T* in, T* out, std::size_t n) const;

 private:
  device device_;
  int ordinal_ = 0;
  int sm_count_ = 0;
  std::size_t l2_bytes_ = 0;
  std::size_t shared_bytes_ = 0;
};

extern template bool cuda_backend::sort_pairs(const stream&, std::uint32_t*, std::uint32_t*, void*, void*, unsigned,
                                              std::size_t, unsigned, unsigned) const;
extern template bool cuda_backend::sort_pairs(const stream&, std::uint64_t*, std::uint64_t*, void*, void*, unsigned,
                                              std::size_t, unsigned, unsigned) const;
extern template void cuda_backend::sort_pairs_from(const stream&, const std::uint32_t*, std::uint32_t*, const void*,
                                                   void*, unsigned, std::size_t, unsigned, unsigned) const;
extern template void cuda_backend::sort_pairs_from(const stream&, const std::uint64_t*, std::uint64_t*, const void*,
                                                   void*, unsigned, std::size_t, unsigned, unsigned) const;
extern template void cuda_backend::exclusive_scan(const stream&, const std::uint32_t*, std::uint32_t*,
                                                  std::size_t) const;
extern template void cuda_backend::exclusive_scan(const stream&, const std::uint64_t*, std::uint64_t*,
                                                  std::size_t) const;
extern template void cuda_backend::exclusive_scan(const stream&, const std::int64_t*, std::int64_t*, std::size_t) const;
extern template void cuda_backend::exclusive_scan(const stream&, const int128*, int128*, std::size_t) const;

}  // namespace espalier
