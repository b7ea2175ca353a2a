// dual_queue_test.cpp - two concurrent queues of buckets, and sizes of windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "hybrid_tree/work_sharing.hpp"

namespace espalier::test {
namespace {

using detail::query_span;

constexpr std::size_t never = ~std::size_t{0};

/// What answered each of n queries: d, the first queue; h, the second; a, no queue. A queue is done every `turn`th
/// time that one of them is asked.
std::string answered_by(std::size_t n, unsigned second_slots, std::size_t slice, unsigned turn, std::size_t fail_at,
                        std::vector<query_span>& rest) {
  std::string who(n, '.');
  std::vector<bool> busy(5);
  unsigned asked = 0;
  std::size_t finished = 0;
  const auto start = [&busy](unsigned base) {
    return [&busy, base](unsigned slot, const query_span&) {
      EXPECT_FALSE(busy[base + slot]) << "two buckets in one slot";
      busy[base + slot] = true;
    };
  };
  const auto finish = [&](unsigned base, char name) {
    return [&, base, name](unsigned slot, const query_span& s) {
      if (finished++ == fail_at) throw std::runtime_error("lost");
      busy[base + slot] = false;
      for (std::size_t i = s.first; i < s.last; ++i) {
        EXPECT_EQ(who[i], '.');
        who[i] = name;
      }
    };
  };
  detail::bucket_queue first(
      2, [](std::size_t) { return 50; }, start(0));
  detail::bucket_queue second(
      second_slots, [](std::size_t) { return 7; }, start(2));
  const detail::queue_end first_end{[&](unsigned) { return ++asked % turn == 0; }, finish(0, 'd')};
  const detail::queue_end second_end{[&](unsigned) { return ++asked % turn == 0; }, finish(2, 'h')};
  const detail::dual_queue_work work = detail::run_queues(
      n, first, first_end, second, second_end, slice, [&](const query_span& s) { finish(4, 'a')(0, s); }, rest);
  EXPECT_EQ(work.device.queries, static_cast<std::size_t>(std::count(who.begin(), who.end(), 'd')));
  EXPECT_EQ(work.device.queries + work.host.queries, n);
  return who;
}

TEST(HybridQueues, EveryQueryIsAnsweredOnceByOneOfThem) {
  for (const std::size_t n : {0u, 1u, 49u, 100u, 101u, 1000u}) {
    for (const unsigned turn : {1u, 3u, 1000u}) {
      for (const std::size_t slice : {0u, 3u}) {
        std::vector<query_span> rest;
        EXPECT_EQ(answered_by(n, 0, slice, turn, never, rest), std::string(n, 'd'));
        const std::string who = answered_by(n, 2, slice, turn, never, rest);
        EXPECT_EQ(who.find('.'), std::string::npos) << n;
        EXPECT_TRUE(rest.empty());
        if (n < 1000) continue;
        EXPECT_NE(who.find('h'), std::string::npos);
        EXPECT_NE(who.find('d'), std::string::npos);
        EXPECT_EQ(who.find('a') != std::string::npos, slice != 0 && turn > 1) << "while nothing is ready";
      }
    }
  }
}
TEST(HybridQueues, BucketsOfTheHostStartFirst) {
  std::vector<query_span> rest;
  EXPECT_EQ(answered_by(200, 2, 0, 1, never, rest).substr(0, 15), std::string(14, 'h') + 'd');
}
TEST(HybridQueues, AnErrorTellsWhatIsUnfinished) {
  for (const std::size_t slice : {0u, 3u}) {
    for (std::size_t fail = 0; fail < 20; ++fail) {
      std::vector<query_span> rest;
      EXPECT_THROW((void)answered_by(1000, 2, slice, 3, fail, rest), std::runtime_error);
      std::vector<unsigned> covered(1000);
      for (const query_span& s : rest) {
        for (std::size_t i = s.first; i < s.last; ++i) ++covered[i];
      }
      EXPECT_EQ(std::count_if(covered.begin(), covered.end(), [](unsigned c) { return c > 1; }), 0);
      EXPECT_GE(std::count(covered.begin(), covered.end(), 1u), 50);
      EXPECT_EQ(covered.back(), 1u) << "what never started is unfinished, too";
    }
  }
}

// ---- windows ----------------------------------------------------------------------------------------------------
TEST(HybridWindows, TheShareIsWhatBothDoInTheSameTime) {
  detail::device_share share(0.4);
  for (unsigned call = 0; call < 20; ++call) {  // 3 of the device's while the host has 1
    const std::size_t taken = share.of(1000);
    share.note({{taken, static_cast<double>(taken) / 3}, {1000 - taken, static_cast<double>(1000 - taken)}});
  }
  EXPECT_NEAR(static_cast<double>(share.of(1000)), 750, 2);
  share.note({{1000, 1.0}, {0, 0.0}});
  EXPECT_NEAR(static_cast<double>(share.of(1000)), 750, 2) << "nothing is known of a host that had nothing to do";
  for (unsigned call = 0; call < 20; ++call) share.note({{1, 1e9}, {1000, 1e-9}});
  EXPECT_GE(share.of(1000), 1u) << "a slow device is tried again";
}
TEST(HybridWindows, OneIsTheWholeShareIfThereIsRoom) {
  const detail::device_share share(0.4);
  const detail::window_plan plan = detail::windows_with_host(share, 1000, {1000, 500}, 10, 3);
  EXPECT_EQ(plan.slots, 1u);
  EXPECT_EQ(plan.size(900), share.of(1000)) << "what the host took first is of its share";
  EXPECT_EQ(plan.size(100), share.of(100));
  EXPECT_EQ(plan.size(15), 0u) << "too small";
  EXPECT_EQ(plan.room, 751u) << "also for larger shares";
  const detail::device_share slow(0.01);
  const detail::window_plan small = detail::windows_with_host(slow, 200, {1000, 500}, 10, 3);
  EXPECT_EQ(small.size(180), 10u) << "it is tried";
  EXPECT_EQ(small.size(170), 0u);
}
TEST(HybridWindows, SeveralOverlapWhereThereIsLessRoom) {
  const detail::device_share share(0.4);
  const detail::window_plan plan = detail::windows_with_host(share, 10000, {1000, 500}, 10, 3);
  EXPECT_EQ(plan.slots, 3u);
  EXPECT_EQ(plan.size(9000), 1000u);
  EXPECT_EQ(plan.room, 1000u);
  EXPECT_EQ(plan.size(1000), share.of(1000) / 3) << "at the end, so that none of them is late";
}
TEST(HybridWindows, ADeviceAloneTakesAllInWindowsOfOneSize) {
  const auto size = [](std::size_t most, std::size_t alone) {
    return detail::windows_alone({most, alone}, 100, 3).size(7);
  };
  EXPECT_EQ(size(1000, 500), 500u);
  EXPECT_EQ(size(300, 500), 300u);
  EXPECT_EQ(size(300, 50), 100u);
  EXPECT_EQ(size(30, 50), 30u);
}

}  // namespace
}  // namespace espalier::test
