// conformance.hpp - the whole suite. One line per pair of types instantiates it (see the .cpp files of this folder).
//
// Every test runs in every setting: CPU with one and with two threads, and each GPU with spans on the host and on the
// device. Tests called Small use fewer than 3,000 keys: they are what compute-sanitizer and ASan run.
#pragma once

#include "conformance/owner_suite.hpp"

namespace espalier::test {

template <class Key, class Value>
class conformance : public owner_suite<Key, Value> {
 protected:
  using base = owner_suite<Key, Value>;
  using typename base::subject_type;

  static void point_queries(const std::vector<sample>& samples, std::size_t about) {
    base::for_samples(samples, [&](const subject_type& s) {
      base::check_point_queries(s, make_queries(s.keys(), about));
      base::check_select(s, about);
    });
  }
  static void plans(const std::vector<sample>& samples, std::size_t about) {
    base::for_samples(samples, [&](const subject_type& s) { base::check_plans(s, about); });
  }
  static void ranges(const std::vector<sample>& samples, std::size_t about) {
    base::for_samples(samples, [&](const subject_type& s) {
      const auto bounds = base::make_bounds(s.keys(), about);
      for (const interval ends : all_intervals) {
        SCOPED_TRACE(espalier::to_string(ends));
        base::check_ranges(s, bounds, {ends});
        for (const std::uint64_t limit : {0u, 1u, 8u, 31u, 32u, 300u}) base::check_ranges(s, bounds, {ends, limit});
      }
    });
  }
  static void aggregates_of_ranges(const std::vector<sample>& samples, std::size_t about) {
    base::for_samples(samples, [&](const subject_type& s) {
      const auto bounds = base::make_bounds(s.keys(), about);
      for (const interval ends : all_intervals) {
        SCOPED_TRACE(espalier::to_string(ends));
        base::check_aggregates(s, bounds, ends);
      }
    });
  }
  static void builds(const std::vector<sample>& samples) {
    base::for_samples(samples, [&](const subject_type& s) {
      base::check_builds_agree(s);
      base::check_stats(s);
    });
  }
  static void tiny_batches() {
    base::for_samples({{family::uniform, 0}, {family::uniform, 1}, {family::zipf, 1000}}, [&](const subject_type& s) {
      base::check_tiny_batch(s, 0);
      base::check_tiny_batch(s, 1);
    });
  }
  static std::vector<sample> few() {
    return {{family::uniform, 0}, {family::uniform, 1}, {family::zipf, 700}, {family::nested, 2500}};
  }
};

}  // namespace espalier::test

// clang-format off
#define ESPALIER_CONFORMANCE(name, Key, Value)                                                                     \
  namespace espalier::test {                                                                                       \
  using name = conformance<Key, Value>;                                                                            \
  TEST_P(name, SmallPointQueriesAgreeAroundEveryNodeBoundary) { point_queries(small_samples<Key>(), 60); }         \
  TEST_P(name, SmallEveryPlanAndPromiseGivesTheSameAnswers) { plans(few(), 40); }                                  \
  TEST_P(name, SmallRangesHonourEndsAndLimits) { ranges(small_samples<Key>(), 12); }                               \
  TEST_P(name, SmallAggregatesAreExactForEveryInterval) { aggregates_of_ranges(small_samples<Key>(), 40); }        \
  TEST_P(name, SmallSortedUnsortedAndAsyncBuildsAreValidAndEqual) { builds(small_samples<Key>()); }                \
  TEST_P(name, SmallBatchesOfNoneAndOneWork) { tiny_batches(); }                                                   \
  TEST_P(name, SmallABrokenPromiseOfOrderIsAnError) { check_broken_promise(700); }                                 \
  TEST_P(name, SmallAggregatesThatAreNotKeptAreAnError) { check_aggregates_not_kept(500); }                        \
  TEST_P(name, SmallSpansOfUnequalSizeAreAnError) { check_unequal_sizes(50); }                                     \
  TEST_P(name, LargePointQueriesAgreeForEveryFamily) { point_queries(large_samples(), 1500); }                     \
  TEST_P(name, LargeEveryPlanGivesTheSameAnswers) { plans({{family::clustered, 70001}}, 4000); }                   \
  TEST_P(name, LargeRangesAgreeForEveryFamily) { ranges(large_samples(), 5); }                                     \
  TEST_P(name, LargeAggregatesAgreeForEveryFamily) { aggregates_of_ranges(large_samples(), 12); }                  \
  TEST_P(name, LargeBuildsAreValidAndCompactForEveryFamily) { builds(large_samples()); }                           \
  INSTANTIATE_TEST_SUITE_P(, name, testing::ValuesIn(all_settings()), setting_name{});                             \
  }

// A million keys: for a few pairs of types.
#define ESPALIER_CONFORMANCE_OF_A_MILLION(name)                                                                    \
  namespace espalier::test {                                                                                       \
  TEST_P(name, LargeAMillionKeysAnswerEveryOperation) {                                                            \
    const std::vector<sample> million{{family::uniform, 1u << 20}, {family::clustered, 1u << 20}};                 \
    point_queries(million, 5000);                                                                                  \
    ranges(million, 3);                                                                                            \
    aggregates_of_ranges(million, 4);                                                                              \
    builds(million);                                                                                               \
  }                                                                                                                \
  }
// clang-format on
