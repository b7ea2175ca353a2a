// shared_map_kernel.cu - an ordered map on the GPU, written and read by the tiles of your own kernel at once.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/tile.cuh"

namespace {

using map = espalier::blink_tree<std::uint32_t, std::uint32_t>;
using team = espalier::tile<4>;  // four lanes work on a node together

// Each tile joins one edge (a, b) of a graph: b remembers its smallest neighbour so far.
__global__ void join(map::ref_type ref, const std::uint32_t* a, const std::uint32_t* b, unsigned n) {
  const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / team::lanes();
  if (i >= n) return;
  const team tile;
  std::uint32_t smallest = 0;
  if (ref.insert(tile, b[i], a[i]) == espalier::blink_outcome::unchanged && ref.find(tile, b[i], smallest) &&
      a[i] < smallest)
    ref.update(tile, b[i], a[i]);
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
  constexpr unsigned n = 100'000;
  std::vector<std::uint32_t> a(n), b(n);
  for (unsigned i = 0; i < n; ++i) {
    b[i] = i * 2654435761u;  // all different, so one tile each
    a[i] = i;
  }
  const auto da = espalier::to_device(gpu, std::span(a)), db = espalier::to_device(gpu, std::span(b));
  map neighbours(gpu);
  const auto order = gpu.default_stream();
  join<<<(n * team::lanes() + 255) / 256, 256, 0, static_cast<cudaStream_t>(order.native())>>>(neighbours.ref(n),
                                                                                               da.data(), db.data(), n);
  order.synchronize();
  neighbours.maintain();
  std::vector<std::uint32_t> out(n);
  std::vector<std::uint8_t> found(n);
  neighbours.find(b, out, found);
  for (unsigned i = 0; i < n; ++i) {
    if (found[i] == 0 || out[i] != a[i]) return 1;
  }
  std::printf("%zu keys inserted by tiles of a kernel\n", neighbours.size());
  return 0;
}
