// conformance.hpp - the whole suite of the B-link tree. One line per tree type instantiates it (the .cpp files here).
//
// Every test runs in every setting: CPU with one and with two threads, and each GPU with spans on the host and on the
// device. Tests called Small are what compute-sanitizer and ASan run.
#pragma once

#include "blink_conformance/write_suite.hpp"

namespace espalier::test {

template <class Key, class Value, class Policy = blink_policy<>>
class blink_conformance : public blink_write_suite<Key, Value, Policy> {
 protected:
  using base = blink_write_suite<Key, Value, Policy>;
  using base::here;
  using base::slots;
  using typename base::subject_type;

  /// Every size up to three nodes, then every family.
  static std::vector<sample> samples() {
    std::vector<sample> all;
    for (std::size_t n = 0; n <= 40; ++n) all.push_back({n % 2 == 0 ? family::uniform : family::ascending, n});
    for (const family f : all_families) all.push_back({f, 100});
    for (const family f : all_families) all.push_back({f, 1000});
    return all;
  }
  static std::vector<sample> few() {
    return {{family::uniform, 3},    {family::extremes, 100}, {family::zipf, 300},
            {family::all_equal, 50}, {family::nested, 1000},  {family::descending, 1000}};
  }
  /// On both sides of the boundaries of nodes that are this wide.
  static std::vector<sample> around_nodes() {
    std::vector<sample> all;
    for (const std::size_t n : {0u, 1u, 2u, slots - 1, slots, slots + 1, 2 * slots, 3 * slots + 1}) {
      all.push_back({family::shuffled, n});
    }
    all.push_back({family::extremes, 200});
    all.push_back({family::zipf, 300});
    all.push_back({family::nested, 12 * std::min(slots, 300u)});
    return all;
  }

  static void points(const std::vector<sample>& samples, std::size_t about) {
    for_subjects(samples, [&](const subject_type& s) { base::check_points(s, about); });
  }
  static void ranges(const std::vector<sample>& samples, std::size_t about) {
    for_subjects(samples, [&](const subject_type& s) { base::check_ranges(s, about); });
  }
  static void growth(std::size_t n) {
    for (const write_path path : {write_path::per_key, write_path::bulk}) {
      SCOPED_TRACE(espalier::to_string(path));
      for (const family f : {family::ascending, family::descending, family::shuffled, family::extremes}) {
        base::check_growth(f, n, {batch_semantics::concurrent, path});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  static void writes(const std::vector<sample>& samples) {
    base::for_ways([&](const write_options& options) {
      for (const sample& what : samples) base::check_writes(what, options);
    });
  }
  static void async_writes(std::size_t n) {
    base::for_ways([&](const write_options& options) {
      base::check_writes({family::uniform, n}, options, true);
      base::check_mixture(n, 3, options, true);
    });
  }
  static void erase_everything(std::size_t n) {
    base::for_ways([&](const write_options& options) { base::check_erase_everything(n, options); });
  }
  static void mixtures(std::size_t n) {
    base::for_ways([&](const write_options& options) {
      base::check_mixture(n, 1, options);
      base::check_mixture(n, 6, options);
      if (options.semantics == batch_semantics::ordered) base::check_mixture(n, n / 3, options);
      base::check_mixture_without_values(n, options);
    });
  }
  static void large_writes(std::size_t n) {
    base::for_ways([&](const write_options& options) { base::check_writes({family::uniform, n}, options); });
    points({{family::clustered, n}}, 300);
  }
  static void large(std::size_t n) {
    for (const family f : {family::uniform, family::clustered}) {
      base::for_ways([&](const write_options& options) { base::check_writes({f, n}, options); });
    }
    points({{family::uniform, n}, {family::nested, n}, {family::adversarial, n}}, 1500);
    ranges({{family::uniform, n}, {family::clustered, n}}, 5);
    base::check_builds({{family::uniform, n}});
  }

 private:
  template <class Check>
  static void for_subjects(const std::vector<sample>& samples, Check check) {
    for (const sample& what : samples) {
      SCOPED_TRACE(what.name());
      check(subject_type(here(), make_keys<typename subject_type::model_type::map::key_type>(what.keys, what.size)));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
};

}  // namespace espalier::test

// clang-format off
#define ESPALIER_BLINK_CONFORMANCE(name, Key, Value)                                                                  \
  namespace espalier::test {                                                                                          \
  using name = blink_conformance<Key, Value>;                                                                         \
  TEST_P(name, SmallBuildsAreValidAtEverySizeAndFill) { check_builds(samples()); }                                    \
  TEST_P(name, SmallPointQueriesAgreeAtEverySize) { points(samples(), 30); }                                          \
  TEST_P(name, SmallRangesAndAggregatesAgreeForEveryInterval) { ranges(few(), 12); }                                  \
  TEST_P(name, SmallTreesGrowAndShrinkKeyByKey) { growth(45); }                                                       \
  TEST_P(name, SmallWritesAgreeOnEveryPath) { writes(few()); }                                                        \
  TEST_P(name, SmallAsyncWritesAgreeOnEveryPath) { async_writes(400); }                                               \
  TEST_P(name, SmallTreesAreEmptiedAndFilledAgain) { erase_everything(500); }                                         \
  TEST_P(name, SmallMixedBatchesAgreeOnEveryPath) { mixtures(300); }                                                  \
  TEST_P(name, SmallMaintainChangesNoAnswer) { check_maintain(700); }                                                 \
  TEST_P(name, SmallBatchesOfNoneWork) { check_empty_batches({}); check_empty_batches(make_keys<Key>(family::uniform, 99)); } \
  TEST_P(name, SmallSpansOfUnequalSizeAreAnError) { check_unequal_sizes(); }                                          \
  TEST_P(name, SmallAggregatesOfOpaqueValuesAreAnError) { check_opaque_aggregates(); }                                \
  TEST_P(name, LargeTreesAnswerEveryOperation) { large(20000); }                                                      \
  INSTANTIATE_TEST_SUITE_P(, name, testing::ValuesIn(all_settings()), setting_name{});                                \
  }

// Other policies: the same checks on fewer samples, around the boundaries of their nodes.
#define ESPALIER_BLINK_POLICY_CONFORMANCE(name, Key, Value, ...)                                                      \
  namespace espalier::test {                                                                                          \
  using name = blink_conformance<Key, Value, __VA_ARGS__>;                                                            \
  TEST_P(name, SmallBuildsAreValidAroundNodeBoundaries) { check_builds(around_nodes()); }                             \
  TEST_P(name, SmallQueriesAgreeAroundNodeBoundaries) { points(around_nodes(), 30); ranges({{family::nested, 3 * slots}}, 12); } \
  TEST_P(name, SmallTreesGrowAndShrinkKeyByKey) { growth(45); }                                                       \
  TEST_P(name, SmallWritesAgreeOnEveryPath) { writes({{family::zipf, 300}, {family::shuffled, 2 * slots + 30}}); }    \
  TEST_P(name, SmallTreesAreEmptiedAndFilledAgain) { erase_everything(2 * slots + 200); }                             \
  TEST_P(name, SmallMixedBatchesAgreeOnEveryPath) { mixtures(300); }                                                  \
  TEST_P(name, SmallMaintainChangesNoAnswer) { check_maintain(2 * slots + 200); }                                     \
  TEST_P(name, LargeWritesAgreeOnEveryPath) { large_writes(5000); }                                                   \
  INSTANTIATE_TEST_SUITE_P(, name, testing::ValuesIn(all_settings()), setting_name{});                                \
  }
// clang-format on
