// latch_test.cpp - the version latch itself: every order in which the steps of two writers and a reader can come.
//
// One step is one access to the latch or to what it guards, as version_latch.hpp makes it. Nobody waits: who finds the
// latch taken goes home, so that the orders are as many as there are ways to shuffle three lists of steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "espalier/sync/version_latch.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::test {
namespace {

/// A latch and two words that are equal whenever it is free.
struct guarded {
  std::uint32_t version = 0;
  std::uint32_t a = 0, b = 0;
};

/// latch, change one word, change the other, release; or, without a change, latch, look, look, release.
struct latch_writer {
  guarded& g;
  std::uint32_t value;  ///< 0: changes nothing
  std::uint32_t before = 1, seen = 0;
  bool torn = false;

  [[nodiscard]] bool holds() const { return (before & 1) == 0; }
  void step(unsigned i) {
    const scalar_team team;
    if (i == 0) before = version_latch::try_latch(team, &g.version);
    if (!holds()) return;
    if (value == 0) {
      if (i == 1) seen = load_relaxed(&g.a);
      if (i == 2) torn = load_relaxed(&g.b) != seen;
      if (i == 3) version_latch::release_unchanged(team, &g.version, before);
    } else {
      if (i == 1) store_relaxed(&g.a, value);
      if (i == 2) store_relaxed(&g.b, value);
      if (i == 3) version_latch::release(team, &g.version, before);
    }
  }
};

struct latch_reader {
  guarded& g;
  std::uint32_t version = 1, a = 0, b = 0;
  bool valid = false;

  void step(unsigned i) {
    if (i == 0) version = version_latch::peek_version(&g.version);
    if ((version & 1) != 0) return;  // read_begin() would wait here
    if (i == 1) a = load_relaxed(&g.a);
    if (i == 2) b = load_relaxed(&g.b);
    if (i == 3) valid = version_latch::read_valid(scalar_team{}, &g.version, version);
  }
};

struct latch_outcomes {
  unsigned orders = 0, valid = 0, valid_beside_a_latch = 0, shared_latch = 0;
};

/// What is wrong, if anything, after all orders of the steps of a reader and of writers with these values.
std::string shuffle_all(std::array<std::uint32_t, 2> values, latch_outcomes& met) {
  std::string order = "000011112222";
  do {
    guarded g;
    latch_writer writers[2] = {{g, values[0]}, {g, values[1]}};
    latch_reader reader{g};
    unsigned at[3] = {0, 0, 0};
    bool latched_while_read = false;
    for (const char who : order) {
      const unsigned w = static_cast<unsigned>(who - '0');
      if (w < 2) {
        writers[w].step(at[w]++);
      } else {
        reader.step(at[2]++);
      }
      latched_while_read = latched_while_read || (at[2] > 0 && at[2] < 4 && (g.version & 1) != 0);
      if (writers[0].holds() && writers[1].holds() && at[0] > 0 && at[0] < 4 && at[1] > 0 && at[1] < 4)
        return "two writers have the latch in " + order;
    }
    ++met.orders;
    if (writers[0].torn || writers[1].torn) return "torn under the latch in " + order;
    std::uint32_t changes = 0;
    for (const latch_writer& w : writers) changes += w.holds() && w.value != 0 ? 1 : 0;
    if (g.version != 2 * changes) return "version " + std::to_string(g.version) + " after " + order;
    if (!writers[0].holds() || !writers[1].holds()) ++met.shared_latch;
    if (reader.valid) {
      ++met.valid;
      if (reader.a != reader.b) return "a torn read is valid in " + order;
      if (latched_while_read) ++met.valid_beside_a_latch;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return {};
}

TEST(BlinkStepsLatch, NoOrderOfTwoChangesMakesATornReadValid) {
  latch_outcomes met;
  EXPECT_EQ(shuffle_all({7, 8}, met), "");
  EXPECT_EQ(met.orders, 34650u);  // 12! / (4! 4! 4!)
  EXPECT_GT(met.valid, 0u);
  EXPECT_LT(met.valid, met.orders);
  EXPECT_GT(met.shared_latch, 0u) << "somebody found it taken";
  EXPECT_EQ(met.valid_beside_a_latch, 0u) << "a change made the version another one";
}

TEST(BlinkStepsLatch, AReadStaysValidUnderALatchThatChangesNothing) {
  latch_outcomes met;
  EXPECT_EQ(shuffle_all({0, 8}, met), "");
  EXPECT_EQ(shuffle_all({0, 0}, met), "");
  EXPECT_GT(met.valid_beside_a_latch, 0u);
}

}  // namespace
}  // namespace espalier::test
