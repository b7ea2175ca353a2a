// partition_first_test.cpp - on a CPU, batches that are partitioned first have the answers of batches that are not, at
// the borders of tiles and pieces; a partition has every query once; without memory the batch is not partitioned.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "static_tree/cpu_executor.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/less_work.hpp"
#include "support/oracle.hpp"
#include "support/partition_batches.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t tile_of_queries = detail::cpu_partition<std::uint32_t>::tile;

class StaticTreeCpuPartitionFirst : public testing::TestWithParam<const setting*> {
 protected:
  [[nodiscard]] static const device& here() { return GetParam()->dev; }

  template <class Key, class Value>
  static void check_points(const static_tree<Key, Value>& tree, const array<Key>& keys) {
    const std::span<const Key> in = keys.span();
    const std::size_t n = keys.size();
    const auto how = [](bool partitioned) {
      return query_options{batch_order::unknown, partitioned ? query_plan::partition_first : query_plan::scattered};
    };
    const auto values = [&](void* p) { return std::span<Value>(static_cast<Value*>(p), n); };
    const auto elements = [&](void* p) { return std::span<Key>(static_cast<Key*>(p), n); };
    const auto mask = [&](void* p) { return std::span<std::uint8_t>(static_cast<std::uint8_t*>(p), n); };
    const auto ranks = [&](void* p) { return std::span<std::uint64_t>(static_cast<std::uint64_t*>(p), n); };
    constexpr unsigned key = sizeof(Key), value = sizeof(Value);
    compare_plans("find", n, {value, 1}, [&](const auto& to, bool p) { tree.find(in, values(to[0]), mask(to[1]), how(p)); });
    compare_plans("find without a mask", n, {value},
            [&](const auto& to, bool p) { tree.find(in, values(to[0]), {}, how(p)); });
    compare_plans("contains", n, {1}, [&](const auto& to, bool p) { tree.contains(in, mask(to[0]), how(p)); });
    compare_plans("lower_bound", n, {8},
            [&](const auto& to, bool p) { tree.rank(in, ranks(to[0]), bound_type::lower, how(p)); });
    compare_plans("upper_bound", n, {8},
            [&](const auto& to, bool p) { tree.rank(in, ranks(to[0]), bound_type::upper, how(p)); });
    compare_plans("successor", n, {key, value, 1},
            [&](const auto& to, bool p) { tree.successor(in, elements(to[0]), values(to[1]), mask(to[2]), how(p)); });
    compare_plans("predecessor", n, {key, value, 1},
            [&](const auto& to, bool p) { tree.predecessor(in, elements(to[0]), values(to[1]), mask(to[2]), how(p)); });
  }

  /// Operations over ranges have no option for the plan: their jobs are launched directly.
  template <class Key, class Value>
  static void check_ranges(const static_tree<Key, Value>& tree, const array<Key>& keys) {
    constexpr unsigned slot = detail::value_slot(sizeof(Value));
    using word = word_of<Key>;
    array<Key> upper = keys;
    std::rotate(upper.begin(), upper.begin() + 1, upper.end());
    const std::size_t n = keys.size();
    const auto run = [&](auto job, bool partitioned) {
      job.tree = tree.ref().layout();
      job.lo = keys.data();
      job.hi = upper.data();
      detail::cpu_executor executor(here(), here().default_stream());
      if (partitioned) {
        ASSERT_TRUE(executor.launch_in_buckets(job, std::size_t{1} << 30, n, node_search::linear));
      } else {
        executor.launch(job, n, false, node_search::linear);
      }
    };
    compare_plans("count", n, {8, 8}, [&](const auto& to, bool p) {
      count_job<word, slot> job;
      job.counts = static_cast<std::uint64_t*>(to[0]);
      job.starts = static_cast<std::uint64_t*>(to[1]);
      run(job, p);
    });
    compare_plans("count with a limit", n, {8}, [&](const auto& to, bool p) {
      count_job<word, slot> job;
      job.ends = interval::open;
      job.counts = static_cast<std::uint64_t*>(to[0]);
      job.limit = 100;
      run(job, p);
    });
    const auto aggregate = [&](const char* what, detail::aggregate_op op, unsigned bytes) {
      compare_plans(what, n, {bytes, 1}, [&](const auto& to, bool p) {
        aggregate_job<word, slot> job;
        job.op = op;
        job.out = to[0];
        job.found = op == detail::aggregate_op::min || op == detail::aggregate_op::max
                        ? static_cast<std::uint8_t*>(to[1])
                        : nullptr;
        run(job, p);
      });
    };
    aggregate("sum", detail::aggregate_op::sum, sizeof(sum_of<Value>));
    aggregate("avg", detail::aggregate_op::avg, 8);
    aggregate("min", detail::aggregate_op::min, sizeof(Value));
    aggregate("max", detail::aggregate_op::max, sizeof(Value));
  }

  template <class Key, class Value>
  static void check_plan(std::size_t tree_size, std::initializer_list<std::size_t> sizes) {
    for (const family f :
         {family::uniform, family::clustered, family::zipf, family::adversarial, family::nested, family::all_equal}) {
      if (less_work > 1 && f != family::nested && f != family::all_equal) continue;
      const auto keys = make_keys<Key>(f, tree_size);
      const auto tree = static_tree<Key, Value>::build(keys.span(), make_values<Value>(tree_size).span(),
                                                       {false, aggregates::all}, here());
      for (const std::size_t n : sizes) {
        for (const order_of_batch order : all_orders) {
          if (n > 50000 && order != order_of_batch::random && order != order_of_batch::two_far) continue;
          SCOPED_TRACE("family " + std::to_string(static_cast<int>(f)) + ", queries " + std::to_string(n) + ", order " +
                       std::to_string(static_cast<int>(order)));
          const auto batch = batch_of<Key>(order, n, keys);
          check_points(tree, batch);
          if (tree_size >= 1000 && f != family::all_equal) check_ranges(tree, batch);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
};

TEST_P(StaticTreeCpuPartitionFirst, SmallBatchesHaveTheSameAnswers) {
  check_plan<std::uint32_t, std::uint32_t>(30011, {1, 31, 4097});
  check_plan<std::uint64_t, std::uint64_t>(30011, {1, 4097});
  check_plan<float, std::uint64_t>(5003, {5001});
  check_plan<std::int8_t, std::uint16_t>(5003, {5001});
  check_plan<std::int16_t, std::int32_t>(5003, {5001});
  check_plan<std::int64_t, double>(5003, {5001});
}

TEST_P(StaticTreeCpuPartitionFirst, TreesWithFewGroupsHaveTheSameAnswers) {
  for (const std::size_t n : {1, 200, 217, 500}) {
    check_plan<std::uint32_t, std::uint32_t>(n, {3001});
    check_plan<std::uint64_t, std::uint32_t>(n, {3001});
  }
}

TEST_P(StaticTreeCpuPartitionFirst, BatchesThatEndAtABorderOfATileHaveTheSameAnswers) {
  check_plan<std::uint32_t, std::uint64_t>(30011, {tile_of_queries - 1, tile_of_queries, tile_of_queries + 1});
  check_plan<double, std::uint32_t>(30011, {3 * tile_of_queries + 777});
}

TEST_P(StaticTreeCpuPartitionFirst, BatchesOfSeveralPiecesHaveTheSameAnswers) {
  const auto keys = make_keys<std::uint32_t>(family::uniform, 100003);
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys.span(), keys.span(), {}, here());
  const cpu_backend backend(here());
  for (const std::size_t piece : {tile_of_queries, 2 * tile_of_queries}) {
    for (const std::size_t n : {piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 5}) {
      SCOPED_TRACE("piece " + std::to_string(piece) + ", queries " + std::to_string(n));
      const auto batch = batch_of<std::uint32_t>(order_of_batch::random, n, keys);
      compare_plans("find", n, {4, 1}, [&](const auto& to, bool partitioned) {
        find_job<std::uint32_t, 4> job;
        job.tree = tree.ref().layout();
        job.keys = batch.data();
        job.values = to[0];
        job.found = static_cast<std::uint8_t*>(to[1]);
        const auto answer = detail::cpu_kernel(job, node_search::linear);
        if (partitioned) {
          ASSERT_TRUE(detail::answer_in_buckets<std::uint32_t>(backend, here().default_stream(), job, job.tree.headers,
                                                               job.tree.groups, 0, n, answer, piece));
        } else {
          answer(job, 0, n);
        }
      });
    }
  }
}

TEST_P(StaticTreeCpuPartitionFirst, AnswersThatAreNotAlignedAreRestored) {
  struct three {
    std::uint8_t b[3];
  };
  struct sixteen {
    std::uint8_t b[16];
  };
  const auto check = [&]<class Value>(std::size_t aligned) {
    const auto keys = make_keys<std::uint64_t>(family::uniform, 5003);
    std::vector<Value> values(keys.size());
    random_words random(7);
    for (Value& v : values) {
      for (auto& b : v.b) b = static_cast<std::uint8_t>(random());
    }
    const auto tree = static_tree<std::uint64_t, Value>::build(keys.span(), values, {}, here());
    const auto batch = batch_of<std::uint64_t>(order_of_batch::random, 40001, keys);
    compare_plans(
        "find", batch.size(), {sizeof(Value)},
        [&](const auto& to, bool partitioned) {
          tree.find(batch.span(), std::span<Value>(static_cast<Value*>(to[0]), batch.size()), {},
                    {batch_order::unknown, partitioned ? query_plan::partition_first : query_plan::scattered});
        },
        aligned);
  };
  check.template operator()<three>(1);
  check.template operator()<sixteen>(1);
}

TEST_P(StaticTreeCpuPartitionFirst, APartitionHasEveryQueryOnceInBucketOrder) {
  const cpu_backend backend(here());
  for (const family f : {family::uniform, family::clustered, family::adversarial, family::all_equal}) {
    if (less_work > 1 && f != family::adversarial && f != family::all_equal) continue;
    auto bounds = make_keys<std::uint32_t>(f, 1000);
    std::sort(bounds.begin(), bounds.end());
    std::vector<group_header<std::uint32_t>> headers(bounds.size());
    for (std::size_t g = 0; g < headers.size(); ++g) headers[g].base = bounds[g];
    const auto groups = static_cast<std::uint32_t>(headers.size());
    for (const unsigned buckets : {2u, 32u, 256u}) {
      for (const std::size_t n : {std::size_t{1}, tile_of_queries, 2 * tile_of_queries + 77}) {
        for (const order_of_batch order : all_orders) {
          SCOPED_TRACE("family " + std::to_string(static_cast<int>(f)) + ", buckets " + std::to_string(buckets) +
                       ", queries " + std::to_string(n) + ", order " + std::to_string(static_cast<int>(order)));
          const auto keys = batch_of<std::uint32_t>(order, n, bounds);
          detail::cpu_partition<std::uint32_t> partition(backend, here().default_stream(), headers.data(), groups,
                                                         buckets, n, scalar_kind::u32, 1, 4);
          const void* const arrays[2] = {keys.data(), nullptr};
          partition.partition(arrays, n);
          const auto* moved = static_cast<const std::uint32_t*>(partition.keys(0));
          const auto bucket_of = [&](std::uint32_t x) {
            unsigned bucket = 0;
            for (unsigned b = 0; b + 1 < buckets; ++b)
              bucket += headers[(b + 1ull) * groups / buckets].base < x ? 1u : 0u;
            return bucket;
          };
          std::vector<std::uint8_t> seen(n);
          partition.for_each_segment([&](std::size_t first, std::size_t last) {
            const unsigned bucket = bucket_of(moved[first]);
            for (std::size_t i = first; i < last; ++i) {
              ++seen[i];
              if (bucket_of(moved[i]) != bucket) seen[i] = 100;
            }
          });
          ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(n));
          std::vector<std::uint32_t> answers(moved, moved + n);
          partition.restore(answers.data(), 4);
          ASSERT_TRUE(std::equal(keys.begin(), keys.end(), answers.begin()));
        }
      }
    }
  }
}

/// A batch of a tree that is large enough for the cost model to partition it.
TEST_P(StaticTreeCpuPartitionFirst, LargeTreesAreChosenAndDoWithoutScratchMemory) {
  struct row {
    std::uint64_t first, second;
  };
  const auto pool = std::make_shared<failing_pool>(here().pool());
  const device limited = here().with_pool(pool);
  constexpr std::size_t n = std::size_t{1} << 23, queries = std::size_t{1} << 20;
  std::vector<std::uint32_t> keys(n);
  std::vector<row> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<std::uint32_t>(i * 511 + i % 7);
    values[i] = {i, ~i};
  }
  const auto tree = static_tree<std::uint32_t, row>::build(keys, values, {true, aggregates::none}, limited);
  std::vector<std::uint32_t> batch(queries);
  std::vector<std::size_t> wanted(queries);
  random_words random(3);
  for (std::size_t i = 0; i < queries; ++i) batch[i] = keys[wanted[i] = random.below(n)];
  const explanation e = tree.explain(queries);
  ASSERT_EQ(e.chosen, query_plan::partition_first) << e.text;
  EXPECT_NE(e.text.find("partition_first"), std::string::npos) << e.text;
  std::size_t allocations = 0;
  for (std::size_t k = 0; k <= allocations; ++k) {  // 0: no allocation fails
    pool->fail_at(k);
    std::vector<row> found(queries);
    std::vector<std::uint64_t> counts(queries);
    ASSERT_NO_THROW(tree.find(batch, found)) << "allocation " << k << " failed";
    if (k == 0) allocations = pool->requests();
    pool->fail_at(k);
    ASSERT_NO_THROW(tree.count(batch, batch, counts)) << "allocation " << k << " failed";
    pool->fail_at(0);
    for (std::size_t i = 0; i < queries; ++i) {
      ASSERT_EQ(found[i].first, wanted[i]) << "query " << i;
      ASSERT_EQ(counts[i], 1u) << "query " << i;
    }
  }
  EXPECT_GE(allocations, 4u) << "the batch was not partitioned";
}

[[nodiscard]] std::vector<const setting*> cpu_settings() {
  auto all = host_span_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cpu; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(, StaticTreeCpuPartitionFirst, testing::ValuesIn(cpu_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
