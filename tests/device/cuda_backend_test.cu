// cuda_backend_test.cu - launches, sorts, scans and memory of every GPU; skipped without one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/scan_cases.hpp"
#include "device/sort_cases.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

class cuda_backend_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda) gpus_.push_back(d);
    }
    if (gpus_.empty()) GTEST_SKIP() << "no GPU";
  }
  std::vector<device> gpus_;
};

struct add_index {
  std::uint64_t* out;
  __device__ void operator()(std::size_t i) const { out[i] += 3 * i; }
};

struct mark_if_divisible {
  std::uint8_t* out;
  __device__ void operator()(std::size_t i) const {
    if (i % 0x10000001 == 0) out[i / 0x10000001] += 1;
  }
};

TEST_F(cuda_backend_test, for_each_visits_every_index_once_on_any_stream) {
  for (const device& d : gpus_) {
    const cuda_backend backend(d);
    for (const stream& s : {stream(), d.default_stream(), d.make_stream()}) {
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{257}, std::size_t{1} << 20}) {
        const buffer<std::uint64_t> out(d, n, s);
        d.fill(out.data(), 0, out.bytes(), s);
        backend.for_each(s, n, add_index{out.data()});
        std::vector<std::uint64_t> expected(n);
        for (std::size_t i = 0; i < n; ++i) expected[i] = 3 * i;
        EXPECT_EQ(out.to_vector(), expected);
        for (const std::size_t most : {std::size_t{0}, std::size_t{1000}, n + 1}) {
          d.fill(out.data(), 0, out.bytes(), s);
          backend.for_each(s, n, add_index{out.data()}, most);
          EXPECT_EQ(out.to_vector(), expected) << "at most " << most << " at once";
        }
      }
    }
  }
}

TEST_F(cuda_backend_test, for_each_reaches_beyond_32_bits) {
  for (const device& d : gpus_) {
    constexpr std::size_t n = std::size_t{40} * 0x10000001;  // 10.7 thousand million
    const buffer<std::uint8_t> out(d, 40);
    d.fill(out.data(), 0, 40, {});
    cuda_backend(d).for_each({}, n, mark_if_divisible{out.data()});
    EXPECT_EQ(out.to_vector(), std::vector<std::uint8_t>(40, 1));
  }
}

/// Every lane adds its vote: a team of L lanes must be called by all of them, with one index.
struct count_lanes {
  unsigned* out;
  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    atomicAdd(out + i, 1u);
    const auto same = team.once([i] { return i; });
    if (same != i) atomicAdd(out + i, 1000u);
  }
};

template <unsigned Lanes>
void every_lane_is_called(const device& d) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{10007}}) {
    const buffer<unsigned> out(d, n);
    d.fill(out.data(), 0, out.bytes(), d.default_stream());
    cuda_backend(d).for_each_team<tile<Lanes>>(d.default_stream(), n, count_lanes{out.data()});
    EXPECT_EQ(out.to_vector(), std::vector<unsigned>(n, Lanes)) << Lanes << " lanes, " << n;
  }
}

TEST_F(cuda_backend_test, for_each_team_calls_all_lanes_of_one_team_per_index) {
  for (const device& d : gpus_) {
    every_lane_is_called<1>(d);
    every_lane_is_called<4>(d);
    every_lane_is_called<32>(d);
  }
}

TEST_F(cuda_backend_test, sort_pairs_from_leaves_its_input_and_sorts_stably) {
  for (const device& d : gpus_) {
    constexpr std::size_t n = 100003;
    std::vector<std::uint64_t> keys(n);
    std::vector<std::uint32_t> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = (i * 0x9e3779b97f4a7c15u) >> 52;
      values[i] = static_cast<std::uint32_t>(i);
    }
    const auto k = to_device(d, std::span(keys)), sorted_k = buffer<std::uint64_t>(d, n);
    const auto v = to_device(d, std::span(values)), sorted_v = buffer<std::uint32_t>(d, n);
    cuda_backend(d).sort_pairs_from(d.default_stream(), k.data(), sorted_k.data(), v.data(), sorted_v.data(), 4, n, 0,
                                    64);
    EXPECT_EQ(k.to_vector(), keys);
    EXPECT_EQ(v.to_vector(), values);
    std::stable_sort(values.begin(), values.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    EXPECT_EQ(sorted_v.to_vector(), values);
  }
}

TEST_F(cuda_backend_test, tells_the_size_of_the_gpu) {
  for (const device& d : gpus_) {
    const cuda_backend backend(d);
    EXPECT_GT(backend.sm_count(), 0);
    EXPECT_GT(backend.l2_bytes(), std::size_t{1} << 20);
    EXPECT_GE(backend.shared_bytes(), std::size_t{48} << 10);
  }
  EXPECT_THROW(cuda_backend(device::cpu()), error);
}

template <class Word>
sort_function<Word> sort_on(const device& d, const stream& s) {
  return [d, s](std::vector<Word>& keys, std::vector<unsigned char>& values, unsigned value_bytes, unsigned begin_bit,
                unsigned end_bit) {
    auto k = to_device(d, std::span(keys), s);
    auto v = to_device(d, std::span(values), s);
    const buffer<Word> k_alt(d, keys.size(), s);
    const buffer<unsigned char> v_alt(d, values.size(), s);
    const bool in_alt = cuda_backend(d).sort_pairs(s, k.data(), k_alt.data(), v.data(), v_alt.data(), value_bytes,
                                                   keys.size(), begin_bit, end_bit);
    keys = (in_alt ? k_alt : k).to_vector();
    values = (in_alt ? v_alt : v).to_vector();
  };
}

TEST_F(cuda_backend_test, sorts_32_bit_keys_stably) {
  for (const device& d : gpus_) check_sorts<std::uint32_t>(sort_on<std::uint32_t>(d, {}));
}
TEST_F(cuda_backend_test, sorts_64_bit_keys_stably) {
  for (const device& d : gpus_) check_sorts<std::uint64_t>(sort_on<std::uint64_t>(d, d.make_stream()));
}
TEST_F(cuda_backend_test, Large_sorts_are_stable) {
  for (const device& d : gpus_) {
    check_large_sorts<std::uint32_t>(sort_on<std::uint32_t>(d, {}));
    check_large_sorts<std::uint64_t>(sort_on<std::uint64_t>(d, {}));
  }
}

TEST_F(cuda_backend_test, sort_without_scratch_memory_changes_nothing) {
  for (const device& d : gpus_) {
    const auto pool = std::make_shared<failing_pool>(d.pool(), 1);
    std::vector<std::uint32_t> keys(100000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(keys.size() - i);
    const auto k = to_device(d, std::span(keys));
    const buffer<std::uint32_t> alt(d, keys.size());
    EXPECT_THROW((void)cuda_backend(d.with_pool(pool))
                     .sort_pairs({}, k.data(), alt.data(), nullptr, nullptr, 0, keys.size(), 0, 32),
                 out_of_memory);
    EXPECT_EQ(k.to_vector(), keys);
    EXPECT_EQ(pool->live_blocks(), 0u);
  }
}

template <class T>
scan_function<T> scan_on(const device& d) {
  return [d](const std::vector<T>& elements, bool in_place) {
    const auto in = to_device(d, std::span(elements));
    const buffer<T> out(d, elements.size());
    cuda_backend(d).exclusive_scan({}, in.data(), in_place ? in.data() : out.data(), elements.size());
    return (in_place ? in : out).to_vector();
  };
}

TEST_F(cuda_backend_test, scans_u64) {
  for (const device& d : gpus_) check_scans<std::uint64_t>(scan_on<std::uint64_t>(d));
}
TEST_F(cuda_backend_test, scans_i64) {
  for (const device& d : gpus_) check_scans<std::int64_t>(scan_on<std::int64_t>(d));
}
TEST_F(cuda_backend_test, scans_int128) {
  for (const device& d : gpus_) check_scans<int128>(scan_on<int128>(d));
}

TEST_F(cuda_backend_test, memory_that_was_given_back_serves_other_sizes_when_the_gpu_is_full) {
  for (const device& d : gpus_) {
    const std::size_t most = d.memory().free / 10 * 8;
    { const raw_buffer all(d, most, {}); }
    const stream s = d.make_stream();  // not the stream that gave it back
    const raw_buffer half(d, most / 2, s);
    const raw_buffer rest(d, most / 8 * 3, s);
    EXPECT_THROW(raw_buffer(d, most / 2, s), out_of_memory);
    s.synchronize();
  }
}

TEST_F(cuda_backend_test, a_wrapped_stream_is_not_destroyed) {
  for (const device& d : gpus_) {
    const detail::device_guard guard(d.ordinal());
    cudaStream_t native = nullptr;
    ASSERT_EQ(cudaStreamCreate(&native), cudaSuccess);
    {
      const stream s = d.wrap_stream(native);
      EXPECT_EQ(s.native(), native);
      const buffer<int> b(d, 100, s);
      d.fill(b.data(), 0, b.bytes(), s);
      s.synchronize();
    }
    EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
  }
}

TEST_F(cuda_backend_test, pinned_host_memory_is_not_local) {
  for (const device& d : gpus_) {
    const detail::device_guard guard(d.ordinal());
    void* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
    EXPECT_FALSE(d.is_local(pinned));
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  }
}

TEST_F(cuda_backend_test, a_bad_call_is_an_error_once) {
  for (const device& d : gpus_) {
    EXPECT_THROW(detail::check_cuda(cudaSetDevice(1000), "cudaSetDevice"), error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    d.default_stream().synchronize();
  }
}

}  // namespace
}  // namespace espalier::test
