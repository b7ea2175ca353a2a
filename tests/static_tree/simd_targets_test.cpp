// simd_targets_test.cpp - every operation agrees with the oracle on each SIMD target that the library was compiled for
// and this CPU has, not only on the best one, which is what all other tests use.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>

#include "conformance/subject.hpp"
#include "static_tree/agreement.hpp"
#include "static_tree/cpu_kernels.hpp"

namespace espalier::test {
namespace {

/// Makes Highway choose one target; the best one again when it goes.
class only_target {
 public:
  explicit only_target(std::int64_t target) { choose(target); }
  ~only_target() { choose(0); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);  // 0: whatever the CPU has
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

template <class Word>
[[nodiscard]] std::int64_t target_in_use(node_search search) {
  return detail::best_cpu_kernels<Word, sizeof(Word)>(search).simd_target;
}

template <class Word>
void check_agreement(family f, std::size_t n) {
  SCOPED_TRACE(to_string(f) + " x " + std::to_string(n));
  const auto keys = make_keys<Word>(f, n);
  const agreement<Word, Word> tree(keys, make_values<Word>(n), {false, aggregates::all}, device::cpu(2));
  for (const node_search search : {node_search::linear, node_search::hierarchical}) {
    for (const query_plan how : {query_plan::small, query_plan::scattered, query_plan::ordered, query_plan::sort_first,
                                 query_plan::partition_first}) {
      const questions<Word> q{make_queries(keys, 100), {batch_order::unknown, how, search}, {}};
      ASSERT_EQ(tree.first_difference(q), "") << espalier::to_string(how);
    }
  }
}

template <class Word>
void check_every_target() {
  const auto targets = detail::simd_targets<Word>();
  ASSERT_FALSE(targets.empty());
  const std::int64_t best = target_in_use<Word>(node_search::linear);
  EXPECT_EQ(best, targets.front()) << "without a choice of ours it is " << hwy::TargetName(best);
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const only_target chosen(target);
    ASSERT_EQ(target_in_use<Word>(node_search::linear), target);
    ASSERT_EQ(target_in_use<Word>(node_search::hierarchical), target);
    for (const family f : {family::uniform, family::clustered, family::zipf, family::nested, family::extremes}) {
      for (const std::size_t n : {0, 1, 217, 2500, 10001}) check_agreement<Word>(f, n);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(target_in_use<Word>(node_search::linear), best);
}

TEST(StaticTreeSimdTargets, PairsOfU32AgreeWithTheOracleOnEveryTarget) { check_every_target<std::uint32_t>(); }
TEST(StaticTreeSimdTargets, PairsOfU64AgreeWithTheOracleOnEveryTarget) { check_every_target<std::uint64_t>(); }

}  // namespace
}  // namespace espalier::test
