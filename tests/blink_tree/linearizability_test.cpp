// linearizability_test.cpp - the checker accepts what can have happened and rejects what cannot.
#include "support/linearizability.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/families.hpp"

namespace espalier::test {
namespace {

constexpr auto absent = [](std::uint64_t) { return map_register{}; };

recorded_op op(blink_op what, std::uint64_t argument, unsigned done, std::uint64_t from, std::uint64_t to) {
  const bool asks = what == blink_op::find;
  return {7, asks ? 0 : argument, asks ? argument : 0, from, to, what, static_cast<std::uint8_t>(done)};
}
bool accepts(const std::vector<recorded_op>& history, map_register before = {}) {
  return first_violation(history, [&](std::uint64_t) { return before; }).empty();
}

using enum blink_op;
map_register holding(std::uint64_t value) { return map_register::holding(value); }

TEST(Linearizability, OneAfterTheOtherIsASequence) {
  EXPECT_TRUE(accepts({}));
  EXPECT_TRUE(accepts({op(find, 0, 0, 1, 2), op(insert, 5, 1, 3, 4), op(find, 5, 1, 5, 6), op(insert, 6, 0, 7, 8),
                       op(insert_or_assign, 8, 0, 9, 10), op(find, 8, 1, 11, 12), op(update, 9, 1, 13, 14),
                       op(erase, 0, 1, 15, 16), op(erase, 0, 0, 17, 18), op(update, 3, 0, 19, 20),
                       op(insert_or_assign, 4, 1, 21, 22), op(find, 4, 1, 23, 24)}));
}

TEST(Linearizability, EachWrongAnswerIsRejected) {
  EXPECT_FALSE(accepts({op(find, 0, 1, 1, 2)}));
  EXPECT_FALSE(accepts({op(find, 0, 0, 1, 2)}, holding(0)));
  EXPECT_FALSE(accepts({op(find, 4, 1, 1, 2)}, holding(5)));
  EXPECT_FALSE(accepts({op(insert, 5, 0, 1, 2)}));
  EXPECT_FALSE(accepts({op(insert, 5, 1, 1, 2)}, holding(5)));
  EXPECT_FALSE(accepts({op(insert_or_assign, 5, 0, 1, 2)}));
  EXPECT_FALSE(accepts({op(insert_or_assign, 5, 1, 1, 2)}, holding(5)));
  EXPECT_FALSE(accepts({op(update, 5, 1, 1, 2)}));
  EXPECT_FALSE(accepts({op(update, 5, 0, 1, 2)}, holding(5)));
  EXPECT_FALSE(accepts({op(erase, 0, 1, 1, 2)}));
  EXPECT_FALSE(accepts({op(erase, 0, 0, 1, 2)}, holding(5)));
}

TEST(Linearizability, OverlappingOperationsMayTakeEitherOrder) {
  EXPECT_TRUE(accepts({op(insert, 5, 1, 1, 10), op(find, 0, 0, 2, 3), op(find, 5, 1, 4, 5)}));
  EXPECT_TRUE(accepts({op(insert, 5, 1, 1, 10), op(erase, 0, 1, 2, 3), op(find, 0, 0, 4, 11)}));
  EXPECT_TRUE(accepts({op(insert, 5, 0, 1, 4), op(insert, 6, 1, 2, 3), op(find, 6, 1, 5, 6)}));
  EXPECT_TRUE(accepts({op(insert, 5, 1, 1, 2), op(find, 0, 0, 2, 3)})) << "equal times are concurrent";
}

TEST(Linearizability, AKnownBadHistoryIsRejected) {
  EXPECT_FALSE(accepts({op(insert, 5, 1, 1, 2), op(find, 0, 0, 3, 4)})) << "a lost insert";
  EXPECT_FALSE(accepts({op(insert, 5, 1, 1, 9), op(find, 5, 1, 2, 3), op(find, 0, 0, 4, 5)})) << "seen, then not seen";
  EXPECT_FALSE(accepts({op(insert, 5, 1, 1, 4), op(insert, 6, 1, 2, 3)})) << "two winners";
  EXPECT_FALSE(accepts(
      {op(insert_or_assign, 8, 0, 1, 3), op(insert_or_assign, 9, 0, 2, 4), op(find, 8, 1, 5, 6), op(find, 9, 1, 7, 8)},
      holding(1)))
      << "two orders at once";
  EXPECT_FALSE(accepts({op(erase, 0, 1, 1, 6), op(erase, 0, 1, 2, 5), op(find, 3, 1, 3, 4)}, holding(3)))
      << "erased twice";
}

TEST(Linearizability, TheKeyThatFailsIsNamed) {
  std::vector<recorded_op> history;
  for (std::uint64_t key = 0; key < 10; ++key) {
    history.push_back({key, key, 0, 2 * key, 2 * key + 1, insert, 1});
    history.push_back({key, 0, key == 6 ? 1 : key, 100 + key, 101 + key, find, 1});
  }
  const std::string problem = first_violation(history, absent);
  EXPECT_EQ(problem.find("key 6 "), 0u) << problem;
}

/// A history of `threads` threads that really happened: each operation takes effect at a moment inside its interval.
std::vector<recorded_op> real_history(std::uint64_t seed, unsigned threads, unsigned each) {
  random_words random(seed);
  std::vector<recorded_op> history;
  for (unsigned t = 0; t < threads; ++t) {
    std::uint64_t now = random.below(10);
    for (unsigned i = 0; i < each; ++i) {
      recorded_op next = op(static_cast<blink_op>(random.below(5)), 1 + random.below(1000), 0, now, 0);
      next.answer = now + 1 + random.below(20);  // the moment of effect, until it has happened
      now = next.responded = next.answer + 1 + random.below(20);
      now += 1 + random.below(5);
      history.push_back(next);
    }
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.answer < b.answer; });
  map_register state;
  for (recorded_op& next : history) {
    const bool there = state.there;
    next.answer = next.what == find && there ? state.value : 0;
    next.done = static_cast<std::uint8_t>(there != (next.what == insert || next.what == insert_or_assign));
    EXPECT_TRUE(step(next, state));
  }
  return history;
}

TEST(Linearizability, WhatHappenedIsAcceptedAndWhatDidNotIsRejected) {
  unsigned rejected = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<recorded_op> history = real_history(seed, 5, 40);
    ASSERT_EQ(first_violation(history, absent), "") << "seed " << seed;
    // A value that nobody wrote, in one find.
    const auto one =
        std::find_if(history.begin(), history.end(), [](const auto& o) { return o.what == find && o.done; });
    if (one == history.end()) continue;
    one->answer = 5000;
    ++rejected;
    ASSERT_NE(first_violation(history, absent), "") << "seed " << seed;
  }
  EXPECT_GT(rejected, 100u);
}

TEST(Linearizability, ADozenWritesThatAllOverlapAreDecided) {
  std::vector<recorded_op> history;
  for (std::uint64_t i = 0; i < 7; ++i) history.push_back(op(insert, 10 + i, 1, 1, 2));
  for (std::uint64_t i = 0; i < 6; ++i) history.push_back(op(erase, 0, 1, 1, 2));
  history.push_back(op(find, 13, 1, 3, 4));
  EXPECT_TRUE(accepts(history));
  history.back().answer = 20;
  EXPECT_FALSE(accepts(history));
  history.back().answer = 13;
  history.push_back(op(erase, 0, 1, 1, 2));
  EXPECT_FALSE(accepts(history)) << "as many erased as were inserted, and one left";
}

TEST(Linearizability, ManyOverlappingAssignmentsAreDecidedByTheLastOne) {
  std::vector<recorded_op> history;
  for (std::uint64_t i = 0; i < 500; ++i) history.push_back(op(insert_or_assign, 10 + i, i == 77 ? 1 : 0, 1, 2));
  history.push_back(op(find, 12, 1, 3, 4));
  EXPECT_TRUE(accepts(history));
}

}  // namespace
}  // namespace espalier::test
