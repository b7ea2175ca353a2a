// gpu_test.cpp - the same of tiles on a GPU: what they record can be replayed, and a full ring stops nobody.
#include <gtest/gtest.h>

#include <optional>

#include "inspect/radix_calls.hpp"
#include "inspect/radix_run.hpp"
#include "inspect/traced.hpp"

namespace espalier::test {
namespace {

std::optional<device> some_gpu() {
  for (const device& d : device::all()) {
    if (d.kind() == device_kind::cuda) return d;
  }
  return std::nullopt;
}
const traced_shape gpu_shapes[] = {{"link", "classic", 12}, {"couple", "classic", 12}, {"link", "express", 8}};

std::vector<std::uint64_t> scattered(std::uint64_t n) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < n; ++i) keys.push_back(i * 7919 % 10007);
  return keys;
}

class TraceOnGpu : public testing::TestWithParam<traced_shape> {
 protected:
  void SetUp() override {
    gpu_ = some_gpu();
    if (!gpu_) GTEST_SKIP() << "there is no GPU";
  }
  std::optional<device> gpu_;
};

TEST_P(TraceOnGpu, IsReplayedExactly) {
  traced_run run(GetParam(), {5, 50, 500}, 1u << 20, *gpu_);
  EXPECT_EQ(run.trace.header.device, "gpu");
  const auto inserted = run.run(trace_op::insert, scattered(2000), 256);
  EXPECT_EQ(inserted.out_of_nodes, 0u);
  const auto found = run.run(trace_op::find, scattered(2000), 64);
  EXPECT_EQ(found.done, 2000u);
  (void)run.run(trace_op::erase, scattered(1500), 256);
  expect_rebuilt(run);
}

TEST_P(TraceOnGpu, AFullRingStopsNobody) {
  traced_run run(GetParam(), {}, 1000, *gpu_);
  const auto inserted = run.run(trace_op::insert, scattered(2000), 256);
  EXPECT_EQ(inserted.done, 2000u);
  EXPECT_EQ(run.trace.events.size(), 1000u);
  EXPECT_GT(run.trace.lost, 0u);
  trace_replay replay(run.trace);
  replay.go(1000);
}

TEST(RadixTraceOnGpu, IsReplayedExactly) {
  const auto gpu = some_gpu();
  if (!gpu) GTEST_SKIP() << "there is no GPU";
  radix_run run({5, 50, 500}, *gpu);
  EXPECT_EQ(run.trace.header.device, "gpu");
  (void)run.run(trace_op::insert, scattered(2000), 256);
  EXPECT_EQ(run.run(trace_op::find, scattered(2000), 64).done, 2000u);
  (void)run.run(trace_op::erase, scattered(1500), 256);
  (void)run.run(trace_op::insert, {1, 2, 3});
  EXPECT_GT(run.kinds()[trace_kind::kind], 0u);
  expect_retold(run);
}

TEST(RadixTraceOnGpu, ThroughTheLibrarysOwnCalls) {
  const auto gpu = some_gpu();
  if (!gpu) GTEST_SKIP() << "there is no GPU";
  expect_traced_calls(*gpu, 1);
  expect_traced_calls(*gpu, 64);
}

INSTANTIATE_TEST_SUITE_P(, TraceOnGpu, testing::ValuesIn(gpu_shapes), traced_shape_name);

}  // namespace
}  // namespace espalier::test
