// cuda_interop.cu - an index in a CUDA program: its stream, its memory resource, its cooperative groups.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <span>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda_memory_resource.cuh"
#include "espalier/team/tile.cuh"

namespace {

namespace cg = cooperative_groups;
using map = espalier::blink_tree<std::uint32_t, std::uint32_t>;

// A resource of RMM, or of cuda::mr, stands here in a real program.
struct program_memory {
  void* allocate(cudaStream_t s, std::size_t bytes, std::size_t) {
    void* p = nullptr;
    if (cudaMallocAsync(&p, bytes, s) != cudaSuccess) throw std::bad_alloc();
    return p;
  }
  void deallocate(cudaStream_t s, void* p, std::size_t, std::size_t) noexcept { (void)cudaFreeAsync(p, s); }
};

// Eight threads of a block process each word: they count it in the map.
__global__ void count(map::ref_type ref, const std::uint32_t* words, unsigned n, unsigned* full) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const unsigned i = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (i >= n) return;
  const auto add = [](std::uint32_t a, std::uint32_t b) { return a + b; };
  if (ref.insert_or_apply(tile, words[i], 1u, add) == espalier::write_result::out_of_nodes) *full = 1;
}

bool has_gpu() {
  for (const auto& d : espalier::device::all()) {
    if (d.kind() == espalier::device_kind::cuda) return true;
  }
  return false;
}

}  // namespace

int main() {
  if (!has_gpu()) {
    std::puts("no GPU: skipped");
    return 77;
  }
  cudaStream_t s = nullptr;
  if (cudaStreamCreate(&s) != cudaSuccess) return 1;
  {
    const auto gpu = espalier::device::cuda();
    const auto dev = gpu.with_pool(espalier::cuda_pool(program_memory{}, gpu));
    constexpr unsigned n = 100'000, vocabulary = 1'000;
    std::vector<std::uint32_t> words(n), asked(vocabulary), times(vocabulary);
    for (unsigned i = 0; i < n; ++i) words[i] = i % vocabulary;
    for (unsigned i = 0; i < vocabulary; ++i) asked[i] = i;

    // A cudaStream_t stands wherever a stream does; so do cuda::stream_ref and rmm::cuda_stream_view.
    map counts(dev, {}, s);
    const auto in = espalier::to_device(dev, std::span(words), s);
    const espalier::buffer<unsigned> full(dev, 1, s);
    dev.fill(full.data(), 0, full.bytes(), s);
    count<<<n * 8 / 256, 256, 0, s>>>(counts.ref(n), in.data(), n, full.data());
    if (cudaStreamSynchronize(s) != cudaSuccess || full.to_vector()[0] != 0) return 1;
    counts.maintain(s);

    counts.find(asked, times, s);
    for (const std::uint32_t t : times) {
      if (t != n / vocabulary) return 1;
    }
    std::printf("%u words counted, %zu different ones\n", n, counts.size());
  }
  return cudaStreamDestroy(s) == cudaSuccess ? 0 : 1;
}
