// small_batch_cuda.cuh - runs the steps of small_batch.hpp in the threads of one cluster of blocks, or of one block.
//
// The blocks of a cluster run at the same time and have a barrier in hardware. GPUs without clusters use one block.
#pragma once

#include <cub/block/block_merge_sort.cuh>

#include <atomic>
#include <cstdint>

#include "blink_tree/small_batch.hpp"
#include "blink_tree/small_batch_launch.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"

namespace espalier::detail {

inline constexpr unsigned small_batch_threads = 1024;  ///< of a block

template <class Word>
class cluster_threads {
  struct is_less {
    __device__ __forceinline__ bool operator()(const Word& x, const Word& y) const { return x < y; }
  };
  template <unsigned Each>
  using block_sort = cub::BlockMergeSort<Word, small_batch_threads, Each, std::uint32_t>;
  static constexpr unsigned most_each = small_batch_most_sorted / small_batch_threads;
  static constexpr unsigned sum_words = 4;

 public:
  using team = tile<1>;
  struct memory {
    union {
      typename block_sort<1>::TempStorage sort_few;
      typename block_sort<most_each>::TempStorage sort_many;
    };
    std::uint32_t of_warps[32][sum_words];
    std::uint32_t of_block[sum_words], of_all[sum_words];
  };

  /// `totals` is memory for the sums of two rounds of all blocks.
  __device__ cluster_threads(memory& m, std::byte* totals) : memory_(m), totals_(totals) {}

  [[nodiscard]] __device__ __forceinline__ std::uint32_t rank() const { return blockIdx.x * blockDim.x + threadIdx.x; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t size() const { return gridDim.x * blockDim.x; }

  __device__ __forceinline__ void sync() const {
#if __CUDA_ARCH__ >= 900
    if (gridDim.x != 1) {
      asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
      return;
    }
#endif
    __syncthreads();
  }

  template <class Sum>
  __device__ __noinline__ Sum sum_before(const Sum& mine, Sum& all) const {
    static_assert(sizeof(Sum) <= sum_words * 4);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Sum up_to = sum_of_lanes(mine);
    Sum before = from_lane_below(up_to);
    __syncthreads();  // the memory of the last round is not read any more
    if (lane == 31) store(memory_.of_warps[warp], up_to);
    __syncthreads();
    if (warp == 0) {
      const Sum x = lane < blockDim.x / 32 ? load<Sum>(memory_.of_warps[lane]) : Sum{};
      const Sum sum = sum_of_lanes(x);
      store(memory_.of_warps[lane], from_lane_below(sum));
      if (lane == 31) store(memory_.of_all, sum);
    }
    __syncthreads();
    before = Sum::combine(load<Sum>(memory_.of_warps[warp]), before);
    if (gridDim.x == 1) {
      all = load<Sum>(memory_.of_all);
      return before;
    }
    auto* of_blocks = reinterpret_cast<std::uint32_t*>(totals_) + (round_ & 1) * 16 * sum_words;
    ++round_;
    if (threadIdx.x == 0) store(of_blocks + blockIdx.x * sum_words, load<Sum>(memory_.of_all));
    sync();
    if (warp == 0) {
      const Sum x = lane < gridDim.x ? load<Sum>(of_blocks + lane * sum_words) : Sum{};
      const Sum sum = sum_of_lanes(x);
      const Sum below = from_lane_below(sum);
      if (lane == blockIdx.x) store(memory_.of_block, below);
      if (lane == 31) store(memory_.of_all, sum);
    }
    __syncthreads();
    all = load<Sum>(memory_.of_all);
    return Sum::combine(load<Sum>(memory_.of_block), before);
  }

  /// Stable; by the first block.
  __device__ __forceinline__ void sort(Word* words, std::uint32_t* place, std::uint32_t n) const {
    if (blockIdx.x != 0) return;
    if (n <= small_batch_threads) {
      sort_in_block<1>(memory_.sort_few, words, place, n);
    } else {
      sort_in_block<most_each>(memory_.sort_many, words, place, n);
    }
  }

 private:
  template <unsigned Each, class Storage>
  static __device__ __noinline__ void sort_in_block(Storage& storage, Word* words, std::uint32_t* place,
                                                    std::uint32_t n) {
    Word w[Each];
    std::uint32_t p[Each];
    const std::uint32_t first = threadIdx.x * Each;
    for (unsigned j = 0; j < Each; ++j) {
      p[j] = first + j;
      w[j] = first + j < n ? words[first + j] : static_cast<Word>(~Word{0});
    }
    block_sort<Each>(storage).StableSort(w, p, is_less{}, static_cast<int>(n), static_cast<Word>(~Word{0}));
    __syncthreads();  // all keys have been read
    for (unsigned j = 0; j < Each; ++j) {
      if (first + j >= n) break;
      words[first + j] = w[j];
      place[first + j] = p[j];
    }
  }
  template <class Sum>
  static __device__ __forceinline__ Sum shifted(const Sum& x, unsigned distance) {
    std::uint32_t w[sizeof(Sum) / 4];
    memcpy(w, &x, sizeof(Sum));
#pragma unroll
    for (std::uint32_t& one : w) one = __shfl_up_sync(0xffffffffu, one, distance);
    Sum r;
    memcpy(static_cast<void*>(&r), w, sizeof(Sum));
    return r;
  }
  template <class Sum>
  static __device__ __forceinline__ Sum sum_of_lanes(Sum x) {
    __syncwarp();
#pragma unroll
    for (unsigned distance = 1; distance != 32; distance *= 2) {
      const Sum below = shifted(x, distance);
      if (threadIdx.x % 32 >= distance) x = Sum::combine(below, x);
    }
    return x;
  }
  template <class Sum>
  static __device__ __forceinline__ Sum from_lane_below(const Sum& x) {
    const Sum below = shifted(x, 1);
    return threadIdx.x % 32 == 0 ? Sum{} : below;
  }
  template <class Sum>
  static __device__ __forceinline__ void store(std::uint32_t* to, const Sum& x) {
    memcpy(to, &x, sizeof(Sum));
  }
  template <class Sum>
  static __device__ __forceinline__ Sum load(const std::uint32_t* from) {
    Sum x;
    memcpy(static_cast<void*>(&x), from, sizeof(Sum));
    return x;
  }

  memory& memory_;
  std::byte* totals_;
  mutable unsigned round_ = 0;
};

template <class View>
__global__ void __launch_bounds__(small_batch_threads)
    small_batch_kernel(const __grid_constant__ small_batch_job<View> job) {
  using threads = cluster_threads<typename View::leaf_shape::word>;
  __shared__ typename threads::memory memory;
  const threads all(memory, job.scratch);
  small_batch_steps<threads, View>(all, job).run();
}

/// The most blocks of a cluster of this kernel: 1, 2, 4, 8 or 16. It is found once per kernel and GPU.
template <class View>
[[nodiscard]] unsigned small_batch_blocks_of(int ordinal) {
  static std::atomic<unsigned> known[64]{};
  std::atomic<unsigned>* const here = ordinal < 64 ? known + ordinal : nullptr;
  if (here != nullptr && here->load(std::memory_order_relaxed) != 0) return here->load(std::memory_order_relaxed);
  const device_guard guard(ordinal);
  int has_clusters = 0;
  check_cuda(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, ordinal), "cudaDeviceGetAttribute");
  unsigned most = 1;
  auto* const kernel = small_batch_kernel<View>;
  cudaFuncAttributes compiled{};
  check_cuda(cudaFuncGetAttributes(&compiled, kernel), "cudaFuncGetAttributes");
  // Code for an older architecture that was compiled again at load time has no barrier of a cluster.
  if (has_clusters != 0 && compiled.ptxVersion >= 90) {
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess)
      (void)cudaGetLastError();
    for (unsigned blocks = small_batch_most_blocks; blocks > 1; blocks /= 2) {
      cudaLaunchConfig_t config{};
      cudaLaunchAttribute cluster{};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {blocks, 1, 1};
      config.gridDim = dim3(blocks);
      config.blockDim = dim3(small_batch_threads);
      config.attrs = &cluster;
      config.numAttrs = 1;
      int clusters = 0;
      if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess) {
        (void)cudaGetLastError();
        continue;
      }
      if (clusters == 0) continue;
      most = blocks;
      break;
    }
  }
  if (here != nullptr) here->store(most, std::memory_order_relaxed);
  return most;
}

template <class View>
void launch_small_batch(const device& dev, cudaStream_t order, const small_batch_job<View>& job) {
  const device_guard guard(dev.ordinal());
  const unsigned most = small_batch_blocks_of<View>(dev.ordinal());
  unsigned blocks = 1;
  while (blocks < most && blocks * small_batch_each < job.n) blocks *= 2;
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(small_batch_threads);
  config.stream = order;
  config.attrs = &cluster;
  config.numAttrs = blocks == 1 ? 0 : 1;
  check_cuda(cudaLaunchKernelEx(&config, small_batch_kernel<View>, job), "small_batch_kernel");
}

}  // namespace espalier::detail
