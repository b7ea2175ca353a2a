// cuda_spread.cuh - samples a batch before it is written to find how its keys are distributed over the leaves.
//
// The express lane gives the position of each sampled key's leaf; leaves that it does not name yet count as the last
// one it names. From the sorted positions it computes:
//   touched   leaves that the batch touches: between two neighbours in the sample there are at most n / s keys of the
//             batch, and at most as many leaves as their positions differ by. The minimum of both is summed up.
//   queue     keys at the leaf of a key: (equal positions among the s sampled ones) * n / s.
#pragma once

#include <cstdint>

#include "blink_tree/plan.hpp"
#include "espalier/blink_tree/descend.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::detail {

inline constexpr unsigned sampled_keys = 1024;  ///< threads of the block; a power of two

/// Bitonic sort, ascending.
__device__ inline void sort_in_block(std::uint32_t* x) {
  const unsigned t = threadIdx.x;
  for (unsigned length = 2; length <= sampled_keys; length *= 2) {
    for (unsigned distance = length / 2; distance != 0; distance /= 2) {
      __syncthreads();
      const unsigned other = t ^ distance;
      if (other > t) {
        const std::uint32_t a = x[t], b = x[other];
        if ((a > b) == ((t & length) == 0)) {
          x[t] = b;
          x[other] = a;
        }
      }
    }
  }
  __syncthreads();
}
/// Sums x over all threads; the result is in thread 0.
__device__ inline float sum_in_block(float x) {
  __shared__ float of_warps[sampled_keys / 32];
  for (unsigned distance = 16; distance != 0; distance /= 2) x += __shfl_down_sync(0xffffffffu, x, distance);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  float all = 0;
  if (threadIdx.x == 0) {
    for (const float part : of_warps) all += part;
  }
  return all;
}

/// Sampled keys of elements list[0], ..., list[n - 1] (all n if null). The tree has a lane.
template <class View>
struct sample_of {
  View tree;
  const void* keys;
  const std::uint32_t* list;
  std::uint64_t n;
};

/// Sets *apart to 0 if each touched leaf receives `dense_from` keys or more, or if *unless_zero (may be null) is 0.
struct judgement {
  float dense_from;
  const std::uint32_t* unless_zero;
  std::uint32_t* apart;
  __device__ void operator()(const std::uint32_t* lines, std::uint64_t s, std::uint64_t n) const {
    const unsigned t = threadIdx.x;
    float touched = t == 0 ? 1.0f : 0.0f;
    if (t != 0 && t < s) {
      const std::uint64_t between = n / s, leaves = lines[t] - lines[t - 1];
      touched = static_cast<float>(leaves < between ? leaves : between);
    }
    touched = sum_in_block(touched);
    if (t != 0) return;
    const bool asked = unless_zero == nullptr || *unless_zero != 0;
    *apart = asked && static_cast<float>(n) < dense_from * touched ? 1 : 0;
  }
};
struct measurement {
  batch_spread* out;
  __device__ void operator()(const std::uint32_t* lines, std::uint64_t s, std::uint64_t n) const {
    const unsigned t = threadIdx.x;
    float others = 0;  // number of other keys at the leaf of this thread's key
    if (t < s) others = static_cast<float>(end_of(lines, lines[t]) - begin_of(lines, lines[t]) - 1);
    others = sum_in_block(others);
    if (t != 0) return;
    const float share = static_cast<float>(n) / static_cast<float>(s);
    out->queue = 1.0f + share * others / static_cast<float>(s);
    out->span = lines[s - 1] - lines[0] + 1;
  }

 private:
  /// Returns the number of sampled positions below x.
  static __device__ unsigned begin_of(const std::uint32_t* lines, std::uint32_t x) {
    unsigned at = 0;
    for (unsigned step = sampled_keys / 2; step != 0; step /= 2) at += lines[at + step - 1] < x ? step : 0;
    return at + (lines[at] < x ? 1 : 0);
  }
  static __device__ unsigned end_of(const std::uint32_t* lines, std::uint32_t x) { return begin_of(lines, x + 1); }
};

/// Runs in one block. No write is in progress.
template <class View, class Answer>
__global__ void __launch_bounds__(sampled_keys)
    sample_kernel(const __grid_constant__ sample_of<View> sample, const Answer answer) {
  using word = typename View::leaf_shape::word;
  using descent = descender<tile<1>, stable_reads, View>;
  __shared__ std::uint32_t lines[sampled_keys];
  const unsigned t = threadIdx.x;
  const std::uint64_t n = sample.n, s = n < sampled_keys ? n : sampled_keys;
  std::uint32_t line = 0xffffffffu;
  if (t < s) {
    const std::uint64_t at = t * n / s;
    const word x = encode_bits(
        sample.tree.key, load_bits<word>(sample.tree.key, sample.keys, sample.list == nullptr ? at : sample.list[at]));
    line = static_cast<std::uint32_t>(descent::line_of(tile<1>{}, sample.tree, x));
  }
  lines[t] = line;
  sort_in_block(lines);
  answer(lines, s, n);
}

}  // namespace espalier::detail
