// streams_gpu_test.cu - trees on a GPU and several streams: streams of callers may go, memory is freed behind its last
// use, and reads beside writes are right. Skipped without a GPU; compute-sanitizer --track-stream-ordered-races all
// runs it, too (scripts/test-gpu), with fewer keys (ESPALIER_GPU_TEST_KEYS).
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

using key_tree = blink_tree<std::uint32_t, std::uint32_t>;
using byte_tree = radix_tree<std::uint32_t>;
constexpr std::chrono::seconds min_idle_buckets{300};

/// Keys of the tests that move much memory.
[[nodiscard]] std::size_t many_keys() {
  const char* const wanted = std::getenv("ESPALIER_GPU_TEST_KEYS");
  return wanted == nullptr ? std::size_t{1} << 21 : std::max<std::size_t>(1000, std::strtoull(wanted, nullptr, 10));
}

class TreeStreamsGpu : public testing::Test {
 protected:
  void SetUp() override {
    for (const device& d : device::all()) {
      if (d.kind() == device_kind::cuda && !gpu_) gpu_ = d;
    }
    if (!gpu_) GTEST_SKIP() << "no GPU";
  }
  void TearDown() override { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }
  [[nodiscard]] const device& gpu() const { return *gpu_; }
  [[nodiscard]] static cudaStream_t make_native() {
    cudaStream_t s = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    return s;
  }
  /// first, first + step, ...
  [[nodiscard]] static std::vector<std::uint32_t> run_of(std::uint32_t first, std::uint32_t step, std::size_t n) {
    std::vector<std::uint32_t> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = first + step * static_cast<std::uint32_t>(i);
    return keys;
  }
  [[nodiscard]] static std::vector<std::string> strings_of(std::uint32_t first, std::uint32_t step, std::size_t n) {
    std::vector<std::string> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = "key " + std::to_string(first + step * i);
    return keys;
  }
  template <class Tree, class Keys>
  void expect_all(const Tree& tree, const Keys& keys, const char* when) {
    std::vector<std::uint32_t> values(keys.size());
    std::vector<std::uint8_t> found(keys.size());
    tree.find(keys, values, found);
    EXPECT_EQ(static_cast<std::size_t>(std::count(found.begin(), found.end(), 1)), keys.size()) << when;
  }

  std::optional<device> gpu_;
};

TEST_F(TreeStreamsGpu, SmallAStreamThatWasDestroyedIsHarmless) {
  const auto keys = run_of(0, 2, 5000), more = run_of(1, 2, 5000);
  const auto texts = strings_of(0, 2, 3000), more_texts = strings_of(1, 2, 3000);
  const std::vector<std::uint32_t> values(5000, 7);
  const auto of = [&](std::size_t n) { return std::span(values).first(n); };
  key_tree map = key_tree::build(keys, of(5000), {}, gpu());
  byte_tree bytes = byte_tree::build(texts, of(3000), {}, gpu());
  for (unsigned round = 0; round < 20; ++round) {
    const cudaStream_t native = make_native();
    std::vector<std::uint32_t> out(5000);
    std::vector<std::uint8_t> found(5000);
    map.find_async(keys, out, found, gpu().wrap_stream(native));
    EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
    bytes.find(texts, std::span(out).first(3000), std::span(found).first(3000), gpu().wrap_stream(native));
    if (round % 2 == 1) {  // it wrote, too
      map.erase(more, {}, {}, gpu().wrap_stream(native));
      bytes.erase(more_texts, {}, radix_path::automatic, gpu().wrap_stream(native));
    }
    EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
    map.insert(more, of(5000));
    bytes.insert(more_texts, of(3000));
  }
  expect_all(map, more, "in the map");
  expect_all(bytes, more_texts, "in the radix tree");
  EXPECT_TRUE(map.validate().ok);
  EXPECT_TRUE(bytes.validate().ok);
}

TEST_F(TreeStreamsGpu, SmallATreeOutlivesTheStreamThatWroteItLast) {
  const auto keys = run_of(0, 3, 4000);
  const auto texts = strings_of(0, 3, 4000);
  for (unsigned round = 0; round < 10; ++round) {
    const cudaStream_t native = make_native();
    const stream order = gpu().wrap_stream(native);
    {
      key_tree map(gpu(), {}, order);
      byte_tree bytes = byte_tree::build(texts, keys, {}, gpu(), order);
      map.insert(keys, keys, {}, {}, order);
      bytes.erase(std::span(texts).first(10), {}, radix_path::automatic, order);
      EXPECT_EQ(cudaStreamSynchronize(native), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
      EXPECT_EQ(map.size(), keys.size());
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "memory was given back to a stream that is gone";
  }
}

TEST_F(TreeStreamsGpu, SmallAStreamOfAnotherKindIsRefused) {
  const auto keys = run_of(0, 3, 100);
  const auto on_gpu = to_device(gpu(), std::span(keys));
  const buffer<std::uint32_t> out(gpu(), keys.size());
  const buffer<std::uint8_t> found(gpu(), keys.size());
  const stream other = device::cpu().make_stream();
  const std::span<const std::uint32_t> in = on_gpu.span();
  key_tree map = key_tree::build(in, in, {}, gpu());
  const auto flat = static_tree<std::uint32_t, std::uint32_t>::build(in, in, {}, gpu());
  EXPECT_THROW(map.find(in, out.span(), found.span(), other), error);
  EXPECT_THROW(map.find_async(in, out.span(), found.span(), other), error);
  EXPECT_THROW(map.insert(in, in, {}, {}, other), error);
  EXPECT_THROW(flat.find(in, out.span(), found.span(), {}, other), error);
  EXPECT_EQ(map.size(), keys.size());
}

/// Takes memory on a stream of its own, fills it, and gives it back, until it is destroyed: what others have given back
/// too early is overwritten.
class memory_hog {
 public:
  explicit memory_hog(const device& dev)
      : thread_([this, dev] {
          const stream order = dev.make_stream();
          for (std::size_t bytes = std::size_t{1} << 12; !stop_;
               bytes = bytes >= (std::size_t{1} << 26) ? 4096 : bytes * 2) {
            for (unsigned i = 0; i < 4; ++i) {
              const raw_buffer taken(dev, bytes, order);
              dev.fill(taken.data(), 0xff, bytes, order);
            }
            order.synchronize();
          }
        }) {}
  ~memory_hog() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(TreeStreamsGpu, SmallMemoryOfAMapIsFreedBehindItsLastUse) {
  within(min_idle_buckets, [&] {
    const std::size_t n = many_keys();
    const stream a = gpu().make_stream(), b = gpu().make_stream();
    const auto keys = run_of(0, 64, n);
    key_tree map = key_tree::build(keys, keys, {}, gpu(), a);
    {
      const memory_hog hog(gpu());
      for (std::uint32_t round = 1; round < 12; ++round) {
        const stream& order = round % 2 == 0 ? a : b;
        const auto more = run_of(round, 64, n / (round % 3 + 1));
        const write_path path = round % 2 == 0 ? write_path::bulk : write_path::per_key;
        map.insert(more, more, {}, {batch_semantics::concurrent, path}, order);
        if (round % 3 == 0) map.erase(more, {}, {}, round % 2 == 0 ? b : a);
        if (round % 4 == 0) map.maintain(order);
        std::vector<std::uint64_t> counts(1);
        const std::uint32_t lo = 0, hi = ~0u;
        map.count({&lo, 1}, {&hi, 1}, counts, {}, round % 2 == 0 ? b : a);
        EXPECT_EQ(counts[0], map.size());
      }
    }
    const validation v = map.validate();
    EXPECT_TRUE(v.ok) << v.problem;
    expect_all(map, keys, "what was there from the beginning");
  });
}

TEST_F(TreeStreamsGpu, SmallMemoryOfARadixTreeIsFreedBehindItsLastUse) {
  within(min_idle_buckets, [&] {
    const std::size_t n = many_keys() / 8;
    const stream a = gpu().make_stream(), b = gpu().make_stream();
    const auto keys = strings_of(0, 16, n);
    const std::vector<std::uint32_t> values(n, 3);
    byte_tree tree = byte_tree::build(keys, values, {}, gpu(), a);
    {
      const memory_hog hog(gpu());
      for (std::uint32_t round = 1; round < 8; ++round) {
        const stream& order = round % 2 == 0 ? a : b;
        const auto more = strings_of(round, 16, n / 2);
        tree.insert(more, std::span(values).first(n / 2), {}, radix_path::automatic, order);
        std::vector<std::uint64_t> ranks(1);
        tree.rank(std::vector<std::string>{"key"}, ranks, bound_type::lower, round % 2 == 0 ? b : a);
        EXPECT_EQ(ranks[0], 0u);
        if (round % 2 == 0) tree.erase(more, {}, radix_path::automatic, round % 4 == 0 ? b : a);
      }
    }
    const validation v = tree.validate();
    EXPECT_TRUE(v.ok) << v.problem;
    expect_all(tree, keys, "what was there from the beginning");
  });
}

// Reads are enqueued and not waited for while another stream writes; each finds all that was there before.
TEST_F(TreeStreamsGpu, SmallReadsOfManyStreamsBesideWritesAreRight) {
  within(min_idle_buckets, [&] {
    const std::size_t n = std::min<std::size_t>(many_keys(), 100000);
    const auto keys = run_of(0, 64, n);
    key_tree map = key_tree::build(keys, keys, {}, gpu());
    const auto on_gpu = to_device(gpu(), std::span(keys));
    const stream_event copied = gpu().default_stream().mark();
    std::vector<stream> streams;
    std::vector<buffer<std::uint8_t>> found;
    std::vector<buffer<std::uint32_t>> values;
    for (unsigned i = 0; i < 8; ++i) {
      streams.push_back(gpu().make_stream());
      streams[i].wait_for(copied);
      found.emplace_back(gpu(), n, streams[i]);
      values.emplace_back(gpu(), n, streams[i]);
    }
    const stream writer = gpu().make_stream();
    for (std::uint32_t round = 1; round < 16; ++round) {
      for (unsigned i = 0; i < 8; ++i) map.find_async(on_gpu.span(), values[i].span(), found[i].span(), streams[i]);
      const auto more = run_of(round, 64, n);
      map.insert_async(more, more, {}, {}, writer);
      for (unsigned i = 0; i < 8; ++i) {
        const std::vector<std::uint8_t> all = found[i].to_vector();
        ASSERT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), 1)), n) << "stream " << i;
        ASSERT_EQ(values[i].to_vector(), keys) << "stream " << i;
      }
      writer.synchronize();
    }
    EXPECT_EQ(map.size(), 16 * n);
  });
}

// Static trees do not change; what is asked on any stream must only not outlive the tree.
TEST_F(TreeStreamsGpu, SmallAStaticTreeIsBuiltOnOneStreamAndAskedOnOthers) {
  const auto keys = run_of(0, 5, 20000);
  const stream built = gpu().make_stream(), asked = gpu().make_stream();
  for (unsigned round = 0; round < 10; ++round) {
    const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys, keys, {}, gpu(), built);
    std::vector<std::uint32_t> values(keys.size());
    std::vector<std::uint8_t> found(keys.size());
    tree.find(keys, values, found, {}, asked);
    EXPECT_EQ(values, keys);
  }
}

}  // namespace
}  // namespace espalier::test
