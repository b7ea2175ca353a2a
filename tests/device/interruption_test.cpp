// interruption_test.cpp - parallel loops, sorts and builds that a check of the calling thread ends.
#include "espalier/device/interruption.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "espalier/device/cpu.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

struct stopped {};

// With one thread, a backend that is made before the scope has loops of one piece.
class interruption_test : public testing::TestWithParam<unsigned> {
 protected:
  [[nodiscard]] cpu_backend backend() const { return cpu_backend(device_); }
  device device_ = device::cpu(GetParam());
};

INSTANTIATE_TEST_SUITE_P(threads, interruption_test, testing::Values(1u, 2u, 5u), testing::PrintToStringParamName());

TEST_P(interruption_test, a_check_that_throws_ends_the_loop) {
  constexpr std::size_t n = 1 << 20;
  std::atomic<std::size_t> visited = 0;
  int calls = 0;
  const std::function<void()> check = [&] {
    if (++calls == 3) throw stopped();
  };
  const interruption_scope scope(check);
  EXPECT_THROW(backend().for_each(
                   n, [&](std::size_t) { visited.fetch_add(1, std::memory_order_relaxed); }, 64),
               stopped);
  EXPECT_EQ(calls, 3);
  EXPECT_LT(visited.load(), n);
}

TEST_P(interruption_test, a_check_that_does_not_throw_changes_nothing) {
  constexpr std::size_t n = 300017;
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  const std::function<void()> check = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  };
  const interruption_scope scope(check);
  for (const std::size_t grain : {std::size_t{1}, std::size_t{1000}, std::size_t{4096}}) {
    std::vector<std::atomic<int>> visits(n);
    backend().for_each_chunk(n, grain, [&](std::size_t first, std::size_t last) {
      EXPECT_EQ(first % grain, 0u);
      EXPECT_TRUE(last % grain == 0 || last == n);
      for (std::size_t i = first; i < last; ++i) ++visits[i];
    });
    EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; })) << grain;
  }
  EXPECT_GT(calls, 0);
}

TEST_P(interruption_test, the_innermost_scope_is_in_force_until_its_end) {
  EXPECT_EQ(interruption_scope::current(), nullptr);
  int outer_calls = 0, inner_calls = 0;
  const std::function<void()> outer_check = [&] { ++outer_calls; }, inner_check = [&] { ++inner_calls; };
  const auto loop = [&] {
    backend().for_each(
        10000, [](std::size_t) {}, 16);
  };
  const interruption_scope outer(outer_check);
  {
    const interruption_scope inner(inner_check);
    loop();
  }
  EXPECT_EQ(outer_calls, 0);
  const int before = inner_calls;
  EXPECT_GT(before, 0);
  loop();
  EXPECT_GT(outer_calls, 0);
  EXPECT_EQ(inner_calls, before);
}

TEST_P(interruption_test, nested_loops_are_ended_too) {
  std::atomic<std::size_t> pieces = 0;
  int calls = 0;
  const std::function<void()> check = [&] {
    if (++calls == 10) throw stopped();
  };
  const interruption_scope scope(check);
  EXPECT_THROW(backend().for_each(
                   1000,
                   [&](std::size_t) {
                     backend().for_each(
                         1000, [&](std::size_t) { ++pieces; }, 10);
                   },
                   1),
               stopped);
  EXPECT_LT(pieces.load(), 1000u * 1000u);
}

TEST(one_thread_interruption_test, runs_all_pieces_of_a_loop_that_can_be_interrupted) {
  const device one = device::cpu(1);
  const auto caller = std::this_thread::get_id();
  const cpu_backend before(one);
  int checks = 0;
  const std::function<void()> check = [&] { ++checks; };
  const interruption_scope scope(check);
  const auto pieces_of = [&](const cpu_backend& backend) {
    int pieces = 0;
    backend.for_each_chunk(100000, 10, [&](std::size_t, std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++pieces;  // not atomic: there is one thread
    });
    return pieces;
  };
  EXPECT_EQ(pieces_of(before), 1);
  EXPECT_EQ(checks, 0);
  const int pieces = pieces_of(cpu_backend(one));
  EXPECT_GE(pieces, 64);
  EXPECT_EQ(checks, pieces);
}

TEST_P(interruption_test, builds_and_queries_can_be_repeated) {
  std::vector<std::uint64_t> keys(1 << 18), ranks(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15u;
  const auto tree = static_tree<std::uint64_t>::build(std::span<const std::uint64_t>(keys), {}, device_);
  std::sort(keys.begin(), keys.end());
  int left = 0;
  const std::function<void()> check = [&] {
    if (--left == 0) throw stopped();
  };
  const interruption_scope scope(check);
  bool finished = false;
  for (int limit = 1; limit < 1000000 && !finished; limit = limit * 3 / 2 + 1) {
    left = limit;
    try {
      const auto other = static_tree<std::uint64_t>::build(std::span<const std::uint64_t>(keys), {}, device_);
      EXPECT_EQ(other.size(), keys.size());
      tree.rank(keys, ranks);
      finished = true;
    } catch (const stopped&) {
    }
  }
  EXPECT_TRUE(finished);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(ranks[i], i);
}

}  // namespace
}  // namespace espalier::test
