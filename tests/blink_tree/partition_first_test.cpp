// partition_first_test.cpp - on a CPU, reads that are partitioned first have the answers of reads that are not: at the
// borders of tiles, while the express lane is stale, and without memory for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "static_tree/cpu_partition.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"
#include "support/partition_batches.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t tile_of_queries = detail::cpu_partition<std::uint32_t>::tile;

[[nodiscard]] std::vector<const setting*> partition_settings() {
  std::vector<const setting*> all = host_span_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cpu; });
  return all;
}

class BlinkTreeCpuPartitionFirst : public testing::TestWithParam<const setting*> {
 protected:
  [[nodiscard]] static const device& here() { return GetParam()->dev; }

  template <class Key, class Value>
  static void check_points(const blink_tree<Key, Value>& tree, const array<Key>& batch) {
    const std::size_t n = batch.size();
    const auto how = [](bool partitioned) {
      return query_options{batch_order::unknown, partitioned ? query_plan::partition_first : query_plan::scattered};
    };
    const auto values = [&](void* p) { return std::span<Value>(static_cast<Value*>(p), n); };
    const auto mask = [&](void* p) { return std::span<std::uint8_t>(static_cast<std::uint8_t*>(p), n); };
    compare_plans("find", n, {sizeof(Value), 1},
                  [&](const auto& to, bool p) { tree.find(batch.span(), values(to[0]), mask(to[1]), how(p), {}); });
    compare_plans("find without a mask", n, {sizeof(Value)},
                  [&](const auto& to, bool p) { tree.find(batch.span(), values(to[0]), {}, how(p), {}); });
    compare_plans("contains", n, {1},
                  [&](const auto& to, bool p) { tree.contains(batch.span(), mask(to[0]), how(p), {}); });
    const auto keys = [&](void* p) { return std::span<Key>(static_cast<Key*>(p), n); };
    compare_plans("lower_bound", n, {sizeof(Key), sizeof(Value), 1}, [&](const auto& to, bool p) {
      tree.lower_bound(batch.span(), keys(to[0]), values(to[1]), mask(to[2]), how(p), {});
    });
    compare_plans("upper_bound, keys alone", n, {sizeof(Key)},
                  [&](const auto& to, bool p) { tree.upper_bound(batch.span(), keys(to[0]), {}, {}, how(p), {}); });
    compare_plans("predecessor, values and mask", n, {sizeof(Value), 1}, [&](const auto& to, bool p) {
      tree.predecessor(batch.span(), {}, values(to[0]), mask(to[1]), how(p), {});
    });
  }

  template <class Key, class Value>
  static void check_tree(std::size_t tree_size, std::initializer_list<std::size_t> sizes) {
    for (const family f : {family::uniform, family::clustered, family::zipf, family::adversarial, family::all_equal}) {
      if (less_work > 1 && f != family::clustered && f != family::all_equal) continue;
      const auto keys = make_keys<Key>(f, tree_size);
      auto tree = blink_tree<Key, Value>::build(keys.span(), make_values<Value>(tree_size).span(), {}, here());
      for (const bool stale : {false, true}) {
        // Key by key: leaves split behind the lines that name them, and others lose elements.
        if (stale) {
          const auto more = make_keys<Key>(f, tree_size / 2 + 1);
          write_options one_by_one;
          one_by_one.path = write_path::per_key;
          tree.insert_or_assign(more.span(), make_values<Value>(more.size()).span(), {}, one_by_one);
          tree.erase(keys.span().first(tree_size / 3), {}, one_by_one);
        }
        for (const std::size_t n : sizes) {
          for (const order_of_batch order : all_orders) {
            if (n > 50000 && order != order_of_batch::random && order != order_of_batch::two_far) continue;
            SCOPED_TRACE("family " + std::to_string(static_cast<int>(f)) + ", queries " + std::to_string(n) +
                         ", order " + std::to_string(static_cast<int>(order)) + (stale ? ", stale lane" : ""));
            check_points(tree, batch_of<Key>(order, n, keys));
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
};

TEST_P(BlinkTreeCpuPartitionFirst, SmallBatchesHaveTheSameAnswers) {
  check_tree<std::uint32_t, std::uint32_t>(30011, {1, 31, 4097});
  check_tree<std::uint64_t, std::uint64_t>(30011, {1, 4097});
  check_tree<float, std::uint64_t>(5003, {5001});
  check_tree<std::int8_t, std::uint16_t>(5003, {5001});
  check_tree<std::int64_t, double>(1, {5001});
}

TEST_P(BlinkTreeCpuPartitionFirst, BatchesThatEndAtABorderOfATileHaveTheSameAnswers) {
  check_tree<std::uint32_t, std::uint64_t>(30011, {tile_of_queries - 1, tile_of_queries, tile_of_queries + 1});
  check_tree<double, std::uint32_t>(30011, {3 * tile_of_queries + 777});
}

/// A batch of a tree that is large enough to be partitioned without a request.
TEST_P(BlinkTreeCpuPartitionFirst, LargeTreesAreChosenAndDoWithoutScratchMemory) {
  const auto pool = std::make_shared<failing_pool>(here().pool());
  const device limited = here().with_pool(pool);
  constexpr std::size_t n = std::size_t{1} << 18, queries = std::size_t{1} << 17;
  std::vector<std::uint64_t> keys(n), values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = i * 511 + i % 7;
    values[i] = ~i;
  }
  const auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys, values, {}, limited);
  std::vector<std::uint64_t> batch(queries), wanted(queries);
  random_words random(3);
  for (std::size_t i = 0; i < queries; ++i) batch[i] = keys[wanted[i] = random.below(n)];
  std::size_t allocations = 0;
  for (std::size_t k = 0; k <= allocations; ++k) {  // 0: no allocation fails
    pool->fail_at(k);
    std::vector<std::uint64_t> found(queries);
    ASSERT_NO_THROW(tree.find(batch, found)) << "allocation " << k << " failed";
    if (k == 0) allocations = pool->requests();
    pool->fail_at(0);
    for (std::size_t i = 0; i < queries; ++i) ASSERT_EQ(found[i], ~wanted[i]) << "query " << i;
  }
  EXPECT_GE(allocations, 4u) << "the batch was not partitioned";
  // Queries of one leaf, and queries in order, are answered as they come.
  const auto needs_memory = [&](const std::vector<std::uint64_t>& asked) {
    std::vector<std::uint64_t> found(queries);
    pool->fail_at(0);
    tree.find(asked, found);
    return pool->requests() != 0;
  };
  std::vector<std::uint64_t> close(queries, keys[4711]), ascending(keys.begin(), keys.begin() + queries);
  EXPECT_TRUE(needs_memory(batch));
  EXPECT_FALSE(needs_memory(close));
  EXPECT_FALSE(needs_memory(ascending));
}

/// Ranges are partitioned by their lower ends. Those of an ascending batch are answered as they come.
TEST_P(BlinkTreeCpuPartitionFirst, RangesInAnyOrderHaveTheAnswersOfAscendingOnes) {
  const auto pool = std::make_shared<failing_pool>(here().pool());
  const device counted = here().with_pool(pool);
  constexpr std::size_t n = std::size_t{1} << 18, queries = (std::size_t{1} << 17) + 5;
  std::vector<std::uint64_t> keys(n), values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = 3 + i * 511 + i % 7;
    values[i] = i * 1000003 % 9973;
  }
  const auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys, values, {}, counted);
  std::vector<std::uint64_t> lo(queries), hi(queries), mixed_lo(queries), mixed_hi(queries);
  std::vector<std::size_t> place(queries);
  random_words random(11);
  for (auto& x : lo) x = random.below(n * 511);
  std::sort(lo.begin(), lo.end());
  for (std::size_t i = 0; i < queries; ++i) {
    hi[i] = i % 5 == 0 ? lo[i] - 1 : lo[i] + random.below(i % 97 == 0 ? 100000 : 5000);  // some are empty, some long
    place[i] = i;
  }
  for (std::size_t i = queries; i > 1; --i) std::swap(place[i - 1], place[random.below(i)]);
  for (std::size_t i = 0; i < queries; ++i) {
    mixed_lo[place[i]] = lo[i];
    mixed_hi[place[i]] = hi[i];
  }
  const auto compare = [&]<class Answer>(const char* what, Answer, auto ask) {
    std::vector<Answer> wanted(queries), got(queries);
    pool->fail_at(0);
    ask(lo, hi, wanted);
    EXPECT_EQ(pool->requests(), 0u) << what << ": an ascending batch needs no memory";
    ask(mixed_lo, mixed_hi, got);
    EXPECT_NE(pool->requests(), 0u) << what << ": the batch was not partitioned";
    for (std::size_t i = 0; i < queries; ++i)
      ASSERT_TRUE(got[place[i]] == wanted[i] || (got[place[i]] != got[place[i]] && wanted[i] != wanted[i]))
          << what << ", range " << i;
  };
  using sums = std::vector<sum_of<std::uint64_t>>;
  const auto at_most_3 = range_options{interval::left_open, 3};
  compare("count", std::uint64_t{}, [&](auto& l, auto& h, auto& out) { tree.count(l, h, out); });
  compare("count of 3", std::uint64_t{}, [&](auto& l, auto& h, auto& out) { tree.count(l, h, out, at_most_3); });
  compare("sum", sum_of<std::uint64_t>{},
          [&](auto& l, auto& h, sums& out) { tree.sum(l, h, std::span<sum_of<std::uint64_t>>(out), interval::open); });
  compare("max", std::uint64_t{}, [&](auto& l, auto& h, auto& out) { tree.max(l, h, out, {}); });
  compare("avg", double{}, [&](auto& l, auto& h, auto& out) { tree.avg(l, h, out); });
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeCpuPartitionFirst, testing::ValuesIn(partition_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
