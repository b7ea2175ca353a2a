// cuda_stream_argument_gpu_test.cu - CUDA streams of the caller where a stream is taken: calls run in their order, and
// the handle waits for them. Skipped without a GPU.
#include <gtest/gtest.h>

#include <cuda_runtime.h>
#include <cuda/stream_ref>

#include <concepts>
#include <cstdint>
#include <future>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "device/device_impl.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

static_assert(std::is_same_v<cudaStream_t, CUstream_st*>, "device.hpp declares it without CUDA's headers");
static_assert(std::convertible_to<cudaStream_t, stream>);
static_assert(std::convertible_to<cuda::stream_ref, stream>);

class cuda_stream_argument_gpu_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda && !gpu_) gpu_ = d;
    }
    if (!gpu_) GTEST_SKIP() << "no GPU";
    const detail::device_guard guard(gpu().ordinal());
    ASSERT_EQ(cudaStreamCreateWithFlags(&mine_, cudaStreamNonBlocking), cudaSuccess);
    keys_.resize(3000);
    std::iota(keys_.begin(), keys_.end(), 7u);
  }
  void TearDown() override {
    if (mine_ != nullptr) EXPECT_EQ(cudaStreamDestroy(mine_), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  [[nodiscard]] const device& gpu() const { return *gpu_; }
  /// The stream stands still until `open` is set.
  static void close(cudaStream_t s, std::promise<void>& open) {
    const auto wait = [](void* p) { static_cast<std::promise<void>*>(p)->get_future().wait(); };
    ASSERT_EQ(cudaLaunchHostFunc(s, wait, &open), cudaSuccess);
  }

  std::optional<device> gpu_;
  cudaStream_t mine_ = nullptr;
  std::vector<std::uint32_t> keys_;
};

TEST_F(cuda_stream_argument_gpu_test, blocking_calls_of_all_trees_take_it) {
  std::vector<std::uint32_t> out(keys_.size());
  const cuda::stream_ref ref(mine_);
  const auto sorted = static_tree<std::uint32_t, std::uint32_t>::build(keys_, keys_, {}, gpu(), mine_);
  sorted.find(keys_, out, ref);
  EXPECT_EQ(out, keys_);

  blink_tree<std::uint32_t, std::uint32_t> map(gpu(), {}, ref);
  map.insert(keys_, keys_, mine_);
  out.assign(keys_.size(), 0);
  map.find(keys_, out, mine_);
  EXPECT_EQ(out, keys_);
  map.erase(keys_, {}, {}, ref);
  EXPECT_TRUE(map.empty());

  std::vector<std::string> names;
  for (const std::uint32_t k : keys_) names.push_back(std::to_string(k));
  radix_tree<std::uint32_t> bytes(gpu(), {}, mine_);
  bytes.insert(names, keys_, mine_);
  out.assign(keys_.size(), 0);
  bytes.find(names, out, ref);
  EXPECT_EQ(out, keys_);
}

TEST_F(cuda_stream_argument_gpu_test, work_is_enqueued_in_its_order) {
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys_, keys_, {}, gpu());
  const auto queries = to_device(gpu(), std::span(keys_), mine_);
  const buffer<std::uint32_t> out(gpu(), keys_.size(), mine_);
  gpu().fill(out.data(), 0xff, out.bytes(), mine_);
  ASSERT_EQ(cudaStreamSynchronize(mine_), cudaSuccess);
  std::promise<void> open;
  close(mine_, open);
  // The queries are overwritten behind the closed gate: a call in another stream would find the keys.
  const detail::device_guard guard(gpu().ordinal());
  gpu().fill(queries.data(), 0, queries.bytes(), mine_);
  tree.find_async(queries.span(), out.span(), mine_);
  const stream handle = mine_;
  EXPECT_FALSE(handle.is_done());
  EXPECT_EQ(cudaStreamQuery(mine_), cudaErrorNotReady);
  (void)cudaGetLastError();
  open.set_value();
  handle.synchronize();
  EXPECT_TRUE(handle.is_done());
  EXPECT_EQ(out.to_vector(), std::vector<std::uint32_t>(keys_.size(), 0)) << "there is no key 0";
}

TEST_F(cuda_stream_argument_gpu_test, marks_order_it_with_other_streams) {
  const stream other = gpu().make_stream();
  const buffer<std::uint8_t> value(gpu(), 1, other);
  gpu().fill(value.data(), 1, 1, other);
  other.synchronize();
  std::promise<void> open;
  close(mine_, open);
  gpu().fill(value.data(), 2, 1, mine_);
  const stream handle = mine_;
  other.wait_for(handle.mark());
  gpu().fill(value.data(), 3, 1, other);
  EXPECT_FALSE(other.is_done());
  open.set_value();
  handle.wait_for(other.mark());
  EXPECT_EQ(value.to_vector(), std::vector<std::uint8_t>{3});
  handle.synchronize();
}

TEST_F(cuda_stream_argument_gpu_test, default_streams_of_cuda_are_those_of_the_gpu_of_the_tree) {
  std::vector<std::uint32_t> out(keys_.size());
  blink_tree<std::uint32_t, std::uint32_t> map(gpu());
  const cudaStream_t null = nullptr;
  for (const cudaStream_t s : {null, cudaStreamLegacy, cudaStreamPerThread}) {
    map.insert_or_assign(keys_, keys_, s);
    out.assign(keys_.size(), 0);
    map.find(keys_, out, s);
    EXPECT_EQ(out, keys_);
    map.find_async(keys_, out, s);
    EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  }
}

TEST_F(cuda_stream_argument_gpu_test, is_the_stream_that_wrap_stream_makes) {
  EXPECT_EQ(gpu().resolve(mine_).state()->id(), gpu().wrap_stream(mine_).state()->id());
  EXPECT_EQ(stream(mine_).state()->id(), gpu().wrap_stream(mine_).state()->id());
}

TEST_F(cuda_stream_argument_gpu_test, a_cpu_tree_refuses_it) {
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys_, keys_, {}, device::cpu(1));
  std::vector<std::uint32_t> out(keys_.size());
  EXPECT_THROW(tree.find(keys_, out, mine_), error);
  EXPECT_THROW(tree.find(keys_, out, cuda::stream_ref(mine_)), error);
}

}  // namespace
}  // namespace espalier::test
