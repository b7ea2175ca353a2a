// cuda_spread.cuh - a look at a sample of a batch, before it is written: do its keys meet at few leaves?
//
// The express lane tells the position of each sampled key's leaf. Sorted, two neighbours in the sample have at most n / s
// keys of the batch between them, and at most as many leaves as their positions differ by: the smaller one of both, summed
// up, estimates how many leaves the batch touches. One block, no wait of the host.
#pragma once

#include <cstdint>

#include "blink_tree/batch_spread.hpp"
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

/// The tree has a lane, and nobody writes. `dense_from`: elements for each leaf that is touched.
template <class View>
__global__ void __launch_bounds__(sampled_keys)
    judge_spread_kernel(const __grid_constant__ View tree, const void* keys, std::uint64_t n, float dense_from,
                        batch_spread* out) {
  using word = typename View::leaf_shape::word;
  using descent = descender<tile<1>, stable_reads, View>;
  constexpr unsigned many = 4;  // sampled keys of one leaf
  __shared__ std::uint32_t lines[sampled_keys];
  __shared__ unsigned long long touched;
  __shared__ std::uint32_t heaped;
  const unsigned t = threadIdx.x;
  const std::uint64_t s = n < sampled_keys ? n : sampled_keys;
  if (t == 0) {
    touched = 1;
    heaped = 0;
  }
  std::uint32_t line = 0xffffffffu;
  if (t < s) {
    const word x = encode_bits(tree.key, load_bits<word>(tree.key, keys, t * n / s));
    line = static_cast<std::uint32_t>(descent::line_of(tile<1>{}, tree, x));
  }
  lines[t] = line;
  sort_in_block(lines);
  if (t != 0 && t < s) {
    const std::uint64_t between = n / s, leaves = lines[t] - lines[t - 1];
    if (leaves != 0) atomicAdd(&touched, static_cast<unsigned long long>(leaves < between ? leaves : between));
    if (t >= many && lines[t] == lines[t - many]) heaped = 1;
  }
  __syncthreads();
  if (t == 0) {
    const bool dense = static_cast<float>(n) >= dense_from * static_cast<float>(touched);
    const bool at_end = lines[0] + std::uint64_t{1} >= tree.lane.size;
    *out = dense         ? (at_end ? batch_spread::dense_at_end : batch_spread::dense)
           : heaped != 0 ? batch_spread::uneven
                         : batch_spread::apart;
  }
}

}  // namespace espalier::detail
