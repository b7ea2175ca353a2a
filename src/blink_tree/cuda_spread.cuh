// cuda_spread.cuh - a look at a sample of a batch, before it is written: do its keys meet at few leaves?
//
// The express lane tells the position of each sampled key's leaf. Sorted, two neighbours in the sample have at most n / s
// keys of the batch between them, and at most as many leaves as their positions differ by: the smaller one of both, summed
// up, estimates how many leaves the batch touches. Leaves that the lane does not know yet count as the last one it knows.
#pragma once

#include <cstdint>

#include "espalier/blink_tree/descend.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::detail {

inline constexpr unsigned sampled_keys = 1024;  ///< threads of the block; a power of two

/// Bitonic: ascending.
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

/// By one block. The tree has a lane, and no write is in progress. *dense: 1 if each leaf that is touched gets
/// `dense_from` keys or more.
template <class View>
__global__ void __launch_bounds__(sampled_keys)
    judge_spread_kernel(const __grid_constant__ View tree, const void* keys, std::uint64_t n, float dense_from,
                        std::uint32_t* dense) {
  using word = typename View::leaf_shape::word;
  using descent = descender<tile<1>, stable_reads, View>;
  __shared__ std::uint32_t lines[sampled_keys];
  __shared__ float touched_by[sampled_keys / 32];
  const unsigned t = threadIdx.x;
  const std::uint64_t s = n < sampled_keys ? n : sampled_keys;
  std::uint32_t line = 0xffffffffu;
  if (t < s) {
    const word x = encode_bits(tree.key, load_bits<word>(tree.key, keys, t * n / s));
    line = static_cast<std::uint32_t>(descent::line_of(tile<1>{}, tree, x));
  }
  lines[t] = line;
  sort_in_block(lines);
  float touched = t == 0 ? 1.0f : 0.0f;
  if (t != 0 && t < s) {
    const std::uint64_t between = n / s, leaves = lines[t] - lines[t - 1];
    touched = static_cast<float>(leaves < between ? leaves : between);
  }
  for (unsigned distance = 16; distance != 0; distance /= 2) touched += __shfl_down_sync(0xffffffffu, touched, distance);
  if (t % 32 == 0) touched_by[t / 32] = touched;
  __syncthreads();
  if (t != 0) return;
  float all = 0;
  for (const float part : touched_by) all += part;
  *dense = static_cast<float>(n) >= dense_from * all ? 1 : 0;
}

}  // namespace espalier::detail
