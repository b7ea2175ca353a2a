// cpu_pool_test.cpp - main memory: large blocks are kept for reuse, and what was promised is not promised twice.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/device/device.hpp"
#include "device/cpu_pool.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(cpu_pool_test, a_large_block_is_reused_at_about_its_size) {
  const auto pool = std::make_shared<detail::cpu_pool>("test");
  void* const first = pool->allocate(64 * mib, {});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 * mib), 0u);
  std::memset(first, 1, 64 * mib);
  pool->deallocate(first, 64 * mib, {});
  void* const smaller = pool->allocate(60 * mib, {});
  EXPECT_EQ(smaller, first);
  pool->deallocate(smaller, 60 * mib, {});
  void* const again = pool->allocate(64 * mib, {});  // the block kept its full size
  EXPECT_EQ(again, first);
  pool->deallocate(again, 64 * mib, {});
  void* const tiny = pool->allocate(2 * mib, {});  // not worth 64 MiB
  EXPECT_NE(tiny, first);
  pool->deallocate(tiny, 2 * mib, {});
}

TEST(cpu_pool_test, untouched_blocks_count_as_taken) {
  const auto pool = std::make_shared<detail::cpu_pool>("test");
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::size_t given = 0;
  const std::size_t total = pool->info().total;
  const std::size_t piece = pool->info().free / 4;
  try {
    for (int i = 0; i < 100; ++i) {  // never touched: without counting, all 100 would be given
      blocks.emplace_back(pool->allocate(piece, {}), piece);
      given += piece;
    }
    ADD_FAILURE() << "25 times the free memory was given";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(e.asked(), piece);
    EXPECT_LT(e.free(), piece);
  }
  EXPECT_LE(given, total);
  EXPECT_GE(given, 2 * piece);
  for (const auto& [p, bytes] : blocks) pool->deallocate(p, bytes, {});
}

TEST(cpu_pool_test, free_blocks_give_way_to_a_request_of_another_size) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "TSan leaves no address range for a block of nearly all memory";
#endif
  const auto pool = std::make_shared<detail::cpu_pool>("test");
  const std::size_t free = pool->info().free;
  const std::size_t part = free / 8;
  void* const cached = pool->allocate(part, {});
  pool->deallocate(cached, part, {});
  EXPECT_GT(pool->info().free, free - part / 2 - free / 10);  // a block in the free list counts as free
  const std::size_t most = pool->info().free / 10 * 9;
  void* const large = pool->allocate(most, {});
  EXPECT_NE(large, nullptr);
  pool->deallocate(large, most, {});
}

}  // namespace
}  // namespace espalier::test
