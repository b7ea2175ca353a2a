// static_tree_test.cpp - a finished tree is read-only: any number of threads may ask it, through the owner or a ref.
//
// These run under ThreadSanitizer, so a hidden write (a cache, a lazily made buffer) shows even if answers are right.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "espalier/team/simd_thread.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

constexpr unsigned thread_count = 4;

void in_threads(const std::function<void(unsigned)>& work) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

template <class Key>
array<Key> queries_of_thread(const array<Key>& keys, unsigned thread) {
  random_words random(thread + 1);
  array<Key> queries(500);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Key known = keys[random.below(keys.size())];
    queries[i] = i % 2 == 0 ? known : from_word<Key>(key_codec<Key>::encode(known) ^ 1);
  }
  return queries;
}

/// How many of the answers of a ref are wrong.
template <class Team, class Key, class Value>
unsigned wrong_answers(Team team, static_tree_ref<Key, Value> ref, const oracle<Key, Value>& expected,
                       const array<Key>& queries) {
  unsigned wrong = 0;
  for (const Key key : queries) {
    const std::uint64_t lower = expected.lower(key);
    const bool exists = expected.contains(key);
    Value value{};
    if (ref.find(team, key, value) != exists) ++wrong;
    if (exists && !same(value, expected.values()[lower])) ++wrong;
    if (ref.contains(team, key) != exists) ++wrong;
    if (ref.rank(team, key) != lower) ++wrong;
    if (ref.rank(team, key, bound_type::upper) != expected.upper(key)) ++wrong;
    Key found{};
    const auto is_element = [&](bool there, std::uint64_t rank) {
      if (there != (rank < expected.size())) return false;
      return !there || (same(found, expected.keys()[rank]) && same(value, expected.values()[rank]));
    };
    if (!is_element(ref.lower_bound(team, key, found, value), lower)) ++wrong;
    if (!is_element(ref.successor(team, key, found, value), expected.upper(key))) ++wrong;
    if (!is_element(ref.predecessor(team, key, found, value), lower - 1)) ++wrong;  // wraps around to none
    if (lower == expected.size()) continue;
    if (!same(ref.key_at(lower), expected.keys()[lower])) ++wrong;
    if (!same(ref.value_at(lower), expected.values()[lower])) ++wrong;
  }
  return wrong;
}

template <class Key, class Value>
void ask_ref_from_threads(family f, std::size_t n) {
  const auto keys = make_keys<Key>(f, n);
  const auto values = make_values<Value>(n);
  const oracle<Key, Value> expected(keys, values);
  const auto tree = static_tree<Key, Value>::build(keys.span(), values.span(), {}, device::cpu(2));
  const static_tree_ref<Key, Value> ref = tree.ref();
  static_assert(std::is_trivially_copyable_v<static_tree_ref<Key, Value>>);
  EXPECT_EQ(ref.size(), n);
  std::vector<unsigned> wrong(thread_count);
  in_threads([&](unsigned t) {
    const auto queries = queries_of_thread(keys, t);
    wrong[t] = wrong_answers(scalar_team{}, ref, expected, queries) +
               wrong_answers(simd_thread<>{}, ref, expected, queries) +
               wrong_answers(simd_thread<hierarchical_search>{}, ref, expected, queries);
  });
  for (unsigned t = 0; t < thread_count; ++t) EXPECT_EQ(wrong[t], 0u) << "thread " << t << ", " << to_string(f);
}

TEST(StaticTreeConcurrency, ARefAnswersInTheUsersOwnThreads) {
  for (const family f : {family::uniform, family::zipf, family::nested, family::extremes}) {
    ask_ref_from_threads<std::uint32_t, std::uint32_t>(f, 20011);
    ask_ref_from_threads<std::int64_t, double>(f, 20011);
    ask_ref_from_threads<double, std::uint64_t>(f, 20011);
    ask_ref_from_threads<std::uint16_t, std::uint8_t>(f, 300);
  }
  ask_ref_from_threads<std::uint32_t, std::uint32_t>(family::uniform, 1);
}

TEST(StaticTreeConcurrency, ARefOfAnEmptyTreeFindsNothing) {
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build({}, {}, {}, device::cpu(1));
  const auto ref = tree.ref();
  std::uint32_t value = 0;
  EXPECT_EQ(ref.size(), 0u);
  EXPECT_FALSE(ref.find(scalar_team{}, 0u, value));
  EXPECT_FALSE(ref.contains(simd_thread<>{}, 7u));
  EXPECT_EQ(ref.rank(scalar_team{}, 7u), 0u);
  EXPECT_EQ(ref.rank(simd_thread<>{}, 7u, bound_type::upper), 0u);
}

class StaticTreeSharedOwner : public testing::TestWithParam<const setting*> {};

TEST_P(StaticTreeSharedOwner, AnswersSeveralThreadsAtOnceOnOneAndOnSeveralStreams) {
  const auto keys = make_keys<std::uint32_t>(family::clustered, 30011);
  const auto values = make_values<std::uint32_t>(keys.size());
  const oracle<std::uint32_t, std::uint32_t> expected(keys, values);
  const device dev = GetParam()->dev;
  const auto tree =
      static_tree<std::uint32_t, std::uint32_t>::build(keys.span(), values.span(), {false, aggregates::all}, dev);
  std::vector<unsigned> wrong(thread_count);
  in_threads([&](unsigned t) {
    const stream order = t % 2 == 0 ? dev.default_stream() : dev.make_stream();
    const auto queries = queries_of_thread(keys, t);
    array<std::uint32_t> got(queries.size());
    array<std::uint8_t> found(queries.size());
    array<std::uint64_t> ranks(queries.size()), sums(queries.size());
    for (const query_plan how : {query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                                 query_plan::sort_first, query_plan::partition_first}) {
      const query_options options{batch_order::unknown, how};
      tree.find(queries.span(), got.span(), found.span(), options, order);
      tree.rank_async(queries.span(), ranks.span(), bound_type::lower, options, order);
      order.synchronize();
      tree.sum(queries.span(), queries.span(), sums.span(), interval::closed, order);
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::uint64_t lower = expected.lower(queries[i]);
        if ((found[i] != 0) != expected.contains(queries[i]) || ranks[i] != lower) ++wrong[t];
        if (found[i] != 0 && got[i] != expected.values()[lower]) ++wrong[t];
        if (sums[i] != expected.sum({lower, expected.upper(queries[i])})) ++wrong[t];
      }
    }
  });
  for (unsigned t = 0; t < thread_count; ++t) EXPECT_EQ(wrong[t], 0u) << "thread " << t;
}

TEST_P(StaticTreeSharedOwner, OrdersMoreStreamsThanItRemembersBehindAnAsynchronousBuild) {
  const auto keys = make_keys<std::uint32_t>(family::clustered, 300007);
  const auto values = make_values<std::uint32_t>(keys.size());
  const oracle<std::uint32_t, std::uint32_t> expected(keys, values);
  const device dev = GetParam()->dev;
  const stream building = dev.make_stream();
  const auto tree =
      static_tree<std::uint32_t, std::uint32_t>::build_async(keys.span(), values.span(), {}, dev, building);
  const auto queries = queries_of_thread(keys, 0);
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned s = 0; s < 20; ++s) {
      const stream order = dev.make_stream();
      array<std::uint64_t> ranks(queries.size());
      tree.rank_async(queries.span(), ranks.span(), bound_type::lower, {}, order);
      order.synchronize();
      for (std::size_t i = 0; i < queries.size(); ++i) ASSERT_EQ(ranks[i], expected.lower(queries[i]));
    }
  }
  building.synchronize();
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeSharedOwner, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
