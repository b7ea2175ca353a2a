// leaves_test.cpp - leaves that the device reads itself: its cache, and answers of many buckets.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "hybrid_tree/leaf_cache.hpp"
#include "support/families.hpp"
#include "support/hybrid_layouts.hpp"
#include "support/less_work.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using detail::leaf_cache;

// ---- the cache --------------------------------------------------------------------------------------------------
/// One place, so that all lines want it.
struct LeafCache : testing::Test {
  std::uint64_t word = 0;
  leaf_cache cache{&word, 1};
  static constexpr std::uint32_t start = leaf_cache::min_idle_buckets;
};

TEST_F(LeafCache, WithoutPlacesThereIsNone) {
  EXPECT_EQ((leaf_cache{nullptr, 0}).place_of(7, start).place, leaf_cache::no_place);
}
TEST_F(LeafCache, ACopyIsMadeOnceAndThenUsed) {
  const auto made = cache.place_of(7, start);
  EXPECT_TRUE(made.place == 0 && made.is_empty);
  for (const std::uint32_t b : {start, start + 1, start + 40}) {  // another part of the same bucket, and later ones
    const auto used = cache.place_of(7, b);
    EXPECT_TRUE(used.place == 0 && !used.is_empty) << "bucket " << b;
  }
}
TEST_F(LeafCache, APlaceThatMayBeInUseIsNotGivenAway) {
  (void)cache.place_of(7, start);
  const std::uint32_t used = start + 2;
  ASSERT_EQ(cache.place_of(7, used).place, 0u);
  for (std::uint32_t b = used; b < used + leaf_cache::min_idle_buckets; ++b)
    ASSERT_EQ(cache.place_of(8, b).place, leaf_cache::no_place) << "bucket " << b;
  const auto given = cache.place_of(8, used + leaf_cache::min_idle_buckets);
  EXPECT_TRUE(given.place == 0 && given.is_empty);
  EXPECT_EQ(cache.place_of(7, used + leaf_cache::min_idle_buckets).place, leaf_cache::no_place) << "its copy is gone";
}
TEST_F(LeafCache, WhoHasNoPlaceStagesACopy) {
  EXPECT_EQ(cache.place_or(50, 7, start), 0 | leaf_cache::to_fetch);
  EXPECT_EQ(cache.place_or(50, 7, start), 0u);
  EXPECT_EQ(cache.place_or(50, 8, start), 50 | leaf_cache::to_fetch);
}
TEST_F(LeafCache, LinesAreSpreadOverAllPlaces) {
  std::vector<std::uint64_t> words(1000);
  const leaf_cache many{words.data(), 1000};
  for (std::uint32_t line = 0; line < 20000; ++line) (void)many.place_of(line, start);
  EXPECT_EQ(std::count(words.begin(), words.end(), 0u), 0);
}

// ---- the tree ---------------------------------------------------------------------------------------------------
class HybridLeaves : public testing::TestWithParam<const setting*> {};

template <class Key, class Value>
void ask_often(const device& dev, std::size_t n, std::size_t cache) {
  hybrid_options o;
  o.bucket = 300;
  o.window = 2500;
  o.threads = 2;
  o.leaf_cache = cache;
  random_words random(n);
  std::vector<Key> keys(n);
  std::vector<Value> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<Key>(3 * i + 1);
    values[i] = static_cast<Value>(i * 7 + 1);
  }
  const auto tree = hybrid_tree<Key, Value>::build(keys, values, o, dev);
  const std::size_t queries = 30000;
  for (unsigned round = 0; round < 8; ++round) {
    std::vector<Key> asked(queries);
    for (Key& k : asked) {  // half of them from a few, which change slowly
      const std::size_t near = random.below(2) == 0 ? (random.below(60) + 10 * round) % n : random.below(n);
      k = static_cast<Key>(3 * near + random.below(3));
    }
    std::vector<Value> got(queries, Value{99});
    std::vector<std::uint8_t> found(queries, 9);
    hybrid_query_options how{round % 3 == 0 ? hybrid_placement::both : hybrid_placement::device_alone};
    how.copies = round % 2 == 0 ? host_copies::automatic : host_copies::staged;
    tree.find(asked, got, found, how);
    for (std::size_t i = 0; i < queries; ++i) {
      const bool there = asked[i] % 3 == 1;
      ASSERT_EQ(found[i], there ? 1 : 0) << "key " << asked[i] << ", round " << round;
      ASSERT_EQ(got[i], there ? static_cast<Value>((asked[i] - 1) / 3 * 7 + 1) : Value{});
    }
    std::fill(found.begin(), found.end(), std::uint8_t{9});
    tree.contains(asked, found, {hybrid_placement::device_alone});
    for (std::size_t i = 0; i < queries; ++i) ASSERT_EQ(found[i], asked[i] % 3 == 1 ? 1 : 0);
  }
  const hybrid_stats s = tree.stats();
  EXPECT_LE(s.leaf_cache_bytes, cache);
  EXPECT_EQ(s.leaf_cache_bytes != 0, cache >= 300);
  EXPECT_GT(s.device_bytes, s.leaf_cache_bytes);
}

TEST_P(HybridLeaves, SmallAndLargeCachesChangeNoAnswer) {
  for (const std::size_t cache : {std::size_t{0}, std::size_t{300}, std::size_t{20000}, std::size_t{1} << 24}) {
    SCOPED_TRACE("cache of " + std::to_string(cache));
    ask_often<std::uint64_t, std::uint64_t>(GetParam()->dev, 40000 / less_work, cache);
    ask_often<std::uint32_t, std::uint32_t>(GetParam()->dev, 40000 / less_work, cache);
    ask_often<std::uint32_t, std::uint16_t>(GetParam()->dev, 5000, cache);
    if (HasFatalFailure()) return;
  }
}
// Lines of more than 2 MiB are read where they are.
TEST_P(HybridLeaves, LargeTreesAreReadInPlace) {
  ask_often<std::uint64_t, std::uint64_t>(GetParam()->dev, 300000, 100000);
}
TEST_P(HybridLeaves, TheBudgetIsKept) {
  std::vector<std::uint64_t> keys(100000), values(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  for (const std::size_t budget : {std::size_t{1} << 18, std::size_t{1} << 21, std::size_t{1} << 22}) {
    hybrid_options o;
    o.bucket = 1000;
    o.threads = 2;
    o.gpu_memory = budget;
    o.leaf_cache = std::size_t{1} << 30;
    const auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
    tree.find(keys, values, {}, {hybrid_placement::both});
    EXPECT_EQ(values, keys);
    EXPECT_LE(tree.stats().device_bytes, budget);
    EXPECT_EQ(tree.stats().leaf_cache_bytes != 0, budget > std::size_t{1} << 18) << tree.stats().leaf_cache_bytes;
  }
}
/// Rows of ranges that overlap and lie apart, over keys that separators cannot tell apart, too.
template <class Key, class Value>
void list_rows(const device& dev, std::size_t n, std::uint64_t limit, std::size_t cache) {
  hybrid_options o;
  o.leaf_cache = cache;
  o.bucket = 300;
  o.window = 2500;
  o.threads = 2;
  random_words random(n + limit);
  std::vector<Key> keys(n);
  std::vector<Value> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<Key>(i < n / 2 ? 3 * i + 1 : 3 * i + 1 + (std::uint64_t{1} << 28));
    values[i] = static_cast<Value>(i * 7 + 1);
  }
  for (const hybrid_layout layout : layouts) {
    o.layout = layout;
    const auto tree = hybrid_tree<Key, Value>::build(keys, values, o, dev);
    const std::size_t ranges = limit <= 40 ? 10000 : 1000;
    std::vector<Key> lo(ranges), hi(ranges);
    for (std::size_t i = 0; i < ranges; ++i) {
      lo[i] = i % 7 == 0 ? static_cast<Key>(random.below(~std::uint64_t{0})) : keys[random.below(n)];
      hi[i] = static_cast<Key>(lo[i] + random.below(3 * limit + 3));  // now and then around the end
    }
    for (const hybrid_placement p : {hybrid_placement::host_alone, hybrid_placement::shared,
                                     hybrid_placement::device_alone, hybrid_placement::both}) {
      for (const interval ends : {interval::closed, interval::open}) {
        SCOPED_TRACE(to_string(layout) + ", " + to_string(p) + ", " + to_string(ends));
        const range_options options{ends, limit};
        hybrid_query_options how{p};
        how.copies = ends == interval::open ? host_copies::automatic : host_copies::staged;
        std::vector<Key> out_keys(ranges * limit);
        std::vector<Value> out_values(ranges * limit);
        std::vector<std::uint64_t> counts(ranges, 99), alone(ranges, 99);
        tree.range_rows(lo, hi, out_keys, out_values, counts, options, how);
        tree.range_rows(lo, hi, {}, {}, alone, options, how);
        ASSERT_EQ(counts, alone);
        for (std::size_t i = 0; i < ranges; ++i) {
          const bool open = ends == interval::open;
          auto first = open ? std::upper_bound(keys.begin(), keys.end(), lo[i])
                            : std::lower_bound(keys.begin(), keys.end(), lo[i]);
          const auto last = open ? std::lower_bound(keys.begin(), keys.end(), hi[i])
                                 : std::upper_bound(keys.begin(), keys.end(), hi[i]);
          const auto size = first < last ? static_cast<std::uint64_t>(last - first) : 0;
          ASSERT_EQ(counts[i], std::min(size, limit)) << "range " << i << " from " << lo[i] << " to " << hi[i];
          for (std::uint64_t j = 0; j < counts[i]; ++j, ++first) {
            ASSERT_EQ(out_keys[i * limit + j], *first) << "range " << i;
            ASSERT_EQ(out_values[i * limit + j], values[static_cast<std::size_t>(first - keys.begin())]);
          }
        }
      }
    }
  }
}
TEST_P(HybridLeaves, RowsAreListedInEveryWay) {
  for (const std::uint64_t limit : {1u, 8u, 40u, 255u, 256u}) {  // up to 255, counts travel as bytes
    for (const std::size_t cache : {std::size_t{0}, std::size_t{20000}, std::size_t{1} << 24}) {
      SCOPED_TRACE("rows of " + std::to_string(limit) + ", cache of " + std::to_string(cache));
      list_rows<std::uint64_t, std::uint64_t>(GetParam()->dev, 20000 / less_work, limit, cache);
      list_rows<std::uint32_t, std::uint32_t>(GetParam()->dev, 20000 / less_work, limit, cache);
      list_rows<std::uint32_t, std::uint16_t>(GetParam()->dev, 3000, limit, cache);
      if (HasFatalFailure()) return;
    }
  }
}
TEST_P(HybridLeaves, RowsWithoutAnEndAreRefused) {
  const std::vector<std::uint64_t> one{1};
  std::vector<std::uint64_t> counts(1);
  const auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(one, one, {}, GetParam()->dev);
  EXPECT_THROW(tree.range_rows(one, one, {}, {}, counts, {}), error);
  tree.range_rows({}, {}, {}, {}, {}, {interval::closed, 3});
}

// The regular layout has leaves that move when it is written to: there the host reads them.
TEST_P(HybridLeaves, TheRegularLayoutIsSharedInstead) {
  std::vector<std::uint64_t> keys(20000), values(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  hybrid_options o;
  o.layout = hybrid_layout::regular;
  o.bucket = 1000;
  auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, keys, o, GetParam()->dev);
  tree.find(keys, values, {}, {hybrid_placement::device_alone});
  EXPECT_EQ(values, keys);
  EXPECT_EQ(tree.stats().leaf_cache_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(, HybridLeaves, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
