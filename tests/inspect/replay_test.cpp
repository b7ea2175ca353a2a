// replay_test.cpp - a trace gone through step by step, forwards and backwards, rebuilds exactly the trees that dump()
// showed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "inspect/traced.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

class TraceReplay : public testing::TestWithParam<traced_shape> {};

std::vector<std::uint64_t> ascending(std::uint64_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), std::uint64_t{1});
  for (auto& k : keys) k *= 10;
  return keys;
}

TEST_P(TraceReplay, AscendingInsertsGrowTheRoot) {
  traced_run run(GetParam());
  run.run(trace_op::insert, ascending(600));
  expect_rebuilt(run);
  std::map<trace_kind, unsigned> kinds;
  for (const trace_event& e : run.trace.events) ++kinds[e.kind];
  EXPECT_GT(kinds[trace_kind::split], 0u);
  EXPECT_GE(kinds[trace_kind::split], kinds[trace_kind::link]);
  if (std::string(GetParam().upper) == "classic") {
    EXPECT_GT(kinds[trace_kind::post], 0u);
    EXPECT_GT(kinds[trace_kind::grow], 0u);
  }
}

TEST_P(TraceReplay, ErasesMergeLeaves) {
  traced_run run(GetParam(), ascending(300));
  run.run(trace_op::erase, ascending(300));
  expect_rebuilt(run);
  const bool merged = std::any_of(run.trace.events.begin(), run.trace.events.end(),
                                  [](const trace_event& e) { return e.kind == trace_kind::merge; });
  EXPECT_EQ(merged, std::string(GetParam().protocol) == "link") << "only the protocol link merges leaves";
}

TEST_P(TraceReplay, MaintenanceIsAStateOfItsOwn) {
  traced_run run(GetParam());
  run.run(trace_op::insert, ascending(400));
  run.run(trace_op::erase, ascending(200));
  run.maintain();
  run.run(trace_op::insert, ascending(300));
  expect_rebuilt(run);
}

TEST_P(TraceReplay, TheExtremeKeysAreKeysLikeOthers) {
  traced_run run(GetParam());
  const std::uint64_t most = ~std::uint64_t{0};
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 40; ++i) keys.insert(keys.end(), {i, most - i});
  run.run(trace_op::insert, keys);
  run.run(trace_op::erase, {0, most});
  expect_rebuilt(run);
}

TEST_P(TraceReplay, EveryOperationBeginsAndEnds) {
  traced_run run(GetParam(), ascending(100));
  run.run(trace_op::find, {10, 11});
  run.run(trace_op::assign, {10, 12});
  const auto outcome = run.run(trace_op::range, {10}, 1, 100);
  EXPECT_EQ(outcome.count, 11u);
  EXPECT_EQ(outcome.found, (std::vector<std::uint64_t>{10, 12, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
  std::vector<std::string> told;
  bool open = false;
  for (const trace_event& e : run.trace.events) {
    EXPECT_EQ(open, e.kind != trace_kind::begin);
    if (e.kind == trace_kind::begin) open = true;
    if (e.kind != trace_kind::end) continue;
    open = false;
    told.push_back(std::string(detail::trace_op_names[e.what]) + ' ' + detail::trace_result_names[e.at]);
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(told,
            (std::vector<std::string>{"find done", "find unchanged", "assign unchanged", "assign done", "range done"}));
}

TEST_P(TraceReplay, OfThreadsThatMeet) {
  const unsigned rounds = 20 / less_work;
  for (unsigned round = 0; round < rounds; ++round) {
    traced_run run(GetParam(), ascending(20));
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 800; ++i) keys.push_back((i * 7919 + round) % 1000);
    run.run(trace_op::insert, keys, 4);
    run.run(trace_op::find, keys, 3);
    keys.resize(500);
    run.run(trace_op::erase, keys, 4);
    ASSERT_NO_FATAL_FAILURE(expect_rebuilt(run));
  }
}

RC_GTEST_PROP(TraceReplayProperty, RandomRuns, ()) {
  const auto shape = *rc::gen::elementOf(std::vector<traced_shape>(std::begin(traced_shapes), std::end(traced_shapes)));
  const auto some_keys = rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 300));
  traced_run run(shape, *some_keys);
  const auto calls = *rc::gen::inRange(1, 12);
  for (int i = 0; i < calls; ++i) {
    const auto op = *rc::gen::element(trace_op::insert, trace_op::insert, trace_op::assign, trace_op::erase,
                                      trace_op::update, trace_op::find);
    const auto keys = *rc::gen::resize(200, some_keys);
    if (!keys.empty()) run.run(op, keys, *rc::gen::element(1u, 1u, 2u, 4u));
    if (*rc::gen::inRange(0, 10) == 0) run.maintain();
  }
  expect_rebuilt(run);
  RC_ASSERT(!testing::Test::HasFatalFailure());
}

/// Does the trace still lead to its end?
bool leads_to_its_end(const recorded_trace& trace) {
  trace_replay replay(trace);
  try {
    replay.go(trace.events.size());
  } catch (const error&) {
    return false;
  }
  return replay.state() == trace.final;
}

TEST(TraceReplayNotices, AnyEventThatIsMissing) {
  traced_run run(traced_shapes[0]);
  run.run(trace_op::insert, ascending(300));
  run.run(trace_op::erase, ascending(300));
  const recorded_trace& whole = run.finish();
  ASSERT_TRUE(leads_to_its_end(whole));
  for (const trace_kind kind :
       {trace_kind::latch, trace_kind::unlatch, trace_kind::insert, trace_kind::erase, trace_kind::split,
        trace_kind::link, trace_kind::post, trace_kind::grow, trace_kind::merge}) {
    recorded_trace without = whole;
    const auto first = std::find_if(without.events.begin(), without.events.end(),
                                    [kind](const trace_event& e) { return e.kind == kind; });
    ASSERT_NE(first, without.events.end()) << detail::trace_kind_names[static_cast<unsigned>(kind)];
    without.events.erase(first);
    EXPECT_FALSE(leads_to_its_end(without)) << detail::trace_kind_names[static_cast<unsigned>(kind)];
  }
}

INSTANTIATE_TEST_SUITE_P(, TraceReplay, testing::ValuesIn(traced_shapes), traced_shape_name);

}  // namespace
}  // namespace espalier::test
