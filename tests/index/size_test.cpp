// size_test.cpp - size() takes no lock: it can be called while a write is in progress, from the thread that writes.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

/// Calls `on_allocate` for each allocation. Writes allocate while they have exclusive access to their tree.
class hooked_pool final : public memory_resource {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    if (on_allocate) on_allocate();
    return upstream_->allocate(bytes, s);
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override { upstream_->deallocate(p, bytes, s); }
  [[nodiscard]] memory_info info() const override { return upstream_->info(); }
  std::function<void()> on_allocate;

 private:
  std::shared_ptr<memory_resource> upstream_ = device::cpu(1).pool();
};

constexpr std::uint64_t first_batch = 5000, second_batch = 7000;

/// write(tree, first, n) inserts keys [first, first + n).
template <class Tree, class Write>
void expect_size_during_writes(Tree& tree, hooked_pool& pool, Write write) {
  within(std::chrono::seconds(60), [&] {
    write(tree, 0, first_batch);
    EXPECT_EQ(tree.size(), first_batch);
    unsigned calls = 0;
    pool.on_allocate = [&] {
      ++calls;
      const std::size_t n = tree.size();
      EXPECT_TRUE(n == first_batch || n == first_batch + second_batch) << n;
    };
    write(tree, first_batch, second_batch);
    pool.on_allocate = {};
    EXPECT_GT(calls, 0u);
    EXPECT_EQ(tree.size(), first_batch + second_batch);
  });
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t n) {
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = (first + i) * 3;
  return keys;
}

TEST(Size, OfARadixTreeIsReadWithoutALock) {
  const auto pool = std::make_shared<hooked_pool>();
  radix_tree<std::uint64_t> tree(device::cpu(1).with_pool(pool));
  expect_size_during_writes(tree, *pool, [](auto& t, std::uint64_t first, std::uint64_t n) {
    const auto keys = numbers(first, n);
    std::vector<std::string> strings;
    for (const std::uint64_t k : keys) strings.push_back(std::to_string(k));
    t.insert(strings, keys);
  });
}

TEST(Size, OfAHybridTreeIsReadWithoutALock) {
  for (const hybrid_layout layout : {hybrid_layout::implicit, hybrid_layout::regular}) {
    const auto pool = std::make_shared<hooked_pool>();
    hybrid_options options;
    options.layout = layout;
    options.threads = 1;
    hybrid_tree<std::uint64_t, std::uint64_t> tree(options, device::cpu(1).with_pool(pool));
    expect_size_during_writes(tree, *pool, [](auto& t, std::uint64_t first, std::uint64_t n) {
      const auto keys = numbers(first, n);
      t.insert_or_assign(keys, keys);
    });
  }
}

TEST(Size, OfAHybridTreeCountsEachKeyOnceInEveryModeOfItsWrites) {
  for (const update_mode way : {update_mode::asynchronous, update_mode::synchronised}) {
    hybrid_options options;
    options.layout = hybrid_layout::regular;
    options.threads = 1;
    hybrid_tree<std::uint64_t, std::uint64_t> tree(options, device::cpu(1));
    auto keys = numbers(0, 20000);
    tree.insert_or_assign(keys, keys, {}, way);
    const std::vector<std::uint64_t> again{3, 3, 9, 1, 1, 2, 60, 2};  // 1 and 2 are new
    tree.insert_or_assign(again, again, {}, way);
    EXPECT_EQ(tree.size(), 20002u);
    tree.erase(again, {}, way);
    EXPECT_EQ(tree.size(), 19997u);
    EXPECT_EQ(tree.stats().size, 19997u);
    const std::vector<std::uint64_t> lo{0}, hi{~std::uint64_t{0}};
    std::vector<std::uint64_t> count(1);
    tree.count(lo, hi, count);
    EXPECT_EQ(count[0], 19997u);
  }
}

}  // namespace
}  // namespace espalier::test
