// recorder_test.cpp - the ring that events go to: order, overflow, and what a team without one costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "espalier/inspect/blink_trace.hpp"
#include "espalier/team/scalar_team.hpp"
#include "inspect/traced.hpp"

namespace espalier::test {
namespace {

// Hooks are in the code of traced teams alone: for others, note() does nothing and there is no member to carry.
static_assert(!is_traced<scalar_team> && is_traced<traced_team<scalar_team>>);
static_assert(std::is_empty_v<scalar_team>);
static_assert(Team<traced_team<scalar_team>>);

trace_event numbered(std::uint64_t n) {
  trace_event e;
  e.key = n;
  return e;
}

TEST(TraceRecorder, TakesEventsInOrderAndAgain) {
  trace_recorder recorder(device::cpu(1), 10);
  const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), 7);
  for (unsigned round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 10; ++i) note(team, numbered(i));
    const auto taken = recorder.take();
    ASSERT_EQ(taken.size(), 10u);
    for (std::uint64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(taken[i].key, i);
      EXPECT_EQ(taken[i].team, 7u);
    }
  }
  EXPECT_TRUE(recorder.take().empty());
  EXPECT_EQ(recorder.lost(), 0u);
}

TEST(TraceRecorder, CountsWhatFindsNoRoomAndStopsThere) {
  trace_recorder recorder(device::cpu(1), 4);
  const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), 0);
  for (std::uint64_t i = 0; i < 11; ++i) note(team, numbered(i));
  const auto taken = recorder.take();
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_EQ(taken.back().key, 3u) << "the first ones are kept";
  EXPECT_EQ(recorder.lost(), 7u);
  note(team, numbered(11));
  EXPECT_TRUE(recorder.take().empty()) << "a trace has no gap";
  EXPECT_EQ(recorder.lost(), 8u);
}

TEST(TraceRecorder, GivesEachEventOfManyThreadsAPlaceOfItsOwn) {
  constexpr std::uint64_t each = 5000;
  constexpr unsigned threads = 4;
  trace_recorder recorder(device::cpu(1), each * threads - 100);
  {
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < threads; ++w) {
      workers.emplace_back([&recorder, w] {
        const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), w);
        for (std::uint64_t i = 0; i < each; ++i) note(team, numbered(i));
      });
    }
  }
  const auto taken = recorder.take();
  EXPECT_EQ(taken.size(), each * threads - 100);
  EXPECT_EQ(recorder.lost(), 100u);
  std::uint64_t next[threads] = {};
  for (const trace_event& e : taken) EXPECT_EQ(e.key, next[e.team]++) << "thread " << e.team;
}

TEST(TraceRecorder, ATreeWhoseTraceOverflowsWorksOn) {
  traced_run run(traced_shapes[0], {}, 500);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 1000; ++i) keys.push_back(i * 17 % 1009);
  const auto outcome = run.run(trace_op::insert, keys, 3);
  EXPECT_EQ(outcome.done + outcome.unchanged, 1000u);
  EXPECT_EQ(run.trace.events.size(), 500u);
  EXPECT_GT(run.trace.lost, 500u);
  trace_replay replay(run.trace);
  replay.go(500);  // what is there can be replayed
}

TEST(TraceRecorder, RefsOfAnyTreeRecord) {
  blink_tree<std::uint64_t, std::uint64_t> tree(device::cpu(1));
  recorded_trace trace = begin_trace(tree);
  trace_recorder recorder(tree.get_device(), 1000);
  const auto ref = tree.ref(30);
  const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), 0);
  for (std::uint64_t k = 0; k < 30; ++k) {
    note(team, trace::begin(trace_op::insert, k));
    ASSERT_EQ(ref.insert(team, k, k), write_result::inserted);
    note(team, trace::end(trace_op::insert, trace_result::done));
  }
  end_trace(trace, tree, recorder);
  trace_replay replay(trace);
  replay.go(trace.events.size());
  EXPECT_TRUE(replay.state() == trace.final);
  EXPECT_TRUE(replay.state() == state_of_dump(tree.dump_json()));
}

/// A team waits for a latch that another one keeps for as long as `kept` says, and inserts then.
template <protocol P>
std::vector<trace_event> events_of_a_wait(std::chrono::milliseconds kept) {
  blink_tree<std::uint64_t, std::uint64_t, blink_policy<P, inner_index::inner_nodes>> tree(device::cpu(1));
  trace_recorder recorder(tree.get_device(), 1u << 20);
  const auto ref = tree.ref(1);
  const std::uint32_t leaf = nlohmann::json::parse(tree.dump_json())["leaves"][0]["id"];
  std::uint32_t* const word = ref.layout().leaf(leaf).version();
  const std::uint32_t before = version_latch::try_latch(scalar_team{}, word);
  EXPECT_EQ(before & 1, 0u);
  {
    std::jthread waits([&] {
      const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), 0);
      EXPECT_EQ(ref.insert(team, 1, 1), write_result::inserted);
    });
    std::this_thread::sleep_for(kept);
    version_latch::release(scalar_team{}, word, before);
  }
  EXPECT_EQ(recorder.lost(), 0u);
  return recorder.take();
}

TEST(TraceRecorder, ATeamThatWaitsDoesNotFillTheTrace) {
  for (const auto& events : {events_of_a_wait<protocol::blink>(std::chrono::milliseconds(50)),
                             events_of_a_wait<protocol::latch_coupling>(std::chrono::milliseconds(50))}) {
    EXPECT_LT(events.size(), 200u) << "it looks at the latch a thousand times and more";
    const auto has = [&](trace_kind kind) {
      return std::any_of(events.begin(), events.end(), [=](const trace_event& e) { return e.kind == kind; });
    };
    EXPECT_TRUE(has(trace_kind::retry)) << "that it waits is said";
    EXPECT_TRUE(has(trace_kind::insert));
  }
}

TEST(TraceRecorder, AQuietTeamTellsOfChangesAllTheSame) {
  trace_recorder recorder(device::cpu(1), 100);
  const traced_team<scalar_team> team(scalar_team{}, recorder.ring(), 0);
  note(on_attempt(team, 3), trace::reach({1, 0}));
  note(on_attempt(team, 3), trace::retry({1, 0}, trace_why::busy));
  note(on_attempt(team, 3), trace::insert({1, 0}, 2, 5));
  note(on_attempt(team, 3), trace::latch({1, 0}, 4));
  note(on_attempt(team, 4), trace::retry({1, 0}, trace_why::busy));
  const auto taken = recorder.take();
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].kind, trace_kind::insert);
  EXPECT_EQ(taken[1].kind, trace_kind::latch);
  EXPECT_EQ(taken[2].kind, trace_kind::retry);
}

}  // namespace
}  // namespace espalier::test
