// cuda_memory_resource_test.cu - trees in memory of cuda::mr resources of the caller: every byte comes from the
// resource and returns to it, and failures are errors of the library. Skipped without a GPU; that resources of the
// toolkit and of later ones are accepted is checked at compile time.
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE  // of CCCL 3.0, which comes with CUDA 13.0

#include <gtest/gtest.h>

#include <cuda_runtime.h>
#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/device/cuda_memory_resource.cuh"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

/// A resource of a user, by the concept cuda::mr::async_resource of CCCL 3.0. It counts its memory and fails on demand.
class counting_resource {
 public:
  [[nodiscard]] void* allocate_async(std::size_t bytes, std::size_t alignment, cuda::stream_ref s) {
    ++requests;
    if (alignment != 256) throw std::logic_error("256 bytes are what trees need");
    if (failures != 0) {
      --failures;
      if (throws_bad_alloc) throw std::bad_alloc();
      throw std::runtime_error("the resource is broken");
    }
    void* p = nullptr;
    if (cudaMallocAsync(&p, bytes, s.get()) != cudaSuccess) {
      (void)cudaGetLastError();
      throw std::runtime_error("cudaMallocAsync failed");  // as cuda::cuda_error, without telling why
    }
    live_bytes += bytes;
    last = s.get();
    return p;
  }
  void deallocate_async(void* p, std::size_t bytes, std::size_t, cuda::stream_ref s) {
    live_bytes -= bytes;
    (void)cudaFreeAsync(p, s.get());
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return allocate_async(bytes, alignment, cuda::stream_ref(cudaStreamLegacy));
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) {
    deallocate_async(p, bytes, alignment, cuda::stream_ref(cudaStreamLegacy));
  }
  [[maybe_unused]] friend bool operator==(const counting_resource& a, const counting_resource& b) { return &a == &b; }
  [[maybe_unused]] friend bool operator!=(const counting_resource& a, const counting_resource& b) { return &a != &b; }
  [[maybe_unused]] friend void get_property(const counting_resource&, cuda::mr::device_accessible) {}

  std::atomic<std::size_t> requests{0}, live_bytes{0}, failures{0};
  std::atomic<bool> throws_bad_alloc{true};
  std::atomic<cudaStream_t> last{nullptr};
};

/// The same by the names of CCCL 3.1 and later; copies refer to one counter, as those of an owner do.
struct resource_of_later_cccl {
  [[nodiscard]] void* allocate(cuda::stream_ref s, std::size_t bytes, std::size_t alignment) {
    return upstream->allocate_async(bytes, alignment, s);
  }
  void deallocate(cuda::stream_ref s, void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream->deallocate_async(p, bytes, alignment, s);
  }
  counting_resource* upstream;
};

/// Fails all requests from this one on.
struct limited_resource : resource_of_later_cccl {
  [[nodiscard]] void* allocate(cuda::stream_ref s, std::size_t bytes, std::size_t alignment) {
    if (upstream->requests + 1 >= limit) throw std::bad_alloc();
    return resource_of_later_cccl::allocate(s, bytes, alignment);
  }
  std::size_t limit;
};

using toolkit_ref = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;
static_assert(cuda::mr::async_resource_with<counting_resource, cuda::mr::device_accessible>);
static_assert(CudaMemoryResource<counting_resource>);
static_assert(CudaMemoryResource<toolkit_ref>);
static_assert(CudaMemoryResource<resource_of_later_cccl>);
static_assert(!CudaMemoryResource<cuda::mr::resource_ref<cuda::mr::device_accessible>>, "not ordered by a stream");

TEST(cuda_memory_resource, a_cpu_is_no_gpu) {
  counting_resource mine;
  EXPECT_THROW((void)cuda_pool(toolkit_ref(mine), device::cpu(1)), error);
}

class cuda_memory_resource_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda && !gpu_) gpu_ = d;
    }
    if (!gpu_) GTEST_SKIP() << "no GPU";
  }
  void TearDown() override {
    EXPECT_EQ(mine_.live_bytes, 0u) << "what the resource gave came back";
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  [[nodiscard]] const device& gpu() const { return *gpu_; }
  [[nodiscard]] device over_mine() { return gpu().with_pool(cuda_pool(toolkit_ref(mine_), gpu())); }

  counting_resource mine_;
  std::optional<device> gpu_;
};

/// Builds, writes and reads each kind of tree on this device.
void use_all_trees(const device& dev) {
  std::vector<std::uint32_t> keys(20'000), out(keys.size());
  std::iota(keys.begin(), keys.end(), 5u);
  std::vector<std::uint8_t> found(keys.size());

  const auto sorted = static_tree<std::uint32_t, std::uint32_t>::build(keys, keys, {}, dev);
  sorted.find(keys, out, found);
  EXPECT_EQ(out, keys);
  EXPECT_TRUE(sorted.validate().ok);

  blink_tree<std::uint32_t, std::uint32_t> map(dev);
  map.insert(keys, keys);
  out.assign(keys.size(), 0);
  map.find(keys, out);
  EXPECT_EQ(out, keys);
  const std::vector<std::uint32_t> lo{10}, hi{19};
  const auto ten = map.range(lo, hi);
  EXPECT_EQ(ten.keys.size(), 10u);
  map.erase(std::span(keys).first(1000));
  EXPECT_EQ(map.size(), keys.size() - 1000);
  EXPECT_TRUE(map.validate().ok);

  std::vector<std::string> names;
  for (const std::uint32_t k : std::span(keys).first(500)) names.push_back("key " + std::to_string(k));
  const auto values = std::span(keys).first(500);
  const auto bytes = radix_tree<std::uint32_t>::build(names, values, {}, dev);
  out.assign(500, 0);
  bytes.find(names, out);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), values.begin()));
}

TEST_F(cuda_memory_resource_test, all_memory_of_trees_comes_from_it_and_returns) {
  use_all_trees(over_mine());
  EXPECT_GT(mine_.requests, 10u);
}

TEST_F(cuda_memory_resource_test, a_resource_with_the_names_of_later_libraries_serves_too) {
  use_all_trees(gpu().with_pool(cuda_pool(resource_of_later_cccl{&mine_}, gpu())));
  EXPECT_GT(mine_.requests, 10u);
}

TEST_F(cuda_memory_resource_test, memory_is_taken_in_the_order_of_the_stream) {
  cudaStream_t native = nullptr;
  const detail::device_guard guard(gpu().ordinal());
  ASSERT_EQ(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), cudaSuccess);
  {
    const buffer<std::uint32_t> b(over_mine(), 1000, native);
    EXPECT_EQ(mine_.last.load(), native);
    EXPECT_EQ(mine_.live_bytes, 4000u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 256, 0u);
  }
  EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
}

TEST_F(cuda_memory_resource_test, a_failure_that_passes_is_not_seen_and_one_that_stays_is_out_of_memory) {
  const device dev = over_mine();
  mine_.failures = 1;
  { const raw_buffer b(dev, 1 << 20, {}); }
  mine_.failures = 2;
  try {
    const raw_buffer b(dev, 1 << 20, {});
    FAIL() << "the resource failed twice";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(e.asked(), std::size_t{1} << 20);
    EXPECT_GT(e.free(), 0u);
  }
}

TEST_F(cuda_memory_resource_test, other_exceptions_pass_through_unless_the_gpu_is_full) {
  const device dev = over_mine();
  mine_.throws_bad_alloc = false;
  mine_.failures = 2;
  try {
    const raw_buffer b(dev, 1 << 20, {});
    FAIL() << "the resource failed twice";
  } catch (const error& e) {
    FAIL() << "the GPU has that memory: " << e.what();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "the resource is broken");
  }
  EXPECT_THROW(raw_buffer(dev, std::size_t{1} << 44, {}), out_of_memory);
}

TEST_F(cuda_memory_resource_test, a_build_without_memory_gives_back_what_it_took) {
  std::vector<std::uint32_t> keys(10'000);
  std::iota(keys.begin(), keys.end(), 0u);
  for (std::size_t last = 1;; ++last) {
    ASSERT_LT(last, 1000u);
    mine_.requests = 0;
    const device short_of_memory = gpu().with_pool(cuda_pool(limited_resource{{&mine_}, last}, gpu()));
    try {
      const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys, keys, {}, short_of_memory);
      EXPECT_EQ(tree.size(), keys.size());
      break;
    } catch (const out_of_memory&) {
      EXPECT_EQ(mine_.live_bytes, 0u);
    }
  }
}

}  // namespace
}  // namespace espalier::test
