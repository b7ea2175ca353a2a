// visit_gpu_test.cu - visiting GPU trees, with the suite that CPU trees pass too. Skipped where there is no GPU.
#include "static_tree/visit_suite.hpp"

namespace espalier::test {
namespace {

class StaticTreeVisitGpu : public visit_suite {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StaticTreeVisitGpu);

TEST_P(StaticTreeVisitGpu, SmallTransformWritesEachElementAtItsRank) {
  for (const std::size_t n : visited_sizes) transform_writes_by_rank(n);
}
TEST_P(StaticTreeVisitGpu, SmallReduceAddsEverythingOnce) {
  for (const std::size_t n : visited_sizes) reduce_adds_everything_once(n);
}
TEST_P(StaticTreeVisitGpu, SmallReduceByKeyKeepsTheOrderOfACombineThatDoesNotCommute) {
  for (const std::size_t n : visited_sizes) reduce_by_key_keeps_the_order(n);
}
TEST_P(StaticTreeVisitGpu, SmallASetGivesItsKeys) {
  for (const std::size_t n : visited_sizes) a_set_gives_its_keys(n);
}

/// Adds into device memory that the test owns.
struct add_to {
  unsigned long long* sum;
  __device__ __host__ void operator()(std::int32_t key, std::uint32_t value) const {
#ifdef __CUDA_ARCH__
    atomicAdd(sum, static_cast<unsigned long long>(key_plus_value{}(key, value)));
#else
    *sum += static_cast<unsigned long long>(key_plus_value{}(key, value));
#endif
  }
};

TEST_P(StaticTreeVisitGpu, SmallForEachMeetsEveryElementOfThePartOnce) {
  for (const std::size_t n : visited_sizes) {
    const auto c = make(n);
    for (const part p : parts_of(n)) {
      lent<unsigned long long> sum(*GetParam(), array<unsigned long long>{0});
      for_each(c.tree, add_to{sum.span().data()}, visit_options{.first = p.first, .last = p.last});
      c.tree.get_device().default_stream().synchronize();
      std::int64_t want = 0;
      for (std::uint64_t r = p.first; r < p.last; ++r) {
        want += key_plus_value{}(c.expected.keys()[r], c.expected.values()[r]);
      }
      ASSERT_EQ(static_cast<std::int64_t>(sum.get()[0]), want);
    }
  }
}

TEST_P(StaticTreeVisitGpu, LargeTreesAreVisitedInPieces) { everything_about(visited_in_pieces); }

INSTANTIATE_TEST_SUITE_P(, StaticTreeVisitGpu, testing::ValuesIn(device_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
