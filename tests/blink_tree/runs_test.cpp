// runs_test.cpp - batches of ascending keys, written key by key: a CPU thread goes on where the last key went.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"

namespace espalier::test {
namespace {

template <class Tree>
class BlinkTreeRuns : public testing::Test {
 protected:
  using key = typename Tree::key_type;
  static constexpr std::size_t many = 3000;

  BlinkTreeRuns() : tree_(device::cpu(1)) {}

  /// Every tenth number up to 10 * n.
  void start_with(std::size_t n) {
    std::vector<key> keys(n), values(n);
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = static_cast<key>(10 * i);
      values[i] = static_cast<key>(i + 1);
      expected_[keys[i]] = values[i];
    }
    tree_ = Tree::build(keys, values, {}, device::cpu(1));
  }
  void insert(const std::vector<key>& keys, bool assign) {
    std::vector<key> values(keys.size());
    std::vector<std::uint8_t> done(keys.size());
    for (key& v : values) v = ++last_value_;
    write_options how;
    how.path = write_path::per_key;
    if (assign) {
      tree_.insert_or_assign(keys, values, done, how);
    } else {
      tree_.insert(keys, values, done, how);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool is_new = expected_.emplace(keys[i], values[i]).second;
      ASSERT_EQ(done[i] != 0, is_new) << "element " << i << ", key " << keys[i];
      if (assign) expected_[keys[i]] = values[i];
    }
    check();
  }
  void check() {
    const validation v = tree_.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(tree_.size(), expected_.size());
    std::vector<key> keys, values(expected_.size());
    std::vector<std::uint8_t> found(expected_.size());
    for (const auto& [k, value] : expected_) keys.push_back(k);
    tree_.find(keys, values, found);
    std::size_t i = 0;
    for (const auto& [k, value] : expected_) {
      ASSERT_TRUE(found[i] != 0 && values[i] == value) << "key " << k;
      ++i;
    }
  }
  static std::vector<key> ascending(std::size_t from, std::size_t step, std::size_t n) {
    std::vector<key> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<key>(from + i * step);
    return keys;
  }

  Tree tree_;
  std::map<key, key> expected_;
  key last_value_ = 1000000;
};
using run_trees = testing::Types<
    blink_tree<std::uint32_t, std::uint32_t>, blink_tree<std::uint64_t, std::uint64_t>,
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::inner_nodes>>,
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 8>>,
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>>;
TYPED_TEST_SUITE(BlinkTreeRuns, run_trees);

TYPED_TEST(BlinkTreeRuns, IntoNothing) { this->insert(this->ascending(5, 3, this->many), false); }

TYPED_TEST(BlinkTreeRuns, BehindTheLastKeyAgainAndAgain) {
  this->start_with(this->many);
  std::size_t from = 10 * this->many + 5;
  for (const std::size_t n : {1000u, 1u, 31u, 32u, 33u, 64u, 2000u, 5u}) {
    this->insert(this->ascending(from, 3, n), false);
    if (this->HasFatalFailure()) return;
    from += 3 * n;
  }
}

TYPED_TEST(BlinkTreeRuns, BetweenTwoKeys) {
  for (const std::size_t step : {1u, 7u, 10u, 100u}) {
    this->expected_.clear();
    this->start_with(this->many);
    this->insert(this->ascending(10007, step, 700), false);
    this->insert(this->ascending(10003, step, 900), true);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(BlinkTreeRuns, OfKeysThatAreThere) {
  this->start_with(this->many);
  this->insert(this->ascending(0, 10, this->many), false);
  this->insert(this->ascending(0, 10, this->many), true);
  this->insert(this->ascending(0, 5, 2 * this->many), true);
}

TYPED_TEST(BlinkTreeRuns, OfEqualKeys) {
  this->start_with(100);
  std::vector<typename TestFixture::key> keys(200, 12345);
  std::fill(keys.begin() + 100, keys.end(), 12346);
  this->insert(keys, false);
  this->insert(keys, true);
}

TYPED_TEST(BlinkTreeRuns, ThatBreakOffAndBeginElsewhere) {
  this->start_with(this->many);
  std::vector<typename TestFixture::key> keys;
  for (const std::size_t from : {40001u, 20001u, 10u, 31u, 29000u}) {
    const auto part = this->ascending(from, 1, 300 + from % 64);
    keys.insert(keys.end(), part.begin(), part.end());
  }
  const auto down = this->ascending(15001, 2, 400);
  keys.insert(keys.end(), down.rbegin(), down.rend());
  this->insert(keys, false);
  this->insert(keys, true);
}

TYPED_TEST(BlinkTreeRuns, UpToTheLargestKey) {
  using largest_of = typename TestFixture::key;
  this->start_with(100);
  const auto largest = static_cast<std::size_t>(static_cast<largest_of>(~largest_of{0}));
  this->insert(this->ascending(largest - 499, 1, 500), false);
}

}  // namespace
}  // namespace espalier::test
