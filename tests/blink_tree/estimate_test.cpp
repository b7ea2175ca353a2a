// estimate_test.cpp - estimate_count: near to the count with every protocol and lane, however the leaves came to be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using key_list = std::vector<std::uint64_t>;

key_list multiples(std::uint64_t n, std::uint64_t step, std::uint64_t offset = 0) {
  key_list out(n);
  for (std::uint64_t i = 0; i < n; ++i) out[i] = offset + i * step;
  return out;
}

template <class Tree>
std::uint64_t counted(const Tree& tree, std::uint64_t lo, std::uint64_t hi) {
  std::uint64_t out = 0;
  tree.count({&lo, 1}, {&hi, 1}, {&out, 1});
  return out;
}

/// Ranges of all lengths up to `last`, each within `share` of its count.
template <class Tree>
void expect_near(const Tree& tree, std::uint64_t last, double share) {
  random_words random(11);
  for (int i = 0; i < 200; ++i) {
    std::uint64_t lo = random.below(last), hi = random.below(last);
    if (i % 3 == 0) hi = lo + random.below(100);
    if (i == 0) lo = 0, hi = ~std::uint64_t{0};
    const std::uint64_t count = counted(tree, lo, hi);
    const std::uint64_t estimate = tree.estimate_count(lo, hi);
    if (count < 200 || lo > hi) {
      EXPECT_EQ(estimate, count) << lo << " to " << hi;
    } else {
      EXPECT_LE(std::abs(static_cast<double>(estimate) - static_cast<double>(count)),
                share * static_cast<double>(count))
          << lo << " to " << hi << ": " << estimate << " for " << count;
    }
  }
}

class BlinkTreeEstimate : public testing::TestWithParam<const setting*> {
 protected:
  template <class Policy>
  static void expect_all_near() {
    using estimated_tree = blink_tree<std::uint64_t, std::uint64_t, Policy>;
    constexpr std::uint64_t n = 100'000, step = 16;
    const key_list keys = multiples(n, step);
    estimated_tree tree = estimated_tree::build(keys, keys, {}, GetParam()->dev);
    expect_near(tree, n * step, 0.02);
    // New keys everywhere, one by one: leaves split, and a lane falls behind them.
    key_list more = multiples(n / 10, 10 * step, 3);
    for (const std::uint64_t part : {0, 1, 2}) {
      key_list some;
      for (std::size_t i = part; i < more.size(); i += 3) some.push_back(more[(i * 7919) % more.size()]);
      tree.insert(some, some, {}, {batch_semantics::concurrent, write_path::per_key});
      expect_near(tree, n * step, 0.15);
    }
    // Half of the tree is gone but for every eighth element.
    key_list gone;
    for (const std::uint64_t key : keys) {
      if (key < n * step / 2 && key / step % 8 != 0) gone.push_back(key);
    }
    tree.erase(gone);
    expect_near(tree, n * step, 0.15);
    ASSERT_TRUE(tree.validate());
  }
};

TEST_P(BlinkTreeEstimate, IsNearTheCountWithLinksAndALane) { expect_all_near<blink_policy<>>(); }
TEST_P(BlinkTreeEstimate, IsTheCountWithCoupledLatches) {
  expect_all_near<blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>();
}
TEST_P(BlinkTreeEstimate, IsNearTheCountWithoutLatches) {
  expect_all_near<blink_policy<protocol::single_writer, inner_index::express_lane>>();
}
TEST_P(BlinkTreeEstimate, IsTheCountWithoutALane) {
  expect_all_near<blink_policy<protocol::blink, inner_index::inner_nodes>>();
}

// Many keys come to one place while the lane stays: they are a small part of all, and stand for no others.
TEST_P(BlinkTreeEstimate, OneCrowdedLeafStandsForItselfAlone) {
  constexpr std::uint64_t n = 100'000, step = 1'000'000;
  const key_list keys = multiples(n, step);
  auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys, keys, {}, GetParam()->dev);
  for (std::uint64_t place = 0; place < 64; ++place) {
    const key_list crowd = multiples(n / 1000, 1, (place * 2 + 1) * (n / 128) * step + 1);
    tree.insert(crowd, crowd, {}, {batch_semantics::concurrent, write_path::per_key});
  }
  const std::uint64_t all = counted(tree, 0, ~std::uint64_t{0});
  EXPECT_EQ(all, n + 64 * (n / 1000));
  const auto estimate = static_cast<double>(tree.estimate_count(0, ~std::uint64_t{0}));
  EXPECT_GT(estimate, 0.85 * static_cast<double>(all));
  EXPECT_LT(estimate, 4.5 * static_cast<double>(all));
}

TEST_P(BlinkTreeEstimate, OfOtherKeysAndOfNothing) {
  blink_tree<float, std::uint32_t> floats(GetParam()->dev);
  EXPECT_EQ(floats.estimate_count(-1e30F, 1e30F), 0U);
  std::vector<float> keys(60'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i) - 30'000.0F;
  std::vector<std::uint32_t> values(keys.size(), 1);
  floats.insert(keys, values);
  EXPECT_NEAR(static_cast<double>(floats.estimate_count(-20'000.0F, 20'000.0F)), 40'001, 800);
  EXPECT_EQ(floats.estimate_count(5.0F, -5.0F), 0U);
  EXPECT_EQ(floats.estimate_count(0.25F, 7.5F), 7U);
}

TEST_P(BlinkTreeEstimate, OfAHybridTreeInBothLayouts) {
  constexpr std::uint64_t n = 100'000, step = 16;
  const key_list keys = multiples(n, step);
  for (const hybrid_layout layout : {hybrid_layout::implicit, hybrid_layout::regular}) {
    auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, {.layout = layout}, GetParam()->dev);
    expect_near(tree, n * step, layout == hybrid_layout::implicit ? 0 : 0.02);
    const key_list more = multiples(n / 20, 20 * step, 3);
    tree.insert_or_assign(more, more, {}, update_mode::automatic);
    expect_near(tree, n * step, layout == hybrid_layout::implicit ? 0 : 0.15);
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeEstimate, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
