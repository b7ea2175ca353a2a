// radix_test.cpp - traces of radix trees: what writers tell rebuilds the tree that is in memory, forwards and
// backwards.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "explorer/read_trace.hpp"
#include "inspect/radix_run.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

number_list dense(std::uint64_t n, std::uint64_t step = 1) {
  number_list keys;
  for (std::uint64_t i = 0; i < n; ++i) keys.push_back(i * step);
  return keys;
}

TEST(RadixTrace, ANodeGrowsThroughAllKindsAndShrinksAgain) {
  radix_run run;
  run.run(trace_op::insert, dense(256));
  EXPECT_EQ(run.kinds()[trace_kind::kind], 3u);
  run.run(trace_op::erase, dense(256));
  EXPECT_EQ(run.kinds()[trace_kind::kind], 6u);
  EXPECT_EQ(run.kinds()[trace_kind::join], 1u);
  EXPECT_EQ(run.kinds()[trace_kind::leaf], 256u);
  EXPECT_EQ(run.kinds()[trace_kind::drop], 256u);
  expect_retold(run);
}

TEST(RadixTrace, NodesGetBetweenOthersAndGo) {
  radix_run run({0});
  run.run(trace_op::insert, {~std::uint64_t{0}, std::uint64_t{1} << 56, std::uint64_t{1} << 40, 1, 256, 65536});
  EXPECT_GE(run.kinds()[trace_kind::branch], 5u);
  run.run(trace_op::erase, {1, 0, 65536, 256});
  EXPECT_GE(run.kinds()[trace_kind::join], 3u);
  expect_retold(run);
}

TEST(RadixTrace, WhatChangesNothingIsToldToo) {
  radix_run run({1, 2, 3});
  run.run(trace_op::insert, {2, 4, 4});
  run.run(trace_op::erase, {9});
  run.run(trace_op::assign, {1, 8});
  run.run(trace_op::find, {8, 9});
  std::vector<std::string> told;
  for (const trace_event& e : run.trace.events) {
    if (e.kind == trace_kind::end)
      told.push_back(std::string(detail::trace_op_names[e.what]) + ' ' + detail::trace_result_names[e.at]);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"insert unchanged", "insert done", "insert unchanged", "erase unchanged",
                                            "assign unchanged", "assign done", "find done", "find unchanged"}));
  EXPECT_EQ(run.kinds()[trace_kind::assign], 1u);
  expect_retold(run);
}

TEST(RadixTrace, EveryLatchIsGivenBackAndOnlyItsHolderChangesTheNode) {
  radix_run run;
  run.run(trace_op::insert, dense(300, 7919));
  run.run(trace_op::erase, dense(200, 7919), 3);
  std::map<std::uint32_t, std::uint32_t> holders;  // of inner nodes, by number
  std::map<std::uint32_t, std::uint32_t> made;     // new nodes that others cannot reach yet, and by whom
  for (const trace_event& e : run.trace.events) {
    switch (e.kind) {
      case trace_kind::latch:
        EXPECT_TRUE(holders.emplace(e.node, e.team).second);
        break;
      case trace_kind::unlatch:
        EXPECT_EQ(holders.erase(e.node), 1u);
        std::erase_if(made, [&](const auto& one) { return one.second == e.team; });
        break;
      case trace_kind::kind:
        EXPECT_EQ(holders.at(e.node), e.team);
        EXPECT_EQ(holders.at(trace_above::id(e.key)), e.team);
        holders.erase(e.node);
        made.emplace(e.other, e.team);
        break;
      case trace_kind::branch:
        EXPECT_EQ(holders.at(e.node), e.team);
        made.emplace(e.other, e.team);
        break;
      case trace_kind::post:
      case trace_kind::drop:
        EXPECT_EQ((made.contains(e.node) ? made : holders).at(e.node), e.team);
        break;
      case trace_kind::join:
        EXPECT_EQ(holders.at(e.node), e.team);
        EXPECT_EQ(holders.at(e.other), e.team);
        holders.erase(e.other);
        break;
      default:
        break;
    }
  }
  EXPECT_TRUE(holders.empty());
}

TEST(RadixTrace, OfThreadsThatMeet) {
  for (unsigned round = 0; round < 20 / less_work; ++round) {
    radix_run run(dense(20, 3));
    number_list keys;
    for (std::uint64_t i = 0; i < 800; ++i) keys.push_back((i * 7919 + round) % 1000);
    run.run(trace_op::insert, keys, 4);
    run.run(trace_op::find, keys, 3);
    keys.resize(500);
    run.run(trace_op::erase, keys, 4);
    ASSERT_NO_FATAL_FAILURE(expect_retold(run));
  }
}

RC_GTEST_PROP(RadixTraceProperty, RandomRuns, ()) {
  const auto spread = *rc::gen::element(0u, 7u, 29u, 52u);
  const auto some = rc::gen::map(rc::gen::container<number_list>(rc::gen::inRange<std::uint64_t>(0, 600)),
                                 [spread](number_list keys) {
                                   for (auto& k : keys) k = k << spread | k;
                                   return keys;
                                 });
  radix_run run(*some);
  const auto calls = *rc::gen::inRange(1, 12);
  for (int i = 0; i < calls; ++i) {
    const auto op = *rc::gen::element(trace_op::insert, trace_op::insert, trace_op::assign, trace_op::erase,
                                      trace_op::update, trace_op::find);
    const auto keys = *rc::gen::resize(200, some);
    if (!keys.empty()) run.run(op, keys, *rc::gen::element(1u, 1u, 2u, 4u));
  }
  expect_retold(run);
  RC_ASSERT(!testing::Test::HasFatalFailure());
}

recorded_trace a_radix_trace() {
  radix_run run(dense(5, 1000));
  run.run(trace_op::insert, dense(60), 2);
  run.run(trace_op::erase, dense(60));
  run.trace.final = run.tree->state();
  return run.trace;
}

TEST(RadixTrace, IsWrittenAndReadAgain) {
  const recorded_trace written = a_radix_trace();
  std::ostringstream text, again;
  write_trace(text, written);
  std::istringstream in(text.str());
  const recorded_trace read = explorer::read_trace(in);
  write_trace(again, read);
  EXPECT_EQ(again.str(), text.str());
}

TEST(RadixTrace, DamagedOnesGetASentence) {
  std::ostringstream text;
  write_trace(text, a_radix_trace());
  const std::string good = text.str();
  const std::size_t events = good.find('\n') + 1;
  std::mt19937_64 random(11);
  unsigned refused = 0;
  for (unsigned round = 0; round < 400 / less_work; ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= round % 3; ++i) {
      std::size_t at = events + random() % (bad.size() - events);
      while (at < bad.size() && (bad[at] < '0' || bad[at] > '9') && bad[at] != 'l' && bad[at] != 'i') ++at;
      if (at < bad.size()) bad[at] = "0123456789il"[random() % 12];
    }
    std::istringstream in(bad);
    try {
      (void)explorer::read_trace(in);
    } catch (const error& e) {
      ++refused;
      ASSERT_NE(std::string(e.what()).find("line "), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 200 / less_work);
}

TEST(RadixTrace, AnyEventThatIsMissingIsNoticed) {
  const recorded_trace whole = a_radix_trace();
  const auto leads_there = [](const recorded_trace& trace) {
    trace_replay replay(trace);
    try {
      replay.go(trace.events.size());
    } catch (const error&) {
      return false;
    }
    return replay.state() == trace.final;
  };
  ASSERT_TRUE(leads_there(whole));
  for (const trace_kind kind : {trace_kind::latch, trace_kind::unlatch, trace_kind::post, trace_kind::kind,
                                trace_kind::leaf, trace_kind::branch, trace_kind::drop, trace_kind::join}) {
    recorded_trace without = whole;
    const auto first = std::find_if(without.events.begin(), without.events.end(),
                                    [kind](const trace_event& e) { return e.kind == kind; });
    ASSERT_NE(first, without.events.end()) << detail::trace_kind_names[static_cast<unsigned>(kind)];
    without.events.erase(first);
    EXPECT_FALSE(leads_there(without)) << detail::trace_kind_names[static_cast<unsigned>(kind)];
  }
}

}  // namespace
}  // namespace espalier::test
