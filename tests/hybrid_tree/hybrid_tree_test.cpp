// hybrid_tree_test.cpp - both layouts agree with std::map, whoever walks the inner levels.
#include "espalier/hybrid_tree/hybrid_tree.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/hybrid_layouts.hpp"
#include "support/less_work.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

/// Every way to be asked: small buckets, so that there are many of them.
std::vector<hybrid_query_options> all_ways() {
  std::vector<hybrid_query_options> ways{{hybrid_placement::automatic}, {hybrid_placement::host_alone}};
  for (const unsigned depth : {0u, 1u, 2u}) ways.push_back({hybrid_placement::shared, depth});
  for (const load_balance b : {load_balance{0, 0}, {0, 0.4}, {1, 1}, {1, 0.7}, {2, 1}})
    ways.push_back({hybrid_placement::shared, 2, b});
  for (const hybrid_placement p : {hybrid_placement::device_alone, hybrid_placement::both}) ways.push_back({p});
  return ways;
}

class HybridTree : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key>
  using oracle = std::map<Key, std::uint64_t>;
  template <class Key>
  using tree_of = hybrid_tree<Key, std::uint64_t>;

  static hybrid_options options_for(hybrid_layout layout) {
    hybrid_options o;
    o.layout = layout;
    o.bucket = 700;
    o.threads = 2;
    return o;
  }
  template <class Key>
  static std::vector<Key> questions(const oracle<Key>& all, std::size_t n) {
    random_words random(n + 5);
    std::vector<Key> keys{Key{}, std::numeric_limits<Key>::max(), std::numeric_limits<Key>::lowest()};
    std::vector<Key> there;
    for (const auto& [k, v] : all) there.push_back(k);
    while (keys.size() < n) {
      const Key near = there.empty() ? Key{7} : there[random.below(there.size())];
      const auto step = static_cast<Key>(random.below(3));
      keys.push_back(random.below(4) == 0 ? static_cast<Key>(random.below(~std::uint64_t{0}))
                                          : static_cast<Key>(near + step));
    }
    return keys;
  }
  template <class Key>
  static void expect_finds(const tree_of<Key>& tree, const oracle<Key>& all, std::size_t n = 3000) {
    const std::vector<Key> keys = questions(all, n);
    for (const hybrid_query_options& way : all_ways()) {
      SCOPED_TRACE(to_string(way.placement) + ", queue depth " + std::to_string(way.queue_depth) +
                   (way.balance ? ", " + std::to_string(way.balance->levels) : ""));
      std::vector<std::uint64_t> values(n, 99);
      std::vector<std::uint8_t> found(n, 9), mask(n, 9);
      tree.find(keys, values, found, way);
      tree.contains(keys, mask, way);
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = all.find(keys[i]);
        ASSERT_EQ(found[i] != 0, at != all.end()) << "key " << keys[i];
        ASSERT_EQ(values[i], at != all.end() ? at->second : 0) << "key " << keys[i];
        ASSERT_EQ(mask[i], found[i]);
      }
    }
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(tree.size(), all.size());
  }
  template <class Key>
  static void check(std::size_t n) {
    for (const hybrid_layout layout : layouts) {
      SCOPED_TRACE(to_string(layout) + " x " + std::to_string(n));
      random_words random(n + 1);
      std::vector<Key> keys(n);
      std::vector<std::uint64_t> values(n);
      oracle<Key> all;
      for (std::size_t i = 0; i < n; ++i) {
        keys[i] = static_cast<Key>(random.below(std::uint64_t{1} << 40) * 3);
        if (i % 5 == 4) keys[i] = keys[i - 1];  // the last of equal keys counts
        values[i] = i + 1;
        all[keys[i]] = values[i];
      }
      const auto tree = tree_of<Key>::build(keys, values, options_for(layout), GetParam()->dev);
      expect_finds(tree, all);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(HybridTree, SmallTreesAreFoundInEveryWay) {
  for (const std::size_t n : {0u, 1u, 2u, 9u, 300u, 5000u}) {
    check<std::uint32_t>(n);
    check<std::uint64_t>(n);
    check<std::int64_t>(n);
    if (HasFatalFailure()) return;
  }
}
TEST_P(HybridTree, LargeTreesAreFoundInEveryWay) {
  check<std::uint32_t>(200000 / less_work);
  check<std::uint64_t>(200000 / less_work);
}

TEST_P(HybridTree, SmallNeighboursRangesAndSumsAgree) {
  for (const hybrid_layout layout : layouts) {
    SCOPED_TRACE(to_string(layout));
    oracle<std::uint32_t> all;
    random_words random(3);
    for (std::size_t i = 0; i < 4000; ++i) all[static_cast<std::uint32_t>(random.below(100000))] = i;
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> values;
    for (const auto& [k, v] : all) keys.push_back(k), values.push_back(v);
    const auto tree = tree_of<std::uint32_t>::build(keys, values, options_for(layout), GetParam()->dev);
    const std::vector<std::uint32_t> lo = questions(all, 500);
    std::vector<std::uint32_t> hi(lo);
    for (std::uint32_t& h : hi) h = h > 0xffffffffu - 900 ? h : h + static_cast<std::uint32_t>(random.below(900));
    const std::size_t n = lo.size();
    std::vector<std::uint64_t> counts(n), out(n), low(n), high(n);
    std::vector<std::uint32_t> at(n);
    std::vector<std::uint8_t> found(n), has(n);
    std::vector<uint128> sums(n);
    tree.count(lo, hi, counts);
    tree.sum(lo, hi, sums);
    tree.min(lo, hi, low, has);
    tree.max(lo, hi, high, has);
    tree.lower_bound(lo, at, out, found);
    const auto listed = tree.range(lo, hi);
    const auto offsets = listed.offsets.to_vector();
    const auto range_keys = listed.keys.to_vector();
    for (std::size_t i = 0; i < n; ++i) {
      const auto from = all.lower_bound(lo[i]), to = all.upper_bound(hi[i]);
      const auto size = static_cast<std::uint64_t>(std::distance(from, to));
      ASSERT_EQ(counts[i], size);
      ASSERT_EQ(found[i] != 0, from != all.end());
      if (from != all.end()) {
        ASSERT_TRUE(at[i] == from->first && out[i] == from->second);
      }
      uint128 sum = 0;
      std::uint64_t least = ~std::uint64_t{0}, most = 0, e = offsets[i];
      for (auto it = from; it != to; ++it, ++e) {
        sum += it->second;
        least = std::min(least, it->second);
        most = std::max(most, it->second);
        ASSERT_EQ(range_keys[e], it->first);
      }
      ASSERT_EQ(e, offsets[i + 1]);
      ASSERT_TRUE(sums[i] == sum);
      ASSERT_EQ(has[i] != 0, size != 0);
      if (size != 0) {
        ASSERT_TRUE(low[i] == least && high[i] == most);
      }
    }
  }
}

TEST_P(HybridTree, SmallBatchesOfWritesAgree) {
  for (const hybrid_layout layout : layouts) {
    SCOPED_TRACE(to_string(layout));
    tree_of<std::uint64_t> tree(options_for(layout), GetParam()->dev);
    oracle<std::uint64_t> all;
    random_words random(7);
    for (unsigned round = 0; round < 12; ++round) {
      const std::size_t n = round % 3 == 0 ? 1 : 900;
      std::vector<std::uint64_t> keys(n), values(n);
      std::vector<std::uint8_t> done(n, 9), expected(n);
      const bool erases = round % 4 == 3;
      for (std::size_t i = 0; i < n; ++i) {
        keys[i] = random.below(4000);
        values[i] = 1000 * round + i;
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (erases) {
          expected[i] = all.erase(keys[i]) != 0 ? 1 : 0;
        } else {
          expected[i] = all.insert_or_assign(keys[i], values[i]).second ? 1 : 0;
        }
      }
      if (erases) {
        tree.erase(keys, done);
      } else {
        tree.insert_or_assign(keys, values, done);
      }
      ASSERT_EQ(done, expected) << "round " << round;
      expect_finds(tree, all, 1500);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(HybridTree, SmallSetsAndWideValuesWork) {
  struct wide {
    std::uint64_t a, b;
  };
  for (const hybrid_layout layout : layouts) {
    const std::vector<std::int32_t> keys{5, -3, 9, 5, 0};
    hybrid_tree<std::int32_t> set = hybrid_tree<std::int32_t>::build(keys, options_for(layout), GetParam()->dev);
    EXPECT_EQ(set.size(), 4u);
    set.erase(std::vector<std::int32_t>{5, 77});
    set.insert(std::vector<std::int32_t>{-8, 9});
    std::vector<std::uint8_t> found(3);
    set.contains(std::vector<std::int32_t>{-8, 5, 9}, found);
    EXPECT_EQ(found, (std::vector<std::uint8_t>{1, 0, 1}));
    set.find(std::vector<std::int32_t>{5, -8, 9}, found);
    EXPECT_EQ(found, (std::vector<std::uint8_t>{0, 1, 1})) << "a set has no values, so this is the mask";
    const std::vector<wide> values{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
    const auto map = hybrid_tree<std::int32_t, wide>::build(keys, values, options_for(layout), GetParam()->dev);
    std::vector<wide> out(2);
    map.find(std::vector<std::int32_t>{5, -3}, out);
    EXPECT_TRUE(out[0].a == 7 && out[0].b == 8 && out[1].a == 3 && out[1].b == 4);
  }
}

TEST_P(HybridTree, ABudgetThatIsTooSmallLeavesTheHostAlone) {
  for (const hybrid_layout layout : layouts) {
    std::vector<std::uint64_t> keys(20000);
    oracle<std::uint64_t> all;
    for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i] = 3 * i] = 3 * i;
    hybrid_options o = options_for(layout);
    o.gpu_memory = 1000;
    const auto tree = tree_of<std::uint64_t>::build(keys, keys, o, GetParam()->dev);
    EXPECT_EQ(tree.stats().placement, hybrid_placement::host_alone);
    EXPECT_EQ(tree.stats().device_bytes, 0u);
    EXPECT_NE(tree.explain().find("1000 bytes"), std::string::npos) << tree.explain();
    expect_finds(tree, all);
    o.gpu_memory = std::numeric_limits<std::size_t>::max();
    EXPECT_GT(tree_of<std::uint64_t>::build(keys, keys, o, GetParam()->dev).stats().device_bytes, 0u);
  }
}

// Memory of the device runs out when the tree is built, or after a write: the host goes on alone, and nothing is lost.
TEST_P(HybridTree, ADeviceWithoutMemoryLeavesTheHostAlone) {
  std::vector<std::uint64_t> keys(20000);
  oracle<std::uint64_t> all;
  for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i] = 3 * i] = 3 * i;
  for (const hybrid_layout layout : layouts) {
    for (std::size_t k = 1; k < 40; ++k) {
      const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool(), k);
      {
        auto tree = tree_of<std::uint64_t>::build(keys, keys, options_for(layout), GetParam()->dev.with_pool(pool));
        const bool failed = tree.stats().device_bytes == 0;
        if (failed) {
          EXPECT_NE(tree.explain().find("failed"), std::string::npos) << tree.explain();
        }
        pool->fail_at(0);
        expect_finds(tree, all, 800);
        tree.insert_or_assign(std::vector<std::uint64_t>{3}, std::vector<std::uint64_t>{3});
        EXPECT_GT(tree.stats().device_bytes, 0u) << "there is memory again";
        expect_finds(tree, all, 800);
        if (!failed || HasFatalFailure()) k = 40;
      }
      EXPECT_EQ(pool->live_blocks(), 0u);
    }
  }
}

TEST_P(HybridTree, TuningChangesNoAnswer) {
  for (const hybrid_layout layout : layouts) {
    std::vector<std::uint64_t> keys(30000);
    oracle<std::uint64_t> all;
    for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i] = 5 * i] = 5 * i;
    auto tree = tree_of<std::uint64_t>::build(keys, keys, options_for(layout), GetParam()->dev);
    tree.tune({});
    tree.tune(keys);
    EXPECT_NE(tree.explain().find("measured"), std::string::npos) << tree.explain();
    for (unsigned i = 0; i < 5; ++i) {  // and while it runs the balance may shift
      std::vector<std::uint64_t> values(keys.size());
      tree.find(keys, values, {}, {hybrid_placement::shared});
      ASSERT_EQ(values, keys);
    }
    expect_finds(tree, all);
  }
}

// A batch is there for a reader as a whole or not at all.
TEST_P(HybridTree, ReadersSeeNoHalfOfAWrite) {
  for (const hybrid_layout layout : layouts) {
    const std::size_t n = 6000 / less_work;
    std::vector<std::uint64_t> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = 2 * i;
    auto tree =
        tree_of<std::uint64_t>::build(keys, std::vector<std::uint64_t>(n, 0), options_for(layout), GetParam()->dev);
    std::atomic<bool> over{false};
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t) {
      readers.emplace_back([&, t] {
        std::vector<std::uint64_t> values(n);
        while (!over) {
          tree.find(keys, values, {}, {t == 0 ? hybrid_placement::shared : hybrid_placement::host_alone});
          for (const std::uint64_t v : values) {
            if (v != values[0]) {
              ADD_FAILURE() << "a reader saw " << v << " beside " << values[0];
              return;
            }
          }
        }
      });
    }
    for (std::uint64_t round = 1; round <= 40; ++round)
      tree.insert_or_assign(keys, std::vector<std::uint64_t>(n, round));
    over = true;
    for (std::thread& r : readers) r.join();
  }
}

// Sizes whose bytes cannot be counted in a word are too large for any device, not small.
TEST_P(HybridTree, BucketsAndWindowsBeyondAllMemoryLeaveTheHostAlone) {
  const std::vector<std::uint64_t> keys = [] {
    std::vector<std::uint64_t> k(50000);
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = 3 * i;
    return k;
  }();
  for (const unsigned bits : {40u, 59u, 60u, 61u, 62u, 63u}) {
    for (const bool window : {false, true}) {
      SCOPED_TRACE((window ? "window of 2^" : "bucket of 2^") + std::to_string(bits));
      hybrid_options o;
      o.threads = 2;
      o.bucket = 1000;
      (window ? o.window : o.bucket) = std::size_t{1} << bits;
      auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
      EXPECT_EQ(tree.stats().device_bytes == 0, !window);
      tree.tune(keys);
      for (const hybrid_placement p :
           {hybrid_placement::shared, hybrid_placement::both, hybrid_placement::device_alone}) {
        std::vector<std::uint64_t> values(keys.size());
        tree.find(keys, values, {}, {p});
        EXPECT_EQ(values, keys) << to_string(p);
        EXPECT_EQ(tree.stats().last, window ? p : hybrid_placement::host_alone) << to_string(p);
      }
    }
  }
}

// Rows have a choice of their own, and short calls none: what answered is told, not guessed.
TEST_P(HybridTree, TellsWhoAnswered) {
  std::vector<std::uint64_t> keys(50000), values(keys.size()), counts(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  for (const hybrid_layout layout : layouts) {
    hybrid_options o;
    o.layout = layout;
    o.bucket = 1000;
    o.threads = 2;
    auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
    EXPECT_EQ(tree.stats().last, hybrid_placement::automatic);
    const bool lines = layout == hybrid_layout::implicit;
    for (const hybrid_placement p : {hybrid_placement::host_alone, hybrid_placement::shared,
                                     hybrid_placement::device_alone, hybrid_placement::both}) {
      const bool leaves = p == hybrid_placement::device_alone || p == hybrid_placement::both;
      const hybrid_placement right = leaves && !lines ? hybrid_placement::shared : p;
      tree.find(keys, values, {}, {p});
      EXPECT_EQ(tree.stats().last, right) << to_string(layout) << ", " << to_string(p);
      tree.find(keys, values, {}, {hybrid_placement::host_alone});
      tree.range_rows(keys, keys, {}, {}, counts, {interval::closed, 1}, {p});
      EXPECT_EQ(tree.stats().last, right) << "rows, " << to_string(layout) << ", " << to_string(p);
    }
    EXPECT_EQ(tree.explain().find("reads no leaves") == std::string::npos, lines) << tree.explain();
    tree.tune(keys);
    tree.range_rows(keys, keys, {}, {}, counts, {interval::closed, 1});
    EXPECT_EQ(tree.stats().last, tree.stats().placement) << "of rows nothing is known yet: as finds";
    tree.find(std::span(keys).first(3999), std::span(values).first(3999));
    EXPECT_EQ(tree.stats().last, hybrid_placement::host_alone) << "fewer than four buckets";
  }
}

// A row of a thousand elements costs more than one of a few: what is known of one says nothing about the other.
TEST_P(HybridTree, RowsOfEveryLengthAreMeasuredByThemselves) {
  std::vector<std::uint64_t> keys(40000), far(keys.size(), ~std::uint64_t{0}), counts(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  hybrid_options o;
  o.bucket = 1000;
  o.threads = 2;
  auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
  tree.tune(keys);
  const auto lists = [&](std::uint64_t limit) {
    for (unsigned turn = 0; turn < 2; ++turn)  // the first one may make what is needed
      tree.range_rows(keys, far, {}, {}, counts, {interval::closed, limit});
  };
  const auto tells = [&](const std::string& text) { return tree.explain().find(text) != std::string::npos; };
  lists(8);
  EXPECT_TRUE(tells("; rows of up to 31 elements: ")) << tree.explain();
  EXPECT_FALSE(tells("; rows of more than 511 elements: ")) << tree.explain();
  lists(600);
  EXPECT_TRUE(tells("; rows of up to 31 elements: ")) << tree.explain();
  EXPECT_TRUE(tells("; rows of more than 511 elements: ")) << tree.explain();
  EXPECT_FALSE(tells("; rows of up to 127 elements: ")) << tree.explain();
}

// Aggregates take a sixth of the memory of a tree that never sums.
TEST_P(HybridTree, KeepsTheAggregatesThatAreAskedFor) {
  std::vector<std::uint64_t> keys(20000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  const std::vector<std::uint64_t> lo{3}, hi{9}, other{4};
  const auto made = [&](aggregates keep) {
    hybrid_options o = options_for(hybrid_layout::implicit);
    o.keep = keep;
    return hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
  };
  std::vector<sum_of<std::uint64_t>> sum(1);
  std::vector<std::uint64_t> least(1), count(1);
  auto sums = made(aggregates::sum);
  sums.insert_or_assign(other, other);  // rebuilt with the same options
  sums.sum(lo, hi, sum);
  EXPECT_EQ(static_cast<std::uint64_t>(sum[0]), 3u + 4 + 6 + 9);
  EXPECT_THROW(sums.min(lo, hi, least, {}), error);
  const auto none = made(aggregates::none);
  EXPECT_LT(none.stats().host_bytes, made(aggregates::all).stats().host_bytes);
  none.count(lo, hi, count);
  EXPECT_EQ(count[0], 3u);
  try {
    none.sum(lo, hi, sum);
    ADD_FAILURE() << "there is nothing to sum up with";
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find("options whose keep is aggregates::sum (or all)"), std::string::npos)
        << e.what();
  }
}

TEST(HybridTreeErrors, SayWhatToDo) {
  hybrid_options o;
  o.bucket = 0;
  EXPECT_THROW(hybrid_tree<std::uint32_t>(o, device::cpu(1)), error);
  o.bucket = 1;
  o.window = 0;
  EXPECT_THROW(hybrid_tree<std::uint32_t>(o, device::cpu(1)), error);
  o.window = 1;
  o.layout = hybrid_layout::regular;
  o.fill = 0.1;
  try {
    hybrid_tree<std::uint32_t>(o, device::cpu(1));
    ADD_FAILURE() << "a fill of a tenth";
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find("hybrid_tree: fill"), std::string::npos) << e.what();
  }
  const std::vector<std::uint32_t> two{1, 2}, one{1};
  EXPECT_THROW((void)(hybrid_tree<std::uint32_t, std::uint32_t>::build(two, one, {}, device::cpu(1))), error);
  const auto set = hybrid_tree<std::uint32_t>::build(two, {}, device::cpu(1));
  std::vector<std::uint8_t> found(2, 9);
  for (const load_balance& b : {load_balance{3, 1}, {0, -0.1}, {0, 1.1}, {1, std::nan("")}}) {
    EXPECT_THROW(set.contains(two, found, {hybrid_placement::shared, 0, b}), error);
  }
  EXPECT_THROW(set.contains(two, found, {hybrid_placement::shared, 3}), error);
  EXPECT_EQ(found, (std::vector<std::uint8_t>{9, 9})) << "nothing was answered";
}

INSTANTIATE_TEST_SUITE_P(, HybridTree, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
