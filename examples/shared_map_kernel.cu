// shared_map_kernel.cu - an ordered map on the GPU that the tiles of your own kernel write and read concurrently.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/tile.cuh"

namespace {

using map = espalier::blink_tree<std::uint32_t, std::uint32_t>;
using team = espalier::tile<4>;  // four lanes process a node together

// Each tile adds one edge (a, b) of a graph: b stores its smallest neighbour so far.
__global__ void join(map::ref_type ref, const std::uint32_t* a, const std::uint32_t* b, unsigned n, unsigned* full) {
  const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / team::lanes();
  if (i >= n) return;
  const team tile;
  // The value is read and written under one latch, so that no smaller neighbour is lost to another tile.
  const auto smaller = [](std::uint32_t x, std::uint32_t y) { return x < y ? x : y; };
  if (ref.insert_or_apply(tile, b[i], a[i], smaller) == espalier::write_result::out_of_nodes) *full = 1;
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
  const auto gpu = espalier::device::cuda();
  constexpr unsigned n = 100'000, nodes = 1'000;
  std::vector<std::uint32_t> a(n), b(n);
  for (unsigned i = 0; i < n; ++i) {
    b[i] = i % nodes;  // a hundred tiles write to each
    a[i] = i * 2654435761u;
  }
  const auto da = espalier::to_device(gpu, std::span(a)), db = espalier::to_device(gpu, std::span(b));
  map neighbours(gpu);
  const auto order = gpu.default_stream();
  const espalier::buffer<unsigned> full(gpu, 1, order);
  gpu.fill(full.data(), 0, full.bytes(), order);
  join<<<(n * team::lanes() + 255) / 256, 256, 0, static_cast<cudaStream_t>(order.native())>>>(
      neighbours.ref(n), da.data(), db.data(), n, full.data());
  order.synchronize();
  neighbours.maintain();
  std::vector<std::uint32_t> smallest(nodes, ~0u), out(n);
  for (unsigned i = 0; i < n; ++i) smallest[b[i]] = std::min(smallest[b[i]], a[i]);
  neighbours.find(b, out);
  for (unsigned i = 0; i < n; ++i) {
    if (out[i] != smallest[b[i]]) return 1;
  }
  if (full.to_vector()[0] != 0) return 1;
  std::printf("%u edges joined by tiles of a kernel, %zu nodes\n", n, neighbours.size());
  return 0;
}
