// pipeline_test.cpp - the order of buckets, how levels are shared out, and who gets large batches.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "hybrid_tree/bucket_queues.hpp"
#include "hybrid_tree/placement_selector.hpp"
#include "hybrid_tree/work_sharing.hpp"

namespace espalier::test {
namespace {

using detail::discover_balance;
using detail::parts_of;
using detail::rebalanced;

std::string steps_of(unsigned depth, std::size_t buckets) {
  std::string steps;
  std::size_t finished = 0;
  (void)detail::run_pipeline(
      depth, buckets, 3, finished, [&](std::size_t b, unsigned) { steps += "s" + std::to_string(b) + " "; },
      [&](unsigned slot) { steps += "w" + std::to_string(slot) + " "; },
      [&](std::size_t b, unsigned) { steps += "f" + std::to_string(b) + " "; });
  EXPECT_EQ(finished, buckets);
  return steps;
}

TEST(HybridPipeline, BucketsComeInTheOrderOfTheQueueDepth) {
  EXPECT_EQ(steps_of(0, 3), "s0 w0 f0 s1 w1 f1 s2 w2 f2 ");
  EXPECT_EQ(steps_of(1, 3), "s0 w0 s1 f0 w1 s2 f1 w2 f2 ");
  EXPECT_EQ(steps_of(2, 4), "s0 s1 w0 s2 f0 w1 s3 f1 w2 f2 w0 f3 ");
  for (const unsigned depth : {0u, 1u, 2u}) {
    EXPECT_EQ(steps_of(depth, 0), "");
    EXPECT_EQ(steps_of(depth, 1), "s0 w0 f0 ");
  }
}

// No slot is started again before the bucket that is in it is finished.
TEST(HybridPipeline, NoSlotHasTwoBuckets) {
  for (const unsigned depth : {0u, 1u, 2u}) {
    std::vector<bool> busy(3);
    std::size_t finished = 0;
    (void)detail::run_pipeline(
        depth, 20, 3, finished,
        [&](std::size_t, unsigned slot) {
          EXPECT_FALSE(busy[slot]);
          busy[slot] = true;
        },
        [&](unsigned slot) { EXPECT_TRUE(busy[slot]); }, [&](std::size_t, unsigned slot) { busy[slot] = false; });
  }
}

TEST(HybridPipeline, AnErrorTellsWhatWasFinished) {
  for (const unsigned depth : {0u, 1u, 2u}) {
    std::size_t finished = 99, waited = 0, done = 0;
    EXPECT_THROW((void)detail::run_pipeline(
                     depth, 10, 3, finished, [](std::size_t, unsigned) {},
                     [&](unsigned) {
                       if (++waited == 5) throw std::runtime_error("lost");
                     },
                     [&](std::size_t, unsigned) { ++done; }),
                 std::runtime_error);
    EXPECT_EQ(finished, 4u);
    EXPECT_EQ(done, 4u);
  }
}

/// What a level costs: the device `d` per query and level, the host `h`, and `leaf` per leaf.
load_balance found_for(double d, double h, double leaf) {
  return discover_balance([&](const load_balance& b) {
    const auto parts = parts_of(b, 1000);
    const double plain = static_cast<double>(parts.plain), grouped = static_cast<double>(parts.grouped),
                 local = static_cast<double>(parts.local);
    return detail::sample_times{d * (2 * plain + grouped), leaf * 1000 + h * (grouped + 2 * local)};
  });
}

TEST(HybridBalance, AFastDeviceWalksAll) { EXPECT_EQ(found_for(1, 4, 8), load_balance{}); }
TEST(HybridBalance, ASlowDeviceGetsAShare) {
  const load_balance b = found_for(3, 1, 2);  // 3 (1 + x) = 2 + (1 - x) at x = 0, the first level at the host
  EXPECT_TRUE(b.levels == 0 && b.share < 0.1) << b.levels << ", " << b.share;
  const load_balance slower = found_for(40, 1, 2);
  EXPECT_EQ(slower.levels, 1u);
  EXPECT_LT(slower.share, 0.2);
}
TEST(HybridBalance, PartsOfABucketAddUp) {
  for (const unsigned levels : {0u, 1u, 2u}) {
    for (const double share : {0.0, 0.3, 0.5, 1.0}) {
      for (const std::size_t n : {0u, 1u, 7u, 1000u}) {
        const auto p = parts_of({levels, share}, n);
        EXPECT_EQ(p.plain + p.grouped + p.local, n);
      }
    }
  }
}
// Whatever the load does, steps lead to either end and back.
TEST(HybridBalance, StepsLeadToEitherEndAndBack) {
  load_balance b;
  unsigned steps = 0;
  for (; b.levels < detail::inner_level_count && steps < 1000; ++steps) b = rebalanced(b, 1, 1);
  EXPECT_EQ(b.levels, detail::inner_level_count);
  EXPECT_EQ(rebalanced(b, 1, 1), b) << "there is nothing more to take";
  for (steps = 0; !(b == load_balance{}) && steps < 1000; ++steps) {
    b = rebalanced(b, 0, 1);
    ASSERT_TRUE(b.share >= 0 && b.share <= 1);
  }
  EXPECT_EQ(b, load_balance{});
  EXPECT_EQ(rebalanced({0, 0.5}, 0.1, 1), (load_balance{0, 0.5})) << "nobody waits much";
}

TEST(HybridBalance, IsToldInWords) {
  using detail::in_words;
  EXPECT_EQ(in_words({}), "walked by the device");
  EXPECT_EQ(in_words({0, 0.25}), "walked by the device for 25 % of a bucket, the first by the host for the rest");
  EXPECT_EQ(in_words({1, 1}), "the first walked by the host, the second by the device");
  EXPECT_EQ(in_words({1, 0.5}), "the first walked by the host, the second by the device for 50 % of a bucket");
  EXPECT_EQ(in_words({2, 1}), "walked by the host");
}

// ---- who does what ----------------------------------------------------------------------------------------------
using detail::placement_selector;
using P = hybrid_placement;

/// Calls whose cost is known beforehand; how many each placement got.
std::map<P, int> play(placement_selector& choice, int calls, const std::map<P, double>& cost) {
  std::map<P, int> got;
  for (int i = 0; i < calls; ++i) {
    const P p = choice.next();
    ++got[p];
    choice.note(p, 1000, 1000 * cost.at(p));
  }
  return got;
}
TEST(PlacementChoice, TheCheapestGetsMostCallsHoweverItBegan) {
  for (const P cheapest : {P::both, P::shared, P::host_alone}) {
    placement_selector choice({P::both, P::shared, P::host_alone});
    EXPECT_EQ(choice.best(), P::both);
    std::map<P, double> cost{{P::both, 3e-9}, {P::shared, 2e-9}, {P::host_alone, 4e-9}};
    cost[cheapest] = 1e-9;
    (void)play(choice, 40, cost);
    EXPECT_EQ(choice.best(), cheapest);
    EXPECT_GE(play(choice, 1000, cost)[cheapest], 960);
    EXPECT_NE(choice.text().find(to_string(cheapest) + " 1000 M/s"), std::string::npos) << choice.text();
  }
}
TEST(PlacementChoice, AShiftOfTheLoadIsNoticed) {
  placement_selector choice({P::both, P::shared});
  (void)play(choice, 40, {{P::both, 1e-9}, {P::shared, 2e-9}});
  ASSERT_EQ(choice.best(), P::both);
  (void)play(choice, 1, {{P::both, 5e-9}, {P::shared, 2e-9}});
  EXPECT_EQ(choice.best(), P::shared);
  (void)play(choice, 200, {{P::both, 1e-9}, {P::shared, 2e-9}});
  EXPECT_EQ(choice.best(), P::both);
}
TEST(PlacementChoice, TheFirstCallOfATrialDoesNotCount) {
  placement_selector choice({P::both, P::shared});
  int shared = 0;
  for (int i = 0; i < 20; ++i) {
    const P p = choice.next();
    choice.note(p, 1, p == P::both ? 2 : shared++ == 0 ? 1e6 : 1);
  }
  EXPECT_EQ(choice.best(), P::shared);
}
TEST(PlacementChoice, WhatIsLeftOutIsNeitherTakenNorTriedNorTold) {
  const std::map<P, double> cost{{P::both, 1e-9}, {P::shared, 2e-9}, {P::host_alone, 3e-9}};
  placement_selector choice({P::both, P::shared, P::host_alone});
  (void)play(choice, 40, cost);
  ASSERT_EQ(choice.best(), P::both);
  choice.leave_out([](P p) { return p == P::both; });
  EXPECT_EQ(choice.best(), P::shared);
  EXPECT_EQ(choice.text().find("both"), std::string::npos) << choice.text();
  std::map<P, int> got = play(choice, 300, cost);
  EXPECT_EQ(got[P::both], 0);
  EXPECT_GT(got[P::host_alone], 0);
  choice.leave_out([](P p) { return p != P::host_alone; });
  EXPECT_EQ(play(choice, 300, cost)[P::host_alone], 300);
  choice.leave_out([](P) { return true; });
  EXPECT_EQ(choice.best(), P::host_alone);
  EXPECT_FALSE(choice.is_known());
  choice.leave_out([](P) { return false; });
  EXPECT_EQ(choice.best(), P::both) << "what was known of it is still";
}
TEST(PlacementChoice, WhatIsBestElsewhereIsTakenUntilSomethingIsKnown) {
  placement_selector choice({P::both, P::device_alone, P::shared});
  choice.prefer(P::shared);
  EXPECT_EQ(choice.best(), P::shared);
  choice.prefer(P::device_alone);
  EXPECT_EQ(choice.next(), P::device_alone);
  choice.prefer(P::host_alone);  // none of ours
  EXPECT_EQ(choice.best(), P::device_alone);
  choice.note(P::device_alone, 1, 1);
  choice.prefer(P::shared);
  EXPECT_EQ(choice.best(), P::device_alone) << "it has been measured";
  (void)play(choice, 40, {{P::both, 2}, {P::device_alone, 3}, {P::shared, 4}});
  EXPECT_EQ(choice.best(), P::both) << "the others are tried all the same";
}
TEST(PlacementChoice, TellsSlowRatesToo) {
  placement_selector choice({P::both, P::shared, P::host_alone});
  choice.set(P::both, 1, 1e-9);
  choice.set(P::shared, 1000, 1e-3 / 2.5);
  choice.set(P::host_alone, 1, 3e-6);
  EXPECT_EQ(choice.text(), "both 1000 M/s, shared 2.5 M/s, host_alone 0.33 M/s");
}
TEST(PlacementChoice, WithoutCandidatesTheHostWorksAlone) {
  EXPECT_EQ(placement_selector().best(), P::host_alone);
  placement_selector one({P::shared});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.next(), P::shared);
}

}  // namespace
}  // namespace espalier::test
