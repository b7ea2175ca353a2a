// gpu_kernel.cu - a ref in your own kernel: each thread performs one lookup as a part of its work.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/tile.cuh"

namespace {

using index_type = espalier::static_tree<std::uint32_t, float>;

// For each reading, finds the nearest calibrated point at or above it, its distance and its value.
__global__ void calibrate(index_type::ref_type ref, const std::uint32_t* readings, unsigned n, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint64_t rank = ref.rank(espalier::tile<1>{}, readings[i]);
  out[i] = rank == ref.size() ? -1.0f : ref.value_at(rank) - static_cast<float>(ref.key_at(rank) - readings[i]);
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
  std::vector<std::uint32_t> points(10'000);
  std::vector<float> values(points.size());
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    points[i] = 100 * i;
    values[i] = 100.0f * static_cast<float>(i);
  }
  const auto tree = index_type::build(points, values, {.sorted = true}, gpu);

  std::vector<std::uint32_t> readings(5'000);
  for (std::uint32_t i = 0; i < readings.size(); ++i) readings[i] = 199 * i;
  const auto in = espalier::to_device(gpu, std::span(readings));
  const espalier::buffer<float> out(gpu, readings.size());
  const auto order = gpu.default_stream();
  calibrate<<<20, 256, 0, static_cast<cudaStream_t>(order.native())>>>(tree.ref(), in.data(), 5'000, out.data());

  const std::vector<float> corrected = out.to_vector();  // waits for the stream
  for (std::size_t i = 0; i < corrected.size(); ++i) {
    if (corrected[i] != static_cast<float>(readings[i])) return 1;
  }
  std::printf("%zu readings calibrated in a kernel\n", corrected.size());
  return 0;
}
