// tile_test.cu - tiles of every width against the reference: each case by one tile, all cases in one launch.
#include <cuda_runtime.h>

#include <memory>

#include "espalier/team/scalar_team.hpp"
#include "espalier/team/tile.cuh"
#include "tests/team/operations.hpp"

namespace espalier::test {
namespace {

static_assert(Team<tile<1>> && Team<tile<2>> && Team<tile<4>> && Team<tile<8>> && Team<tile<16>> && Team<tile<32>>);

struct cuda_free {
  void operator()(void* p) const { cudaFree(p); }
};
template <class T>
using device_array = std::unique_ptr<T, cuda_free>;

template <class T>
device_array<T> copy_to_gpu(const std::vector<T>& host) {
  T* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, host.size() * sizeof(T)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  return device_array<T>(p);
}

template <unsigned Lanes, unsigned First, class X, unsigned N>
__global__ void perform_on_tiles(const team_case<X, N>* cases, std::size_t n, outcome<X, N>* out) {
  const std::size_t i = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / Lanes;
  if (i < n) perform<First>(tile<Lanes>{}, cases[i], out[i]);
}

template <unsigned Lanes>
struct against_reference {
  template <class X, unsigned N, unsigned First>
  void operator()(shape<X, N, First> s) const {
    const auto cases = make_cases<X, N, First>();
    std::vector<outcome<X, N>> got(cases.size());
    const auto device_cases = copy_to_gpu(cases);
    const auto device_out = copy_to_gpu(got);
    const unsigned threads = 128;
    const auto blocks = static_cast<unsigned>((cases.size() * Lanes + threads - 1) / threads);
    perform_on_tiles<Lanes, First><<<blocks, threads>>>(device_cases.get(), cases.size(), device_out.get());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(got.data(), device_out.get(), got.size() * sizeof(got[0]), cudaMemcpyDeviceToHost),
              cudaSuccess);
    expect_same(perform_all<First>(scalar_team{}, cases), got, s.name() + ", " + std::to_string(Lanes) + " lanes");
  }
};

template <unsigned Lanes>
void check_tile() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) GTEST_SKIP() << "no GPU";
  for_each_shape(small_shapes{}, against_reference<Lanes>{});
}

TEST(tile, of_1_lane_agrees_with_reference) { check_tile<1>(); }
TEST(tile, of_2_lanes_agrees_with_reference) { check_tile<2>(); }
TEST(tile, of_4_lanes_agrees_with_reference) { check_tile<4>(); }
TEST(tile, of_8_lanes_agrees_with_reference) { check_tile<8>(); }
TEST(tile, of_16_lanes_agrees_with_reference) { check_tile<16>(); }
TEST(tile, of_32_lanes_agrees_with_reference) { check_tile<32>(); }

}  // namespace
}  // namespace espalier::test
