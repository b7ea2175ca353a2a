// update_test.cpp - the two ways in which a write to the regular layout brings the inner levels up to date.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "espalier/device/cpu.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "hybrid_tree/host_tree.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/less_work.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using detail::byte_range;
using detail::choose_way;
using detail::differing;
using detail::update_block;

constexpr update_mode ways[] = {update_mode::automatic, update_mode::asynchronous, update_mode::synchronised};
constexpr hybrid_placement placements[] = {hybrid_placement::shared, hybrid_placement::host_alone};

using words = std::vector<std::uint64_t>;
using tree_type = hybrid_tree<std::uint64_t, std::uint64_t>;
using oracle = std::map<std::uint64_t, std::uint64_t>;

hybrid_options regular() {
  hybrid_options o;
  o.layout = hybrid_layout::regular;
  o.bucket = 700;
  o.threads = 2;
  return o;
}
words every(std::uint64_t step, std::size_t n, std::uint64_t first = 0) {
  words keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = first + step * i;
  return keys;
}
/// The first three elements from each key on.
void expect_rows_agree(const tree_type& tree, const oracle& all, const words& keys, hybrid_placement placement) {
  constexpr std::uint64_t limit = 3;
  words listed(keys.size() * limit), values(keys.size() * limit), counts(keys.size(), 99);
  const words ends(keys.size(), ~std::uint64_t{0});
  tree.range_rows(keys, ends, listed, values, counts, {interval::closed, limit}, {placement});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t count = 0;
    for (auto at = all.lower_bound(keys[i]); at != all.end() && count < limit; ++at, ++count) {
      ASSERT_EQ(listed[i * limit + count], at->first) << "from key " << keys[i] << ", " << to_string(placement);
      ASSERT_EQ(values[i * limit + count], at->second) << "from key " << keys[i] << ", " << to_string(placement);
    }
    ASSERT_EQ(counts[i], count) << "from key " << keys[i] << ", " << to_string(placement);
  }
}
/// Keys that are there and their neighbours, answered whoever walks, as by the oracle.
void expect_agrees(const tree_type& tree, const oracle& all) {
  words keys{0, ~std::uint64_t{0}};
  for (const auto& [k, v] : all) {
    keys.push_back(k);
    if (k % 5 == 0) keys.push_back(k + 1);
  }
  for (const hybrid_placement placement : placements) {
    words values(keys.size(), 99);
    std::vector<std::uint8_t> found(keys.size(), 9);
    tree.find(keys, values, found, {placement});
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = all.find(keys[i]);
      ASSERT_EQ(found[i] != 0, at != all.end()) << "key " << keys[i] << ", " << to_string(placement);
      ASSERT_EQ(values[i], at != all.end() ? at->second : 0) << "key " << keys[i] << ", " << to_string(placement);
    }
    expect_rows_agree(tree, all, keys, placement);
    if (testing::Test::HasFatalFailure()) return;
  }
  const validation v = tree.validate();
  ASSERT_TRUE(v.ok) << v.problem;
  ASSERT_EQ(tree.size(), all.size());
}

class HybridUpdate : public testing::TestWithParam<const setting*> {
 protected:
  static const device& get_device() { return GetParam()->dev; }
  static tree_type tree_of(const words& keys) { return tree_type::build(keys, keys, regular(), get_device()); }
};

// Random batches of all sizes, spread or in one place, in any way, against std::map.
TEST_P(HybridUpdate, RandomBatchesAgreeInEveryWay) {
  for (const bool spread : {true, false}) {
    for (const update_mode only : ways) {
      SCOPED_TRACE(to_string(only) + (spread ? ", spread" : ", in one place"));
      random_words random(spread ? 11 : 12);
      const words first = every(1000, 12000 / less_work);
      tree_type tree = tree_of(first);
      oracle all;
      for (const std::uint64_t k : first) all[k] = k;
      for (unsigned round = 0; round < 40; ++round) {
        const std::size_t n = 1 + random.below(round % 4 == 0 ? 4000 / less_work : 60);
        const bool erases = random.below(3) == 0;
        const std::uint64_t base = spread ? 0 : random.below(first.size()) * 1000;
        const std::uint64_t room = spread ? first.size() * 1000 : 3000;
        words keys(n), values(n);
        std::vector<std::uint8_t> done(n, 9), expected(n);
        for (std::size_t i = 0; i < n; ++i) {
          keys[i] = base + random.below(room);
          if (erases && random.below(2) == 0 && !all.empty()) {
            const auto at = all.lower_bound(keys[i]);
            if (at != all.end()) keys[i] = at->first;
          }
          values[i] = random();
        }
        for (std::size_t i = 0; i < n; ++i) {
          expected[i] = (erases ? all.erase(keys[i]) != 0 : all.insert_or_assign(keys[i], values[i]).second) ? 1 : 0;
        }
        const update_mode way = only == update_mode::automatic ? ways[random.below(3)] : only;
        if (erases) {
          tree.erase(keys, done, way);
        } else {
          tree.insert_or_assign(keys, values, done, way);
        }
        ASSERT_EQ(done, expected) << "round " << round;
        if (way != update_mode::automatic) {
          ASSERT_EQ(tree.stats().update.way, way);
        }
        if (round % 4 == 3) expect_agrees(tree, all);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(HybridUpdate, SmallTreesGrowAndVanishInEveryWay) {
  for (const update_mode way : ways) {
    SCOPED_TRACE(to_string(way));
    tree_type tree(regular(), get_device());
    oracle all;
    for (unsigned round = 0; round < 2; ++round) {
      const words keys = every(3, 3000, 100 * round);
      for (std::size_t at = 0; at < keys.size(); at += 250) {
        const words part(keys.begin() + static_cast<std::ptrdiff_t>(at),
                         keys.begin() + static_cast<std::ptrdiff_t>(at) + 250);
        tree.insert_or_assign(part, part, {}, way);
        for (const std::uint64_t k : part) all[k] = k;
      }
      expect_agrees(tree, all);
      if (HasFatalFailure()) return;
      tree.erase(keys, {}, way);
      for (const std::uint64_t k : keys) all.erase(k);
      expect_agrees(tree, all);
      if (HasFatalFailure()) return;
    }
  }
}

// A small batch sends nothing; a batch that makes leaves sends all in the other way. What was measured is kept until
// the tree has grown by half.
TEST_P(HybridUpdate, WhatDidNotChangeIsNotSent) {
  const words keys = every(1000, 50000);
  tree_type tree = tree_of(keys);
  tree.tune(keys);
  const hybrid_stats tuned = tree.stats();
  ASSERT_NE(tuned.reason.find("measured"), std::string::npos);

  tree.insert_or_assign(every(1000, 20, 7), every(1, 20), {}, update_mode::synchronised);
  EXPECT_EQ(tree.stats().update.sent, 0u);
  EXPECT_EQ(tree.stats().reason, tuned.reason);
  EXPECT_EQ(tree.stats().placement, tuned.placement);
  EXPECT_NE(tree.explain().find("synchronised: asked for"), std::string::npos) << tree.explain();

  tree.insert_or_assign(keys, keys, {}, update_mode::asynchronous);  // other values, the same leaves
  EXPECT_EQ(tree.stats().update.sent, 0u);
  EXPECT_EQ(tree.stats().reason, tuned.reason);

  const words some = every(2000, 400, 300);  // leaves that split: all in a twentieth of the tree
  words split;
  for (const std::uint64_t k : some) {
    for (std::uint64_t i = 0; i < 8; ++i) split.push_back(k + i);
  }
  tree.insert_or_assign(split, split, {}, update_mode::asynchronous);
  EXPECT_EQ(tree.stats().update.sent, tree.stats().inner_bytes);
  EXPECT_EQ(tree.stats().reason, tuned.reason);
  EXPECT_EQ(tree.stats().placement, tuned.placement);

  // Step by step: it is the size at the last measurement that counts.
  for (std::uint64_t i = 0; i < 12; ++i) {
    const words more = every(1000, keys.size() / 4, 400 + i + keys.size() / 4 * 1000 * (i % 4));
    tree.insert_or_assign(more, more, {}, update_mode::asynchronous);
  }
  EXPECT_GT(tree.stats().inner_bytes, 2 * tuned.inner_bytes);
  EXPECT_EQ(tree.stats().reason.find("measured"), std::string::npos) << tree.stats().reason;
}

TEST_P(HybridUpdate, TheWayFollowsTheSizeOfTheBatch) {
  tree_type tree = tree_of(every(1000, 100000));
  tree.insert_or_assign(every(1000, 5, 7), every(1, 5));
  EXPECT_EQ(tree.stats().update.way, update_mode::synchronised);
  EXPECT_NE(tree.explain().find("key by key about"), std::string::npos) << tree.explain();
  tree.insert_or_assign(every(500, 200000, 9), every(1, 200000));
  EXPECT_EQ(tree.stats().update.way, update_mode::asynchronous);
  const auto built = tree_type::build(every(3, 10), every(3, 10), {}, get_device());
  EXPECT_EQ(built.stats().update.way, update_mode::automatic);
  EXPECT_TRUE(built.stats().update.reason.empty());
}

// Writes key by key make the lane stale until it is rebuilt; after appends only its end differs.
TEST_P(HybridUpdate, OnlyWhatDiffersIsSent) {
  constexpr std::uint64_t step = std::uint64_t{1} << 43;  // over the whole range, so that the table stays, too
  words keys = every(step, 1500000 / less_work);
  tree_type tree = tree_of(keys);
  std::size_t whole = 0, parts = 0, none = 0;
  for (unsigned round = 0; round < 60; ++round) {
    const words more = every(step, 6000 / less_work, keys.back() + step);
    tree.insert_or_assign(more, more, {}, update_mode::synchronised);
    keys.insert(keys.end(), more.begin(), more.end());
    const hybrid_stats s = tree.stats();
    (s.update.sent == 0 ? none : s.update.sent == s.inner_bytes ? whole : parts) += 1;
    words values(more.size());
    tree.find(more, values, {}, {hybrid_placement::shared});
    ASSERT_EQ(values, more);
  }
  EXPECT_GT(none, 50u);
  if (less_work == 1) {  // else the inner levels are a block or two
    EXPECT_GE(parts, 1u) << whole << " times the whole was sent";
  }
  words values(keys.size());
  for (const hybrid_placement placement : placements) {
    tree.find(keys, values, {}, {placement});
    ASSERT_EQ(values, keys);
  }
}

// Readers in threads beside writers: a batch is there as a whole or not at all, and keys that stay are always found.
TEST_P(HybridUpdate, ReadersSeeNoHalfOfAnUpdate) {
  for (const update_mode way : {update_mode::asynchronous, update_mode::synchronised}) {
    SCOPED_TRACE(to_string(way));
    const std::size_t n = 20000 / less_work;
    const words keys = every(100, n);
    auto tree = tree_type::build(keys, words(n, 0), regular(), get_device());
    std::atomic<bool> over{false};
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t) {
      readers.emplace_back([&, t] {
        words values(n);
        std::vector<std::uint8_t> found(n);
        while (!over) {
          tree.find(keys, values, found, {placements[t]});
          for (std::size_t i = 0; i < n; ++i) {
            if (found[i] == 0 || values[i] != values[0]) {
              ADD_FAILURE() << "a reader saw " << values[i] << " beside " << values[0];
              return;
            }
          }
          (void)tree.stats();
        }
      });
    }
    // All keys change together; others come and make leaves split.
    for (std::uint64_t round = 1; round <= 30; ++round) {
      words batch(keys), values(n, round);
      for (const std::uint64_t k : every(100, n / 8, round)) {
        batch.push_back(k);
        values.push_back(0);
      }
      tree.insert_or_assign(batch, values, {}, way);
    }
    over = true;
    for (std::thread& r : readers) r.join();
  }
}

// The device's memory runs out in the middle of an update: the write is done, the host answers, the next one recovers.
TEST_P(HybridUpdate, ADeviceWithoutMemoryLosesNoUpdate) {
  for (std::size_t k = 1; k < 20; ++k) {
    const auto pool = std::make_shared<failing_pool>(get_device().pool());
    {
      const words keys = every(1000, 3000);
      auto tree = tree_type::build(keys, keys, regular(), get_device().with_pool(pool));
      ASSERT_GT(tree.stats().device_bytes, 0u);
      oracle all;
      for (const std::uint64_t key : keys) all[key] = key;
      const words more = every(500, 6000);
      pool->fail_at(k);
      tree.insert_or_assign(more, more, {}, update_mode::asynchronous);
      for (const std::uint64_t key : more) all[key] = key;
      const bool failed = tree.stats().device_bytes == 0;
      if (failed) {
        EXPECT_NE(tree.explain().find("failed"), std::string::npos) << tree.explain();
      }
      pool->fail_at(0);
      expect_agrees(tree, all);
      if (HasFatalFailure()) return;
      tree.insert_or_assign(words{3}, words{4}, {}, update_mode::synchronised);  // changes no inner level
      all[3] = 4;
      EXPECT_GT(tree.stats().device_bytes, 0u) << "there is memory again";
      expect_agrees(tree, all);
      if (!failed || HasFatalFailure()) k = 20;
    }
    EXPECT_EQ(pool->live_blocks(), 0u);
  }
}

// Here the device is another one than the host, so that its stream can break by itself.
TEST(HybridUpdateFailure, ADeviceThatIsLostInMidUpdateLosesNothing) {
  const device lost = device::cpu(3);
  for (const update_mode way : {update_mode::asynchronous, update_mode::synchronised}) {
    for (const std::uint64_t step : {300, 1}) {  // leaves everywhere, and a few in one place
      SCOPED_TRACE(to_string(way) + " " + std::to_string(step));
      const words keys = every(1000, 20000);
      auto tree = tree_type::build(keys, keys, regular(), lost);
      oracle all;
      for (const std::uint64_t key : keys) all[key] = key;
      const words more = every(step, step == 1 ? 2500 : 40000, 5000001);
      lost.enqueue(lost.default_stream(), [] { throw error("the device is lost"); });
      tree.insert_or_assign(more, more, {}, way);
      for (const std::uint64_t key : more) all[key] = key;
      EXPECT_EQ(tree.stats().update.way, way);
      EXPECT_EQ(tree.stats().update.sent, 0u);
      EXPECT_NE(tree.explain().find("the device is lost"), std::string::npos) << tree.explain();
      EXPECT_EQ(tree.stats().device_bytes, 0u);
      expect_agrees(tree, all);
      if (HasFatalFailure()) return;
      tree.erase(words{0}, {}, way);
      all.erase(0);
      EXPECT_GT(tree.stats().device_bytes, 0u);
      expect_agrees(tree, all);
    }
  }
}

TEST(HybridDiffering, FindsTheBlocksThatDiffer) {
  const cpu_backend host(device::cpu(2));
  std::vector<char> before(10 * update_block + 100, 'a'), now(before);
  const auto ranges = [&] { return differing(host, before.data(), before.size(), now.data(), now.size()); };
  EXPECT_TRUE(ranges().empty());
  now[0] = 'b';
  now[3 * update_block + 5] = 'b';
  now[4 * update_block] = 'b';
  now.back() = 'b';
  EXPECT_EQ(ranges(), (std::vector<byte_range>{
                          {0, update_block}, {3 * update_block, 5 * update_block}, {10 * update_block, now.size()}}));
  now.resize(12 * update_block + 1, 'a');  // what there was no memory of before differs
  EXPECT_EQ(ranges().back(), (byte_range{10 * update_block, now.size()}));
  now.resize(update_block / 2);
  now[0] = 'a';
  EXPECT_TRUE(ranges().empty());
  now.clear();
  EXPECT_TRUE(ranges().empty());
}

TEST(HybridWay, IsTheCheaperOneUnlessAskedFor) {
  write_explanation cost;
  cost.per_key_seconds = 1e-3;
  cost.bulk_seconds = 4e-3;
  EXPECT_EQ(choose_way(update_mode::automatic, cost, 0).way, update_mode::synchronised);
  EXPECT_EQ(choose_way(update_mode::asynchronous, cost, 0).way, update_mode::asynchronous);
  cost.bulk_seconds = 1.2e-3;
  EXPECT_EQ(choose_way(update_mode::automatic, cost, 0).way, update_mode::asynchronous);
  EXPECT_EQ(choose_way(update_mode::synchronised, cost, 0).way, update_mode::synchronised);
  EXPECT_EQ(choose_way(update_mode::automatic, cost, std::size_t{1} << 30).way, update_mode::synchronised)
      << "what has to be sent costs, too";
}

INSTANTIATE_TEST_SUITE_P(, HybridUpdate, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
