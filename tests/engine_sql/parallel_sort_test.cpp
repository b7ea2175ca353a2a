// parallel_sort_test.cpp - the sort that can be stopped puts what is wanted in order, whatever order it finds.
#include "engine/parallel_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace espalier::engine {
namespace {

std::vector<std::vector<int>> orders_of(int n) {
  std::vector<int> rising(static_cast<std::size_t>(n));
  std::iota(rising.begin(), rising.end(), 0);
  std::vector<std::vector<int>> out(6, rising);
  std::reverse(out[1].begin(), out[1].end());
  std::shuffle(out[2].begin(), out[2].end(), std::mt19937(7));
  for (int& x : out[3]) x = x % 2 == 0 ? x : 2 * n - x;             // up and down in turns
  for (int& x : out[4]) x = x < n / 2 ? 2 * x : 4 * n - 2 * x - 1;  // up, then down
  for (int& x : out[5]) x /= 1000;                                  // many equal ones
  return out;
}

TEST(ParallelSort, PutsTheWantedOnesFirst) {
  for (const int n : {0, 1, 2, 8192, 8193, 100'000}) {
    for (const auto& order : orders_of(n)) {
      auto expected = order;
      std::sort(expected.begin(), expected.end());
      for (const int wanted : {n, n / 2, n / 50, std::min(n, 1), 0}) {
        auto sorted = order;
        parallel_sort(sorted.begin(), sorted.end(), wanted, std::less<>());
        ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + wanted, sorted.begin())) << n << ", " << wanted;
        std::sort(sorted.begin(), sorted.end());
        ASSERT_EQ(sorted, expected) << n;
      }
    }
  }
}

TEST(ParallelSort, IsStoppedWithAllElementsThere) {
  auto numbers = orders_of(100'000)[2];
  auto expected = numbers;
  std::atomic<int> asked = 0;
  const cancellation_token soon = [&] { return ++asked > 5; };
  const cancellation_scope scope(&soon);
  EXPECT_THROW(parallel_sort(numbers.begin(), numbers.end(), std::ssize(numbers), std::less<>()), query_cancelled);
  std::sort(numbers.begin(), numbers.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(numbers, expected);
}

}  // namespace
}  // namespace espalier::engine
