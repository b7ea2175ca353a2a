// allocation_failure_test.cpp - memory runs out at the 1st, 2nd, 3rd ... allocation of a call: the call throws
// out_of_memory or does with less, nothing leaks, and the tree is what it was.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "espalier/static_tree/static_tree.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using tree_type = static_tree<std::uint64_t, std::uint64_t>;
constexpr std::size_t endless = 300;

class StaticTreeOutOfMemory : public testing::TestWithParam<const setting*> {
 protected:
  void SetUp() override {
    pool_ = std::make_shared<failing_pool>(GetParam()->dev.pool());
    device_ = std::make_unique<device>(GetParam()->dev.with_pool(pool_));
    keys_ = make_keys<std::uint64_t>(family::nested, 5000);
    values_ = make_values<std::uint64_t>(5000);
    queries_ = make_keys<std::uint64_t>(family::uniform, 300);
    std::copy(keys_.begin(), keys_.begin() + 200, queries_.begin());
  }

  [[nodiscard]] tree_type build(const build_options& options = {false, aggregates::all}) const {
    return tree_type::build(keys_.span(), values_.span(), options, *device_);
  }
  void drain() const { device_->default_stream().synchronize(); }

  /// Runs the call with a failure at each of its allocations in turn; then it must succeed. Gives how often it threw.
  std::size_t sweep(const char* what, const std::function<void()>& call, const std::function<void()>& unchanged) {
    const std::size_t before = pool_->live_bytes();
    std::size_t failures = 0;
    for (std::size_t k = 1; k < endless; ++k) {
      pool_->fail_at(k);
      bool threw = false;
      try {
        call();
      } catch (const out_of_memory& e) {
        threw = true;
        ++failures;
        EXPECT_GT(e.asked(), 0u) << what;
      }
      const bool reached = pool_->requests() >= k;
      pool_->fail_at(0);
      drain();
      EXPECT_EQ(pool_->live_bytes(), before) << what << " leaks when allocation " << k << " fails";
      unchanged();
      if (HasFailure()) return failures;
      if (!reached) {
        EXPECT_FALSE(threw) << what << " ran out of memory without asking for any";
        return failures;
      }
    }
    ADD_FAILURE() << what << " never stops allocating";
    return failures;
  }

  void expect_answers(const tree_type& tree) const {
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    array<std::uint64_t> found_values(200);
    array<std::uint8_t> found(200);
    tree.find(queries_.span().first(200), found_values.span(), found.span());
    for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(found[i], 1) << "key " << i << " is lost";
  }

  std::shared_ptr<failing_pool> pool_;
  std::unique_ptr<device> device_;
  array<std::uint64_t> keys_, values_, queries_;
};

TEST_P(StaticTreeOutOfMemory, BuildLeavesNothingBehindAndOtherTreesAlone) {
  const tree_type other = build();
  drain();
  const auto unchanged = [&] { expect_answers(other); };
  EXPECT_GT(sweep(
                "build", [&] { static_cast<void>(build()); }, unchanged),
            0u);
  sweep(
      "build without aggregates", [&] { static_cast<void>(build({})); }, unchanged);
  oracle<std::uint64_t, std::uint64_t> sorted(keys_, values_);
  keys_ = sorted.keys();
  sweep(
      "build from sorted",
      [&] {
        static_cast<void>(build({true, aggregates::sum}));
      },
      [] {});
}

TEST_P(StaticTreeOutOfMemory, PointQueriesLeaveTheTreeAsItWas) {
  const tree_type tree = build();
  const auto unchanged = [&] { expect_answers(tree); };
  const auto keys = queries_.span();
  array<std::uint64_t> ranks(300), out_keys(300), values(300);
  array<std::uint8_t> found(300);
  for (const query_plan how : {query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                               query_plan::sort_first, query_plan::partition_first}) {
    const query_options options{batch_order::unknown, how};
    sweep(
        "find", [&] { tree.find(keys, values.span(), found.span(), options); }, unchanged);
    sweep(
        "rank", [&] { tree.rank(keys, ranks.span(), bound_type::lower, options); }, unchanged);
    const auto next = [&] { tree.successor(keys, out_keys.span(), values.span(), found.span(), options); };
    sweep("successor", next, unchanged);
    const auto async = [&] {
      tree.find_async(keys, values.span(), found.span(), options);
      drain();
    };
    sweep("find_async", async, unchanged);
  }
  sweep(
      "select", [&] { tree.select(ranks.span(), out_keys.span(), values.span(), found.span()); }, unchanged);
}

TEST_P(StaticTreeOutOfMemory, RangesAndAggregatesLeaveTheTreeAsItWas) {
  const tree_type tree = build();
  const auto unchanged = [&] { expect_answers(tree); };
  const std::span<const std::uint64_t> lo = queries_.span().first(150), hi = queries_.span().last(150);
  array<std::uint64_t> counts(150), least(150);
  array<uint128> sums(150);
  array<double> means(150);
  array<std::uint8_t> found(150);
  sweep(
      "count", [&] { tree.count(lo, hi, counts.span()); }, unchanged);
  sweep(
      "range", [&] { static_cast<void>(tree.range(lo, hi)); }, unchanged);
  sweep(
      "range with a limit",
      [&] {
        static_cast<void>(tree.range(lo, hi, {interval::open, 3}));
      },
      unchanged);
  sweep(
      "sum", [&] { tree.sum(lo, hi, sums.span()); }, unchanged);
  sweep(
      "avg", [&] { tree.avg(lo, hi, means.span()); }, unchanged);
  sweep(
      "min", [&] { tree.min(lo, hi, least.span(), found.span()); }, unchanged);
  sweep(
      "max", [&] { tree.max(lo, hi, least.span(), found.span()); }, unchanged);
}

TEST_P(StaticTreeOutOfMemory, ATreeGivesAllItsMemoryBack) {
  {
    const tree_type tree = build();
    drain();
    EXPECT_GE(pool_->live_bytes(), tree.stats().leaf_bytes);
    EXPECT_LE(tree.stats().bytes, pool_->live_bytes() + 4096);
    static_cast<void>(tree.range(queries_.span(), queries_.span()));
  }
  drain();
  EXPECT_EQ(pool_->live_bytes(), 0u);
  EXPECT_EQ(pool_->live_blocks(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeOutOfMemory, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
