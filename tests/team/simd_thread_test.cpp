// simd_thread_test.cpp - simd_thread against the reference, for every SIMD target that this CPU has.
#define ESPALIER_MULTI_TARGET
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/team/simd_thread_test.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which decides the target that the next lines are compiled for.
#include "espalier/team/scalar_team.hpp"
#include "espalier/team/simd_thread.hpp"
#include "tests/team/operations.hpp"

namespace espalier::test {
/// Outcomes of scalar_team; defined below, once for all targets.
template <unsigned First, class X, unsigned N>
std::vector<outcome<X, N>> reference_outcomes(const std::vector<team_case<X, N>>& cases);
}  // namespace espalier::test

ESPALIER_BEGIN_TARGET_NAMESPACE

struct against_reference {
  std::string target;
  template <class X, unsigned N, unsigned First>
  void operator()(test::shape<X, N, First> s) const {
    const auto cases = test::make_cases<X, N, First>();
    const auto want = test::reference_outcomes<First>(cases);
    const std::string dev = s.name() + ", " + target;
    const auto linear = perform_all<First>(simd_thread<linear_search>{}, cases);
    test::expect_same(want, linear, dev + ", linear");
    test::expect_same(want, with_ranks_by<First>(simd_thread<hierarchical_search>{}, linear, cases),
                      dev + ", hierarchical");
  }
};

void check_simd_thread(const std::string& target) {
  test::for_each_shape(test::small_shapes{}, against_reference{target});
  test::for_each_shape(test::other_shapes{}, against_reference{target});
}

ESPALIER_END_TARGET_NAMESPACE

#if HWY_ONCE

namespace espalier {
HWY_EXPORT(check_simd_thread);

namespace test {

template <unsigned First, class X, unsigned N>
std::vector<outcome<X, N>> reference_outcomes(const std::vector<team_case<X, N>>& cases) {
  return HWY_NAMESPACE::perform_all<First>(scalar_team{}, cases);
}

namespace {

/// Makes dispatch choose one target; all of them again when it goes.
class only_target {
 public:
  explicit only_target(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~only_target() { hwy::SetSupportedTargetsForTest(0); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;
};

TEST(simd_thread, agrees_with_reference_on_every_target_of_this_cpu) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const std::int64_t target : targets) {
    const only_target chosen(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    HWY_DYNAMIC_DISPATCH(check_simd_thread)(hwy::TargetName(target));
  }
}

}  // namespace
}  // namespace test
}  // namespace espalier

#endif  // HWY_ONCE
