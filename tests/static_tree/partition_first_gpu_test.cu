// partition_first_gpu_test.cu - batches that are partitioned first have the answers of batches that are not, for all
// sizes of tiles; and a partition is one: every query once, in bucket order. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "static_tree/cuda_executor.cuh"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using detail::answer_array;
using detail::batch_partition;
using detail::bucket_order;
using detail::bucket_shape;

struct note_positions {
  bucket_order order;
  std::uint32_t n;
  std::uint32_t* positions;
};
__global__ void note_positions_kernel(note_positions note) {
  const std::uint32_t q = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t at =
      *note.order.ascending != 0 ? q : detail::position_in_buckets(note.order, q < note.n ? q : note.n - 1);
  if (q < note.n) note.positions[q] = at;
}

/// How the keys of a batch are distributed.
enum class batch_kind { random, equal, two_far, few, sorted, reversed };
constexpr batch_kind all_kinds[] = {batch_kind::random, batch_kind::equal,  batch_kind::two_far,
                                    batch_kind::few,    batch_kind::sorted, batch_kind::reversed};

template <class Key>
[[nodiscard]] array<Key> make_batch(batch_kind kind, std::size_t n) {
  array<Key> keys(n);
  random_words random(n + static_cast<std::size_t>(kind));
  const Key one = from_word<Key>(static_cast<word_of<Key>>(random()));
  for (std::size_t i = 0; i < n; ++i) {
    const auto word = static_cast<word_of<Key>>(random());
    const Key any = from_word<Key>(word);
    keys[i] = kind == batch_kind::equal     ? one
              : kind == batch_kind::two_far ? from_word<Key>(i % 997 == 0 ? ~word_of<Key>{0} : word_of<Key>{1})
              : kind == batch_kind::few ? from_word<Key>(static_cast<word_of<Key>>(word % 5 * (word_of<Key>{1} << 13)))
                                        : any;
  }
  if (kind == batch_kind::sorted || kind == batch_kind::reversed) std::sort(keys.begin(), keys.end(), precedes<Key>);
  if (kind == batch_kind::reversed) std::reverse(keys.begin(), keys.end());
  return keys;
}

class StaticTreePartitionFirst : public testing::TestWithParam<const setting*> {
 protected:
  [[nodiscard]] static const device& gpu() { return GetParam()->dev; }
  [[nodiscard]] static const stream& own() { return GetParam()->own; }

  template <class T>
  [[nodiscard]] static std::vector<T> to_host(const void* p, std::size_t n) {
    std::vector<T> host(n);
    gpu().copy(host.data(), p, n * sizeof(T), own());
    own().synchronize();
    return host;
  }

  // ---- the partition ------------------------------------------------------------------------------------------------
  template <class Key>
  static void check_partition(const array<Key>& keys, const array<word_of<Key>>& bounds, bucket_shape shape) {
    using word = word_of<Key>;
    const auto n = static_cast<std::uint32_t>(keys.size());
    std::vector<group_header<word>> headers(bounds.size());
    for (std::size_t g = 0; g < headers.size(); ++g) headers[g].base = bounds[g];
    const auto groups = static_cast<std::uint32_t>(headers.size());
    const auto tree = to_device(gpu(), std::span<const group_header<word>>(headers), own());
    const auto batch = to_device(gpu(), keys.span(), own());
    batch_partition<word> partition(gpu(), own(), shape, n + 5, scalar_kind_of<Key>, 2);
    const void* const arrays[2] = {batch.data(), batch.data()};
    for (unsigned round = 0; round < 2; ++round) {  // the second one in used scratch memory
      partition.partition(tree.data(), groups, arrays, n);
      const bucket_order order = partition.order();
      const bool as_given = to_host<std::uint32_t>(order.ascending, 1)[0] != 0;
      const buffer<std::uint32_t> noted(gpu(), n, own());
      note_positions_kernel<<<(n + 255) / 256, 256, 0, cuda_backend::native(own())>>>({order, n, noted.data()});
      detail::check_cuda(cudaGetLastError(), "note_positions_kernel");
      const auto positions = to_host<std::uint32_t>(noted.data(), n);
      const auto moved = to_host<Key>(as_given ? batch.data() : partition.keys(0), n);
      const auto second = to_host<Key>(as_given ? batch.data() : partition.keys(1), n);
      std::vector<bool> seen(n);
      std::size_t bucket = 0;
      for (std::uint32_t q = 0; q < n; ++q) {
        ASSERT_LT(positions[q], n) << "query " << q;
        ASSERT_FALSE(seen[positions[q]]) << "query " << q;
        seen[positions[q]] = true;
        ASSERT_TRUE(same(moved[q], second[q])) << "second array, position " << q;
        if (as_given) continue;
        const word x = key_codec<Key>::encode(moved[positions[q]]);
        std::size_t its = 0;
        for (unsigned b = 0; b + 1 < shape.buckets; ++b) its += headers[(b + 1ull) * groups / shape.buckets].base < x;
        ASSERT_GE(its, bucket) << "query " << q;
        bucket = its;
      }
      for (std::size_t first = 0; first < n; first += shape.tile) {
        const std::size_t size = std::min<std::size_t>(shape.tile, n - first);
        std::vector<word> was, is;
        for (std::size_t i = 0; i < size; ++i) {
          was.push_back(key_codec<Key>::encode(keys[first + i]));
          is.push_back(key_codec<Key>::encode(moved[first + i]));
        }
        std::sort(was.begin(), was.end());
        std::sort(is.begin(), is.end());
        ASSERT_EQ(was, is) << "tile at " << first;
      }
      check_restore<1>(partition, keys, moved);
      check_restore<3>(partition, keys, moved);
      check_restore<8>(partition, keys, moved);
      check_restore<16>(partition, keys, moved);
    }
  }
  /// Answers that are a function of the key, as two arrays of which one is not aligned.
  template <unsigned Bytes, class Partition, class Key>
  static void check_restore(const Partition& partition, const array<Key>& keys, const std::vector<Key>& moved) {
    const std::size_t n = keys.size();
    const auto byte = [](Key key, unsigned b) {
      const auto word = static_cast<std::uint64_t>(key_codec<Key>::encode(key)) * 0x9e3779b97f4a7c15ull;
      return static_cast<std::uint8_t>((word >> (8 * (b % 8))) + b);
    };
    std::vector<std::uint8_t> answers(n * Bytes + 1), want(n * Bytes + 1);
    for (std::size_t i = 0; i < n; ++i) {
      for (unsigned b = 0; b < Bytes; ++b) {
        answers[i * Bytes + b] = byte(moved[i], b);
        want[i * Bytes + b] = byte(keys[i], b);
      }
    }
    const auto aligned = to_device(gpu(), std::span<const std::uint8_t>(answers), own());
    answers.insert(answers.begin(), std::uint8_t{7});
    want.push_back(0);
    const auto shifted = to_device(gpu(), std::span<const std::uint8_t>(answers), own());
    const answer_array arrays[3] = {{aligned.data(), Bytes}, {nullptr, 4}, {shifted.data() + 1, Bytes}};
    partition.restore(arrays, 3);
    want.pop_back();
    ASSERT_EQ(to_host<std::uint8_t>(aligned.data(), n * Bytes + 1), want) << Bytes << " bytes";
    ASSERT_EQ(to_host<std::uint8_t>(shifted.data() + 1, n * Bytes + 1), want) << Bytes << " bytes, not aligned";
  }
  template <class Key>
  static void check_partitions(std::initializer_list<bucket_shape> shapes) {
    for (const bucket_shape shape : shapes) {
      for (const batch_kind kind : all_kinds) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{shape.tile} - 1,
                                    std::size_t{shape.tile}, std::size_t{3} * shape.tile + 777}) {
          for (const family f : {family::uniform, family::clustered, family::adversarial, family::all_equal}) {
            if (f != family::uniform && n < 1000) continue;
            SCOPED_TRACE("tile " + std::to_string(shape.tile) + ", buckets " + std::to_string(shape.buckets) +
                         ", queries " + std::to_string(n) + ", kind " + std::to_string(static_cast<int>(kind)) +
                         ", family " + std::to_string(static_cast<int>(f)));
            const auto tree = make_keys<Key>(f, 1000);
            array<word_of<Key>> bounds(tree.size());
            for (std::size_t i = 0; i < tree.size(); ++i) bounds[i] = key_codec<Key>::encode(tree[i]);
            std::sort(bounds.begin(), bounds.end());
            check_partition<Key>(make_batch<Key>(kind, n), bounds, shape);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }

  // ---- the plan -----------------------------------------------------------------------------------------------------
  /// Calls ask(answers, plan) for scattered and partition_first with `arrays` of the given bytes per query, each in
  /// poisoned memory.
  template <class Ask>
  static void compare(const std::string& what, std::size_t n, const std::vector<unsigned>& bytes, Ask ask) {
    std::vector<std::vector<std::uint8_t>> by_plan[2];
    for (const bool partitioned : {false, true}) {
      std::vector<raw_buffer> memory;
      std::vector<void*> to;
      for (const unsigned b : bytes) {
        memory.emplace_back(gpu(), n * b, own());
        gpu().fill(memory.back().data(), 0xa5, n * b, own());
        to.push_back(memory.back().data());
      }
      ask(to, query_options{batch_order::unknown, partitioned ? query_plan::partition_first : query_plan::scattered});
      for (std::size_t a = 0; a < bytes.size(); ++a)
        by_plan[partitioned].push_back(to_host<std::uint8_t>(to[a], n * bytes[a]));
    }
    for (std::size_t a = 0; a < bytes.size(); ++a) {
      const auto& want = by_plan[0][a];
      const auto differ = std::mismatch(want.begin(), want.end(), by_plan[1][a].begin()).first - want.begin();
      ASSERT_EQ(static_cast<std::size_t>(differ), want.size())
          << what << ": array " << a << " differs at query " << static_cast<std::size_t>(differ) / bytes[a] << " of "
          << n;
    }
  }

  template <class Key, class Value>
  static void check_points(const static_tree<Key, Value>& tree, const array<Key>& keys) {
    const auto batch = to_device(gpu(), keys.span(), own());
    const std::span<const Key> in = batch.span();
    const std::size_t n = keys.size();
    const auto values = [&](void* p) { return std::span<Value>(static_cast<Value*>(p), n); };
    const auto elements = [&](void* p) { return std::span<Key>(static_cast<Key*>(p), n); };
    const auto mask = [&](void* p) { return std::span<std::uint8_t>(static_cast<std::uint8_t*>(p), n); };
    const auto ranks = [&](void* p) { return std::span<std::uint64_t>(static_cast<std::uint64_t*>(p), n); };
    constexpr unsigned key = sizeof(Key), value = sizeof(Value);
    compare("find", n, {value, 1},
            [&](const auto& to, const auto& how) { tree.find_async(in, values(to[0]), mask(to[1]), how, own()); });
    compare("find without a mask", n, {value},
            [&](const auto& to, const auto& how) { tree.find_async(in, values(to[0]), {}, how, own()); });
    compare("contains", n, {1},
            [&](const auto& to, const auto& how) { tree.contains_async(in, mask(to[0]), how, own()); });
    compare("lower_bound", n, {8},
            [&](const auto& to, const auto& how) { tree.rank_async(in, ranks(to[0]), bound_type::lower, how, own()); });
    compare("upper_bound", n, {8},
            [&](const auto& to, const auto& how) { tree.rank_async(in, ranks(to[0]), bound_type::upper, how, own()); });
    compare("successor", n, {key, value, 1}, [&](const auto& to, const auto& how) {
      tree.successor_async(in, elements(to[0]), values(to[1]), mask(to[2]), how, own());
    });
    compare("predecessor", n, {key, value, 1}, [&](const auto& to, const auto& how) {
      tree.predecessor_async(in, elements(to[0]), values(to[1]), mask(to[2]), how, own());
    });
  }

  /// Operations over ranges have no option for the plan: their jobs are launched directly.
  template <class Key, class Value>
  static void check_ranges(const static_tree<Key, Value>& tree, const array<Key>& keys, std::size_t leaf_bytes) {
    constexpr unsigned slot = detail::value_slot(sizeof(Value));
    using word = word_of<Key>;
    array<Key> upper = keys;
    std::rotate(upper.begin(), upper.begin() + 1, upper.end());
    const auto lo = to_device(gpu(), keys.span(), own()), hi = to_device(gpu(), upper.span(), own());
    const std::size_t n = keys.size();
    const auto run = [&](auto job, const query_options& how) {
      job.tree = tree.ref().layout();
      job.lo = lo.data();
      job.hi = hi.data();
      detail::cuda_executor executor(gpu(), own());
      if (how.plan == query_plan::partition_first) {
        ASSERT_TRUE(executor.launch_in_buckets(job, leaf_bytes, n));
      } else {
        executor.launch(job, n, false, node_search::linear);
      }
    };
    compare("count", n, {8, 8}, [&](const auto& to, const auto& how) {
      count_job<word, slot> job;
      job.counts = static_cast<std::uint64_t*>(to[0]);
      job.starts = static_cast<std::uint64_t*>(to[1]);
      run(job, how);
    });
    compare("count alone", n, {8}, [&](const auto& to, const auto& how) {
      count_job<word, slot> job;
      job.counts = static_cast<std::uint64_t*>(to[0]);
      job.limit = 100;
      run(job, how);
    });
    const auto aggregate = [&](const char* what, detail::aggregate_op op, unsigned bytes) {
      compare(what, n, {bytes, 1}, [&](const auto& to, const auto& how) {
        aggregate_job<word, slot> job;
        job.op = op;
        job.out = to[0];
        job.found = op == detail::aggregate_op::min || op == detail::aggregate_op::max
                        ? static_cast<std::uint8_t*>(to[1])
                        : nullptr;
        run(job, how);
      });
    };
    aggregate("sum", detail::aggregate_op::sum, sizeof(sum_of<Value>));
    aggregate("avg", detail::aggregate_op::avg, 8);
    aggregate("min", detail::aggregate_op::min, sizeof(Value));
    aggregate("max", detail::aggregate_op::max, sizeof(Value));
  }

  /// Half of the keys of a batch are in the tree.
  template <class Key>
  [[nodiscard]] static array<Key> half_hits(array<Key> batch, const array<Key>& tree) {
    random_words random(batch.size());
    for (std::size_t i = 0; i < batch.size(); i += 2) batch[i] = tree[random.below(tree.size())];
    return batch;
  }

  template <class Key, class Value>
  static void check_plan(std::size_t tree_size, std::initializer_list<std::size_t> sizes) {
    for (const family f : {family::uniform, family::clustered, family::zipf, family::adversarial, family::nested}) {
      const auto keys = make_keys<Key>(f, tree_size);
      const auto tree = static_tree<Key, Value>::build(keys.span(), make_values<Value>(tree_size).span(),
                                                       {false, aggregates::all}, gpu(), own());
      for (const std::size_t n : sizes) {
        for (const batch_kind kind : all_kinds) {
          if (n > 100000 && kind != batch_kind::random && kind != batch_kind::two_far) continue;
          SCOPED_TRACE("family " + std::to_string(static_cast<int>(f)) + ", queries " + std::to_string(n) + ", kind " +
                       std::to_string(static_cast<int>(kind)));
          const auto batch = make_batch<Key>(kind, n);
          check_points(tree, kind == batch_kind::random ? half_hits(batch, keys) : batch);
          if (tree_size >= 1000) check_ranges(tree, batch, n % 2 == 0 ? 0 : std::size_t{1} << 40);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StaticTreePartitionFirst);

TEST_P(StaticTreePartitionFirst, APartitionHasEveryQueryOnceInBucketOrder) {
  check_partitions<std::uint32_t>({{64, 1024}, {2, 1024}, {256, 8192}, {256, 16384}});
  check_partitions<std::uint64_t>({{64, 1024}, {256, 8192}});
  check_partitions<std::int16_t>({{64, 1024}, {32, 16384}});
  check_partitions<float>({{64, 1024}});
  check_partitions<double>({{64, 1024}, {512, 8192}});
}

TEST_P(StaticTreePartitionFirst, SmallBatchesHaveTheSameAnswers) {
  check_plan<std::uint32_t, std::uint32_t>(100003, {1, 31, 257, 1024, 1025, 20001});
  check_plan<std::uint64_t, std::uint64_t>(100003, {1, 20001});
  check_plan<float, std::uint64_t>(5003, {5001});
  check_plan<std::int8_t, std::uint16_t>(5003, {5001});
  check_plan<std::int64_t, double>(5003, {5001});
}

TEST_P(StaticTreePartitionFirst, TreesWithFewGroupsHaveTheSameAnswers) {
  for (const std::size_t n : {1, 200, 217, 500}) {
    check_plan<std::uint32_t, std::uint32_t>(n, {3001});
    check_plan<std::uint64_t, std::uint32_t>(n, {3001});
  }
}

TEST_P(StaticTreePartitionFirst, LargeTilesHaveTheSameAnswers) {
  check_plan<std::uint32_t, std::uint32_t>(1000003, {(1u << 18) + 1, 600000});
  check_plan<std::uint64_t, std::uint64_t>(1000003, {300001});
  check_plan<std::uint32_t, std::uint64_t>(100003, {300001});
}

TEST_P(StaticTreePartitionFirst, LargeBatchesOfSeveralPiecesHaveTheSameAnswers) {
  constexpr std::size_t n = detail::partition_piece + 12345;
  const auto keys = make_keys<std::uint32_t>(family::uniform, 1 << 20);
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(keys.span(), keys.span(), {}, gpu(), own());
  const auto batch = to_device(gpu(), half_hits(make_batch<std::uint32_t>(batch_kind::random, n), keys).span(), own());
  compare("find", n, {4, 1}, [&](const auto& to, const auto& how) {
    tree.find_async(batch.span(), {static_cast<std::uint32_t*>(to[0]), n}, {static_cast<std::uint8_t*>(to[1]), n}, how,
                    own());
  });
}

TEST_P(StaticTreePartitionFirst, BlinkTreesHaveTheSameAnswers) {
  const auto check = [&]<class Key, class Value>(std::size_t n, std::size_t queries) {
    const auto keys = make_keys<Key>(family::clustered, n);
    const auto values = make_values<Value>(n);
    auto tree = blink_tree<Key, Value>::build(keys.span(), values.span(), {}, gpu(), own());
    // A stale express lane: leaves are split after it was built.
    const auto more = make_keys<Key>(family::uniform, n / 8);
    for (const bool stale : {false, true}) {
      if (stale) {
        tree.insert(more.span(), std::span<const Value>(values.span()).first(more.size()), {}, {}, own());
      }
      for (const batch_kind kind : all_kinds) {
        SCOPED_TRACE((stale ? "stale, kind " : "kind ") + std::to_string(static_cast<int>(kind)));
        const auto made = make_batch<Key>(kind, queries);
        const auto batch = to_device(gpu(), (kind == batch_kind::random ? half_hits(made, keys) : made).span(), own());
        compare("find", queries, {sizeof(Value), 1}, [&](const auto& to, const auto& how) {
          tree.find_async(batch.span(), {static_cast<Value*>(to[0]), queries},
                          {static_cast<std::uint8_t*>(to[1]), queries}, how, own());
        });
        compare("contains", queries, {1}, [&](const auto& to, const auto& how) {
          tree.contains_async(batch.span(), {static_cast<std::uint8_t*>(to[0]), queries}, how, own());
        });
      }
    }
    ASSERT_TRUE(tree.validate().ok);
  };
  check.template operator()<std::uint32_t, std::uint32_t>(200003, 300001);
  check.template operator()<std::uint32_t, std::uint32_t>(40003, 5001);
  check.template operator()<std::uint64_t, std::uint64_t>(200003, 300001);
  check.template operator()<std::uint64_t, std::uint64_t>(50, 5001);
}

INSTANTIATE_TEST_SUITE_P(, StaticTreePartitionFirst, testing::ValuesIn(device_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
