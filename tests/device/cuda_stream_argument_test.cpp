// cuda_stream_argument_test.cpp - CUDA streams of the caller where a stream is taken: what converts, and that a CPU
// device refuses them. Needs no CUDA header and no GPU; cuda_stream_argument_gpu_test.cu runs on one.
#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

using native_stream = CUstream_st*;

// The three ways in which libraries wrap a cudaStream_t: cuda::stream_ref, rmm::cuda_stream_view, PyTorch.
struct stream_with_get {
  [[nodiscard]] native_stream get() const { return native; }
  native_stream native;
};
struct stream_with_value {
  [[nodiscard]] native_stream value() const { return native; }
  native_stream native;
};
struct stream_that_converts {
  operator native_stream() const { return native; }  // NOLINT(google-explicit-constructor): as in PyTorch
  native_stream native;
};

static_assert(std::convertible_to<native_stream, stream>);
static_assert(std::convertible_to<stream_with_get, stream>);
static_assert(std::convertible_to<stream_with_value, stream>);
static_assert(std::convertible_to<stream_that_converts, stream>);
static_assert(!std::convertible_to<void*, stream>);
static_assert(!std::convertible_to<int, stream>);
static_assert(!std::convertible_to<std::nullptr_t, stream>);
static_assert(!std::convertible_to<std::optional<int>, stream>);
static_assert(!std::convertible_to<device, stream>);

/// Not null, as a stream is; a CPU device must not follow it.
native_stream some_stream() {
  static std::uint64_t word = 0;
  return reinterpret_cast<native_stream>(&word);
}

template <class Call>
void expect_wrong_kind(Call call) {
  try {
    call();
    FAIL() << "a CPU took a CUDA stream";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("A GPU stream was given to a CPU device"), std::string::npos) << e.what();
  }
}

TEST(cuda_stream_argument, keeps_the_handle) {
  EXPECT_EQ(stream(some_stream()).native(), some_stream());
  EXPECT_EQ(stream(stream_with_get{some_stream()}).native(), some_stream());
  EXPECT_EQ(stream(stream_with_value{some_stream()}).native(), some_stream());
  EXPECT_EQ(stream(stream_that_converts{some_stream()}).native(), some_stream());
  const native_stream default_of_cuda = nullptr;
  EXPECT_TRUE(stream(default_of_cuda)) << "a CUDA stream, not an empty one";
}

TEST(cuda_stream_argument, a_cpu_device_refuses_it) {
  const device cpu = device::cpu(1);
  expect_wrong_kind([&] { (void)cpu.resolve(some_stream()); });
  expect_wrong_kind([&] { (void)cpu.resolve(native_stream{}); });
  expect_wrong_kind([&] { (void)cpu.resolve(stream_with_get{some_stream()}); });
  expect_wrong_kind([&] { (void)buffer<int>(cpu, 10, some_stream()); });
}

TEST(cuda_stream_argument, calls_of_cpu_trees_refuse_it_and_change_nothing) {
  const std::vector<std::uint32_t> keys{1, 2, 3}, more{4};
  std::vector<std::uint32_t> out{7, 7, 7};
  std::vector<std::uint8_t> found(3);
  using map = blink_tree<std::uint32_t, std::uint32_t>;
  map tree = map::build(keys, keys, {}, device::cpu(1));
  expect_wrong_kind([&] { tree.find(keys, out, some_stream()); });
  expect_wrong_kind([&] { tree.find(keys, out, found, some_stream()); });
  expect_wrong_kind([&] { tree.find_async(keys, out, stream_with_get{some_stream()}); });
  expect_wrong_kind([&] { tree.insert(more, more, some_stream()); });
  expect_wrong_kind([&] { tree.insert_or_assign(keys, std::vector<std::uint32_t>{9, 9, 9}, some_stream()); });
  expect_wrong_kind([&] { tree.update(keys, std::vector<std::uint32_t>{9, 9, 9}, some_stream()); });
  expect_wrong_kind([&] { tree.erase(keys, some_stream()); });
  expect_wrong_kind([&] { (void)map::build(keys, keys, {}, device::cpu(1), some_stream()); });
  EXPECT_EQ(out, (std::vector<std::uint32_t>{7, 7, 7}));
  tree.find(keys, out);
  EXPECT_EQ(out, keys);
  EXPECT_EQ(tree.size(), 3u);

  blink_tree<std::uint32_t> set(device::cpu(1));
  expect_wrong_kind([&] { set.insert(keys, some_stream()); });

  const auto sorted = static_tree<std::uint32_t, std::uint32_t>::build(keys, keys, {}, device::cpu(1));
  expect_wrong_kind([&] { sorted.find(keys, out, some_stream()); });
  expect_wrong_kind([&] { sorted.contains(keys, found, some_stream()); });

  const std::vector<std::string> names{"a", "b", "c"};
  radix_tree<std::uint32_t> bytes = radix_tree<std::uint32_t>::build(names, keys, {}, device::cpu(1));
  expect_wrong_kind([&] { bytes.find(names, out, some_stream()); });
  expect_wrong_kind([&] { bytes.insert(names, keys, some_stream()); });
  expect_wrong_kind([&] { bytes.insert_or_assign(names, keys, some_stream()); });
  expect_wrong_kind([&] { bytes.update(names, keys, some_stream()); });
  expect_wrong_kind([&] { bytes.erase(names, some_stream()); });
  EXPECT_EQ(bytes.size(), 3u);
}

TEST(cuda_stream_argument, a_stream_of_the_device_follows_the_values) {
  const std::vector<std::uint32_t> keys{1, 2, 3}, values{5, 6, 7};
  std::vector<std::uint32_t> out(3);
  const device cpu = device::cpu(1);
  const stream s = cpu.make_stream();
  blink_tree<std::uint32_t, std::uint32_t> tree(cpu, {}, s);
  tree.insert(keys, values, s);
  tree.update(keys, values, s);
  tree.insert_or_assign(keys, values, s);
  tree.find(keys, out, s);
  EXPECT_EQ(out, values);
  out.assign(3, 0);
  tree.find_async(keys, out, s);
  s.synchronize();
  EXPECT_EQ(out, values);
  tree.erase(keys, s);
  EXPECT_TRUE(tree.empty());
  const std::vector<std::string> names{"a", "b", "c"};
  radix_tree<std::uint32_t> bytes(cpu, {}, s);
  bytes.insert(names, keys, s);
  bytes.find(names, out, s);
  EXPECT_EQ(out, keys);
  bytes.erase(names, s);
  EXPECT_TRUE(bytes.empty());
}

TEST(cuda_stream_argument, without_a_gpu_waiting_for_it_says_so) {
  if (device::all().size() > 1) GTEST_SKIP() << "there is a GPU";
  const stream s = some_stream();
  EXPECT_THROW(s.synchronize(), error);
  EXPECT_THROW((void)s.mark(), error);
  EXPECT_TRUE(s.is_done()) << "nothing can be queued";
}

}  // namespace
}  // namespace espalier::test
