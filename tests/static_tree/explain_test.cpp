// explain_test.cpp - explain() tells which plan a batch gets, why, and keeps to what the caller asked for.
#include <gtest/gtest.h>

#include "espalier/static_tree/static_tree.hpp"
#include "static_tree/plan.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

class StaticTreeExplain : public testing::TestWithParam<const setting*> {
 protected:
  static static_tree<std::uint32_t> tree(std::size_t n) {
    const auto keys = make_keys<std::uint32_t>(family::uniform, n);
    return static_tree<std::uint32_t>::build(keys.span(), {}, GetParam()->dev);
  }
};

TEST_P(StaticTreeExplain, TheChosenPlanIsNamedAndIsTheCheapestCandidate) {
  const auto index = tree(50000);
  for (const std::size_t queries : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 24}) {
    for (const batch_order order : {batch_order::unknown, batch_order::ascending, batch_order::random}) {
      const explanation e = index.explain(queries, {order, query_plan::automatic});
      EXPECT_NE(e.chosen, query_plan::automatic);
      EXPECT_NE(e.text.find(espalier::to_string(e.chosen)), std::string::npos) << e.text;
      ASSERT_FALSE(e.candidates.empty());
      double chosen = -1, cheapest = e.candidates[0].seconds;
      for (const auto& c : e.candidates) {
        EXPECT_GE(c.seconds, 0.0);
        cheapest = std::min(cheapest, c.seconds);
        if (c.plan == e.chosen) chosen = c.seconds;
      }
      EXPECT_EQ(chosen, cheapest) << e.text;
    }
  }
}

TEST_P(StaticTreeExplain, APlanThatTheCallerAskedForIsKept) {
  const auto index = tree(5000);
  for (const query_plan how : {query_plan::small, query_plan::scattered, query_plan::ordered, query_plan::sort_first,
                               query_plan::partition_first}) {
    const explanation e = index.explain(12345, {batch_order::unknown, how});
    EXPECT_EQ(e.chosen, how) << e.text;
    EXPECT_NE(e.text.find(espalier::to_string(how)), std::string::npos) << e.text;
  }
}

TEST_P(StaticTreeExplain, PlansDifferBetweenAFewQueriesAndManyOrderedOnes) {
  const auto index = tree(std::size_t{1} << 18);
  EXPECT_EQ(index.explain(1).chosen, query_plan::small) << index.explain(1).text;
  const explanation ordered = index.explain(std::size_t{1} << 24, {batch_order::ascending, query_plan::automatic});
  EXPECT_EQ(ordered.chosen, query_plan::ordered) << ordered.text;
}

// The passes of a partition cost a range once, and both of its searches gain.
TEST(StaticTreePlan, FewerRangesThanKeysArePartitionedOnAGpu) {
  detail::plan_input batch;
  batch.queries = std::size_t{1} << 22;
  batch.leaf_bytes = std::size_t{1} << 30;
  batch.on_gpu = true;
  EXPECT_FALSE(detail::partitions_first(batch));
  batch.searches = 2;
  EXPECT_TRUE(detail::partitions_first(batch));
  batch.queries = std::size_t{1} << 20;
  EXPECT_FALSE(detail::partitions_first(batch));
}

TEST(StaticTreePlan, ARangeTakesMoreTimeThanAQueryAndLessThanTwoOnACpu) {
  detail::plan_input batch;
  batch.queries = std::size_t{1} << 20;
  batch.leaf_bytes = std::size_t{1} << 27;
  const explanation query = detail::explain(batch, query_plan::automatic);
  batch.searches = 2;
  const explanation range = detail::explain(batch, query_plan::automatic);
  ASSERT_EQ(query.candidates.size(), range.candidates.size());
  for (std::size_t i = 0; i < query.candidates.size(); ++i) {
    EXPECT_GT(range.candidates[i].seconds, query.candidates[i].seconds) << range.text;
    EXPECT_LT(range.candidates[i].seconds, 2 * query.candidates[i].seconds) << range.text;
  }
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeExplain, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
