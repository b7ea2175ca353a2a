// pages_test.cpp - whatever pages the segments have, answers are the same; stats() tells what was asked for and given.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "device/cpu_pool.hpp"
#include "device/system.hpp"
#include "device/tracking_resource.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/hybrid_layouts.hpp"

namespace espalier::test {
namespace {

using detail::cpu_pool;
using detail::page_kind;
using detail::tracking_resource;

constexpr page_configuration configurations[] = {page_configuration::huge, page_configuration::huge_inner,
                                                 page_configuration::small};
constexpr std::size_t block = std::size_t{8} << 20;

/// What a pool with two sources says of 8 MiB that were written to, as leaves or not.
tracking_resource::page_usage census_of(page_kind pages, allocation_hint use) {
  const auto source = std::make_shared<cpu_pool>("test", pages);
  const auto pool = std::make_shared<tracking_resource>(source, source);
  const device host = device::cpu(1).with_pool(pool);
  const raw_buffer memory(host, block, {}, use);
  std::memset(memory.data(), 1, block);
  return pool->count();
}
/// Does the system give huge pages here and now? Memory may be too fragmented, whatever it promises.
bool system_has_huge_pages() { return census_of(page_kind::huge, allocation_hint::any).others.huge >= block / 2; }

TEST(HybridPages, EveryConfigurationGivesTheSameAnswers) {
  const std::size_t n = 600000;
  std::vector<std::uint64_t> keys(n), queries;
  random_words random(4);
  for (std::uint64_t& k : keys) k = random() | 1;
  for (std::size_t i = 0; i < 20000; ++i) queries.push_back(i % 2 == 0 ? keys[random.below(n)] : random());
  const bool given = system_has_huge_pages();
  for (const hybrid_layout layout : layouts) {
    std::vector<std::uint64_t> expected;
    for (const page_configuration pages : configurations) {
      SCOPED_TRACE(to_string(layout) + ", " + to_string(pages));
      hybrid_options o;
      o.layout = layout;
      o.bucket = 1000;
      o.threads = 2;
      o.pages = pages;
      auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, device::cpu(2));
      tree.erase(std::vector<std::uint64_t>{keys[0]});
      tree.insert_or_assign(std::vector<std::uint64_t>{queries[1], 2}, std::vector<std::uint64_t>{7, 8});
      std::vector<std::uint64_t> values(queries.size());
      tree.find(queries, values, {}, {hybrid_placement::shared});
      if (expected.empty()) expected = values;
      EXPECT_EQ(values, expected);
      EXPECT_TRUE(tree.validate().ok);

      const hybrid_pages p = tree.stats().pages;
      EXPECT_EQ(p.asked, pages);
      EXPECT_GT(p.leaf_bytes, n * 16);
      EXPECT_LT(p.leaf_bytes, n * 48);
      EXPECT_GT(p.inner_bytes, 0u);
      EXPECT_LT(p.inner_bytes, p.leaf_bytes);
      EXPECT_LE(p.huge_inner_bytes, p.inner_bytes + (std::size_t{2} << 20));
      if (pages != page_configuration::huge) {
        EXPECT_EQ(p.huge_leaf_bytes, 0u);
      } else if (given) {
        EXPECT_GT(p.huge_leaf_bytes, p.leaf_bytes / 4);
      }
    }
    EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0u);
  }
}

TEST(PagedPool, LeavesAndOthersComeFromTheirSources) {
  const auto leaves = std::make_shared<failing_pool>(device::cpu(1).pool());
  const auto others = std::make_shared<failing_pool>(device::cpu(1).pool());
  const auto pool = std::make_shared<tracking_resource>(leaves, others);
  const device host = device::cpu(1).with_pool(pool);
  {
    const raw_buffer a(host, 1000, {}, allocation_hint::leaves), b(host, 300, {}),
        c(host, 50, {}, allocation_hint::any);
    EXPECT_EQ(leaves->live_bytes(), 1000u);
    EXPECT_EQ(others->live_bytes(), 350u);
    EXPECT_EQ(pool->count().leaves.bytes, 1000u);
    EXPECT_EQ(pool->count().others.bytes, 350u);
    leaves->fail_at(1);
    EXPECT_THROW(raw_buffer(host, 10, {}, allocation_hint::leaves), out_of_memory);
    EXPECT_EQ(pool->count().leaves.bytes, 1000u);
  }
  EXPECT_EQ(leaves->live_blocks(), 0u);
  EXPECT_EQ(others->live_blocks(), 0u);
  EXPECT_EQ(pool->count().leaves.bytes + pool->count().others.bytes, 0u);
}

TEST(PagedPool, CountsHugePagesAsTheSystemDoes) {
  const tracking_resource::page_usage small = census_of(page_kind::small, allocation_hint::leaves);
  EXPECT_EQ(small.leaves.bytes, block);
  EXPECT_EQ(small.leaves.huge, 0u);
  const tracking_resource::page_usage huge = census_of(page_kind::huge, allocation_hint::leaves);
  EXPECT_EQ(huge.leaves.bytes, block);
  EXPECT_LE(huge.leaves.huge, block);
  EXPECT_EQ(huge.others.bytes, 0u);
  if (detail::huge_page_policy() == "never") {
    EXPECT_EQ(huge.leaves.huge, 0u);
  } else if (system_has_huge_pages()) {
    EXPECT_GE(huge.leaves.huge, block / 2);
  }
}

bool in_order(const std::vector<detail::memory_mapping>& stretches) {
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (stretches[i].first >= stretches[i].last) return false;
    if (i != 0 && stretches[i - 1].last > stretches[i].first) return false;
  }
  return true;
}

TEST(System, KnowsItsAddresses) {
  const auto stretches = detail::memory_mappings();
  if (stretches.empty()) GTEST_SKIP() << "there is no /proc/self/smaps";
  const auto here = reinterpret_cast<std::uintptr_t>(&stretches);
  EXPECT_TRUE(
      std::any_of(stretches.begin(), stretches.end(), [&](const auto& s) { return s.first <= here && here < s.last; }));
  EXPECT_TRUE(in_order(stretches));
}

TEST(System, KnowsItsAddressesWhileTheyChange) {
  constexpr std::size_t page = 4096, pages = 2048;
  const auto map = [](void* at, std::size_t bytes, int access, int how) {
    return mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
  };
  void* const room = map(nullptr, pages * page, PROT_NONE, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::atomic<bool> done{false};
  std::thread grows([&] {  // many stretches, and one of them longer with each page
    while (!done.load()) {
      for (std::size_t i = 0; i < pages && !done.load(); ++i) {
        char* const at = static_cast<char*>(room) + i * page;
        map(at, page, i % 3 == 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_FIXED);
      }
      map(room, pages * page, PROT_READ | PROT_WRITE, MAP_FIXED);
      map(room, pages * page, PROT_NONE, MAP_FIXED);
    }
  });
  for (int round = 0; round < 50; ++round) EXPECT_TRUE(in_order(detail::memory_mappings()));
  done.store(true);
  grows.join();
  munmap(room, pages * page);
}

}  // namespace
}  // namespace espalier::test
