// cooperative_groups_test.cu - tiles of cooperative groups as teams: a kernel gives them to refs of all trees. Skipped
// without a GPU.
#include <gtest/gtest.h>

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::test {
namespace {

namespace cg = cooperative_groups;

using map = blink_tree<std::uint32_t, std::uint32_t>;
using sorted_map = static_tree<std::uint32_t, std::uint32_t>;
using byte_map = radix_tree<std::uint32_t>;

static_assert(std::is_same_v<team_for_t<cg::thread_block_tile<8>>, tile<8>>);
static_assert(std::is_same_v<team_for_t<tile<8>>, tile<8>>);
static_assert(std::is_convertible_v<cg::thread_block_tile<8>, tile<8>>);
static_assert(!std::is_convertible_v<cg::thread_block_tile<8>, tile<4>>);

constexpr std::uint32_t shared_key = 1'000'000'000;

struct sum {
  __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a + b; }
};

/// The group of this thread writes keys[i]: odd keys stay, even ones are erased again.
template <class Group>
__device__ bool writes(const map::ref_type& ref, const Group& group, std::uint32_t key) {
  std::uint32_t value = 0;
  bool right = ref.insert(group, key, key + 1) == write_result::inserted;
  right &= ref.insert(group, key, 0u) == write_result::exists;
  right &= ref.find(group, key, value) && value == key + 1;
  right &= ref.insert_or_assign(group, key, key + 2) == write_result::assigned;
  right &= ref.update(group, key, key + 3) == write_result::assigned;
  right &= ref.insert_or_apply(group, shared_key, 1u, sum{}) != write_result::out_of_nodes;
  right &= ref.contains(group, key);
  std::uint32_t next = 0;
  right &= ref.lower_bound(group, key, next, value) && next == key && value == key + 3;
  unsigned elements = 0;
  ref.range(group, key, key, [&](std::uint32_t, std::uint32_t) { return ++elements < 10; });
  right &= elements == 1;
  if (key % 2 == 0) right &= ref.erase(group, key) == write_result::erased;
  return right;
}

/// The group of this thread reads element i of both trees, whose key is `key`; the byte key is its 4 bytes.
template <class Group>
__device__ bool reads(const sorted_map::ref_type& sorted, const radix_tree_ref<std::uint32_t>& bytes,
                      const Group& group, std::uint32_t key, unsigned i) {
  std::uint32_t value = 0, next = 0;
  bool right = sorted.find(group, key, value) && value == i;
  right &= sorted.rank(group, key) == i && sorted.contains(group, key);
  right &= sorted.lower_bound(group, key, next, value) && next == key;
  right &= !sorted.contains(group, key + 1);
  const std::uint8_t text[4] = {static_cast<std::uint8_t>(key >> 24), static_cast<std::uint8_t>(key >> 16),
                                static_cast<std::uint8_t>(key >> 8), static_cast<std::uint8_t>(key)};
  const auto name = radix_tree_ref<std::uint32_t>::key(text, 4);
  right &= bytes.find(group, name, value) && value == i;
  right &= bytes.contains(group, name) && bytes.rank(group, name) == i;
  return right;
}

/// How the tiles of a kernel are made.
enum class made { of_the_block, of_a_warp, without_parent, named };

template <unsigned Width, made How>
__global__ void use_groups(map::ref_type ref, sorted_map::ref_type sorted, radix_tree_ref<std::uint32_t> bytes,
                           const std::uint32_t* keys, unsigned n, unsigned* wrong) {
  const auto block = cg::this_thread_block();
  const unsigned i = (blockIdx.x * block.size() + block.thread_rank()) / Width;
  if (i >= n) return;
  const auto all = [&](const auto& group) {
    return writes(ref, group, keys[i]) && reads(sorted, bytes, group, keys[i], i);
  };
  bool right;
  if constexpr (How == made::of_the_block) {
    right = all(cg::tiled_partition<Width>(block));
  } else if constexpr (How == made::of_a_warp) {
    right = all(cg::tiled_partition<Width>(cg::tiled_partition<32>(block)));
  } else if constexpr (How == made::without_parent) {
    const cg::thread_block_tile<Width> group = cg::tiled_partition<Width>(block);
    right = all(group);
  } else {
    const auto team = team_of(cg::tiled_partition<Width>(block));
    static_assert(std::is_same_v<decltype(team), const tile<Width>>);
    right = all(team);
  }
  if (!right) atomicAdd(wrong, 1u);
}

class cooperative_groups_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda && !gpu_) gpu_ = d;
    }
    if (!gpu_) GTEST_SKIP() << "no GPU";
  }

  template <unsigned Width, made How>
  void check() {
    SCOPED_TRACE(std::to_string(Width) + " threads, made in way " + std::to_string(static_cast<int>(How)));
    const device& gpu = *gpu_;
    std::vector<std::uint32_t> keys(n), positions(n);
    std::vector<std::string> names;
    for (unsigned i = 0; i < n; ++i) {
      keys[i] = 3 * i;
      positions[i] = i;
      std::string name;
      for (const unsigned shift : {24u, 16u, 8u, 0u}) name.push_back(static_cast<char>(keys[i] >> shift & 255));
      names.push_back(name);
    }
    map written(gpu);
    const auto sorted = sorted_map::build(keys, positions, {}, gpu);
    const auto bytes = byte_map::build(names, positions, {}, gpu);
    const auto device_keys = to_device(gpu, std::span(keys));
    const stream order = gpu.default_stream();
    const buffer<unsigned> wrong(gpu, 1, order);
    gpu.fill(wrong.data(), 0, wrong.bytes(), order);
    const dim3 block(16, 8);  // tiles follow the linear number of a thread
    use_groups<Width, How><<<(n * Width + 127) / 128, block, 0, static_cast<cudaStream_t>(order.native())>>>(
        written.ref(n + 1), sorted.ref(), bytes.ref(), device_keys.data(), n, wrong.data());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(wrong.to_vector(), std::vector<unsigned>{0});
    written.maintain();
    EXPECT_EQ(written.find(shared_key), std::optional<std::uint32_t>(n)) << "every group counted once";
    EXPECT_EQ(written.size(), n / 2 + 1u);
    EXPECT_EQ(written.find(keys[1]), std::optional<std::uint32_t>(keys[1] + 3));
    EXPECT_EQ(written.find(keys[2]), std::nullopt);
    EXPECT_TRUE(written.validate().ok);
  }
  static constexpr unsigned n = 2000;
  std::optional<device> gpu_;
};

TEST_F(cooperative_groups_test, groups_of_1_thread_are_teams) { check<1, made::of_the_block>(); }
TEST_F(cooperative_groups_test, groups_of_4_threads_are_teams) {
  check<4, made::of_the_block>();
  check<4, made::of_a_warp>();
  check<4, made::without_parent>();
  check<4, made::named>();
}
TEST_F(cooperative_groups_test, groups_of_32_threads_are_teams) { check<32, made::of_the_block>(); }

}  // namespace
}  // namespace espalier::test
