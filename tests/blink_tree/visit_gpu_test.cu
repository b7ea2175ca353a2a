// visit_gpu_test.cu - visiting GPU trees, with the suite that CPU trees pass too. Skipped where there is no GPU.
#include "blink_tree/visit_suite.hpp"

namespace espalier::test {
namespace {

[[nodiscard]] std::vector<const setting*> visited_gpu_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cuda; });
  return all;
}

using visited_kinds = testing::Types<
    visited_kind<std::uint32_t, std::uint32_t>, visited_kind<std::int64_t, double>, visited_kind<double, pair_value>,
    visited_kind<std::uint8_t, void>,
    visited_kind<std::uint32_t, std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>,
    visited_kind<std::uint64_t, std::uint64_t, blink_policy<protocol::blink, inner_index::express_lane, 128>>>;
struct visited_name {
  template <class Kind>
  static std::string GetName(int i) {
    static constexpr const char* names[] = {"u32", "i64_double", "f64_pair", "u8_set", "u32_couple", "u64_wide"};
    return names[i];
  }
};

template <class Kind>
class BlinkTreeVisitGpu : public blink_visit_suite<Kind> {
 protected:
  void SetUp() override {
    if (visited_gpu_settings().empty()) GTEST_SKIP() << "no GPU";
  }
};
TYPED_TEST_SUITE(BlinkTreeVisitGpu, visited_kinds, visited_name);

const std::vector<std::size_t> small_sizes{0, 1, 2, 13, 200, 1500};

TYPED_TEST(BlinkTreeVisitGpu, SmallReduceMeetsEveryElementOnce) {
  TestFixture::for_trees(visited_gpu_settings(), small_sizes, TestFixture::check_reduce);
}
TYPED_TEST(BlinkTreeVisitGpu, SmallTransformWritesEachElementAtItsRank) {
  TestFixture::for_trees(visited_gpu_settings(), small_sizes, TestFixture::check_transform);
}
TYPED_TEST(BlinkTreeVisitGpu, LargeReduceMeetsEveryElementOnce) {
  TestFixture::for_trees(visited_gpu_settings(), {300003}, TestFixture::check_reduce);
}
TYPED_TEST(BlinkTreeVisitGpu, LargeTransformWritesEachElementAtItsRank) {
  TestFixture::for_trees(visited_gpu_settings(), {300003}, TestFixture::check_transform);
}
TYPED_TEST(BlinkTreeVisitGpu, LargeAsyncTwinsAgree) {
  TestFixture::for_trees(visited_gpu_settings(), {100003}, TestFixture::check_async);
}

/// Adds into device memory that the test owns.
struct add_mark {
  unsigned long long* sum;
  template <class... Element>
  ESPALIER_HD void operator()(const Element&... element) const {
#ifdef __CUDA_ARCH__
    atomicAdd(sum, static_cast<unsigned long long>(mark_of_element{}(element...)));
#else
    *sum += mark_of_element{}(element...);
#endif
  }
};
/// Position and mark of each call; by one thread.
struct list_marks {
  std::uint64_t* marks;
  unsigned long long* count;
  template <class... Element>
  ESPALIER_HD void operator()(const Element&... element) const {
    marks[(*count)++] = mark_of_element{}(element...);
  }
};

TYPED_TEST(BlinkTreeVisitGpu, SmallForEachMeetsEveryElementOnce) {
  TestFixture::for_trees(
      visited_gpu_settings(), {0, 1, 200, 5000}, [](const setting& here, const auto& tree, const auto& marks) {
        if (here.spans == side::host) return;  // where a functor of a kernel cannot write
        std::uint64_t want = 0;
        for (const std::uint64_t mark : marks) want += mark;
        lent<unsigned long long> sum(here, array<unsigned long long>{0}), count(here, array<unsigned long long>{0});
        for_each(tree, add_mark{sum.span().data()});
        ASSERT_EQ(sum.get()[0], want);
        lent<std::uint64_t> seen(here, marks.size());
        for_each(tree, list_marks{seen.span().data(), count.span().data()}, visit_order::by_key);
        ASSERT_EQ(count.get()[0], marks.size());
        const auto& got = seen.get();
        for (std::size_t i = 0; i < marks.size(); ++i) ASSERT_EQ(got[i], marks[i]) << "element " << i;
      });
}

}  // namespace
}  // namespace espalier::test
