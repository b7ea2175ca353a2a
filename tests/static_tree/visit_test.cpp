// visit_test.cpp - visiting CPU trees; what needs shared host state (order of calls, marks) is tested here only.
#include <atomic>
#include <mutex>

#include "static_tree/visit_suite.hpp"

namespace espalier::test {
namespace {

[[nodiscard]] std::vector<const setting*> cpu_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cpu; });
  return all;
}

class StaticTreeVisit : public visit_suite {};

TEST_P(StaticTreeVisit, TransformWritesEachElementAtItsRank) {
  for (const std::size_t n : visited_sizes) transform_writes_by_rank(n);
}
TEST_P(StaticTreeVisit, ReduceAddsEverythingOnce) {
  for (const std::size_t n : visited_sizes) reduce_adds_everything_once(n);
}
TEST_P(StaticTreeVisit, ReduceByKeyKeepsTheOrderOfACombineThatDoesNotCommute) {
  for (const std::size_t n : visited_sizes) reduce_by_key_keeps_the_order(n);
}
TEST_P(StaticTreeVisit, ASetGivesItsKeys) {
  for (const std::size_t n : visited_sizes) a_set_gives_its_keys(n);
}

TEST_P(StaticTreeVisit, ForEachInAnyOrderMeetsEveryElementOfThePartOnce) {
  for (const std::size_t n : visited_sizes) {
    const auto c = make(n);
    for (const part p : parts_of(n)) {
      std::atomic<std::int64_t> sum{0};
      std::atomic<std::uint64_t> calls{0};
      const auto visit = [&](std::int32_t key, std::uint32_t value) {
        sum.fetch_add(key_plus_value{}(key, value), std::memory_order_relaxed);
        calls.fetch_add(1, std::memory_order_relaxed);
      };
      for_each(c.tree, visit, visit_options{.first = p.first, .last = p.last});
      std::int64_t want = 0;
      for (std::uint64_t r = p.first; r < p.last; ++r) {
        want += key_plus_value{}(c.expected.keys()[r], c.expected.values()[r]);
      }
      ASSERT_EQ(calls.load(), p.last - p.first);
      ASSERT_EQ(sum.load(), want);
    }
  }
}

TEST_P(StaticTreeVisit, ForEachByKeyCallsInKeyOrderAndNeedsNoLock) {
  for (const std::size_t n : visited_sizes) {
    const auto c = make(n);
    for (const part p : parts_of(n)) {
      std::vector<std::pair<std::int32_t, std::uint32_t>> seen;
      for_each(
          c.tree, [&](std::int32_t key, std::uint32_t value) { seen.emplace_back(key, value); },
          visit_options{.first = p.first, .last = p.last, .order = visit_order::by_key});
      ASSERT_EQ(seen.size(), p.last - p.first);
      for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(seen[i].first, c.expected.keys()[p.first + i]);
        ASSERT_EQ(seen[i].second, c.expected.values()[p.first + i]);
      }
    }
  }
}

TEST_P(StaticTreeVisit, LargeTreesAreVisitedInPieces) { everything_about(visited_in_pieces); }

INSTANTIATE_TEST_SUITE_P(, StaticTreeVisit, testing::ValuesIn(cpu_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
