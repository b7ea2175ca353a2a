// live_test.cpp - radix, static and hybrid trees behind a trace: what is shown is what is in the tree, and searches go
// where the picture says.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "explorer/questions.hpp"
#include "explorer/read_trace.hpp"
#include "explorer/source.hpp"
#include "inspect/traced.hpp"

namespace espalier::test {
namespace {

using key_set = std::set<std::uint64_t>;

std::unique_ptr<explorer::source> live_source(const std::string& index, const key_set& keys) {
  explorer::live_request request;
  request.index = index;
  request.keys.assign(keys.begin(), keys.end());
  return std::make_unique<explorer::source>("s1", index, explorer::make_live_tree(device::cpu(1), request),
                                            keys.size());
}
key_set keys_in(const trace_state& state) {
  key_set keys;
  for (const auto& [name, node] : state.nodes) {
    if (!name.inner) keys.insert(node.keys.begin(), node.keys.end());
  }
  return keys;
}
const trace_state& last_state(explorer::source& s) { return s.state_at(s.trace().events.size()); }

/// What is recorded can be written, read again and replayed.
void expect_good_file(explorer::source& s) {
  recorded_trace trace = s.trace();
  trace.final = last_state(s);
  std::ostringstream out;
  write_trace(out, trace);
  std::istringstream in(out.str());
  const recorded_trace read = explorer::read_trace(in);
  EXPECT_EQ(read.events.size(), trace.events.size());
  trace_replay replay(read);
  replay.go(read.events.size());
  replay.go(0);
  EXPECT_TRUE(replay.state() == trace.start);
}

/// The nodes that the only operation in these events reached, without those that were looked at twice.
std::vector<trace_name> reached(const recorded_trace& trace, std::uint64_t from) {
  std::vector<trace_name> nodes;
  for (std::uint64_t i = from; i < trace.events.size(); ++i) {
    const trace_event& e = trace.events[i];
    const trace_name name{e.node, e.level != 0};
    if (e.kind == trace_kind::reach && (nodes.empty() || nodes.back() != name)) nodes.push_back(name);
  }
  return nodes;
}

TEST(LiveRadix, WritesAreShownKeyByKey) {
  const explorer::live_limits limits;
  key_set keys{1, 2, 1000, ~std::uint64_t{0}};
  const auto s = live_source("radix", keys);
  EXPECT_EQ(keys_in(last_state(*s)), keys);
  std::mt19937_64 numbers(7);
  for (unsigned round = 0; round < 30; ++round) {
    const std::vector<std::uint64_t> some{numbers() % 600, numbers() % 600 << 40, numbers() % 3000};
    if (round % 3 == 2) {
      (void)s->run({trace_op::erase, some, 0, 1}, limits);
      for (const std::uint64_t k : some) keys.erase(k);
    } else {
      (void)s->run({trace_op::insert, some, 0, 1}, limits);
      keys.insert(some.begin(), some.end());
    }
    ASSERT_EQ(keys_in(last_state(*s)), keys) << "round " << round;
  }
  expect_good_file(*s);
}

TEST(LiveRadix, ANodeThatIsFullChangesItsKind) {
  const explorer::live_limits limits;
  const auto s = live_source("radix", {1, 2, 3, 4});
  for (std::uint64_t k = 5; k <= 20; ++k) (void)s->run({trace_op::insert, std::vector{k}, 0, 1}, limits);
  std::vector<std::string> kinds;
  for (const trace_event& e : s->trace().events) {
    if (e.kind == trace_kind::kind)
      kinds.push_back(std::string(detail::trace_node_kind_names[e.at >> 8]) + " to " +
                      detail::trace_node_kind_names[e.at & 0xff]);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"node4 to node16", "node16 to node48"}));
  expect_good_file(*s);
}

TEST(LiveRadix, ManyKeysAtOnceAreEventsToo) {
  const explorer::live_limits limits;
  const auto s = live_source("radix", {});
  std::vector<std::uint64_t> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back(i * i * 7919);
  EXPECT_EQ(s->run({trace_op::insert, many, 0, 4}, limits).done, 1000u);
  EXPECT_TRUE(s->trace().states.empty());
  EXPECT_EQ(keys_in(last_state(*s)), key_set(many.begin(), many.end()));
  expect_good_file(*s);
}

class LiveSearch : public testing::TestWithParam<const char*> {};

TEST_P(LiveSearch, GoesWhereThePictureSays) {
  const explorer::live_limits limits;
  key_set keys;
  std::mt19937_64 numbers(3);
  while (keys.size() < 3000) keys.insert(numbers() >> (numbers() % 40));
  const auto s = live_source(GetParam(), keys);
  EXPECT_EQ(keys_in(last_state(*s)), keys);
  unsigned there = 0;
  for (const std::uint64_t k : keys) {
    if (++there % 10 != 0) continue;
    const std::uint64_t before = s->trace().events.size();
    ASSERT_EQ(s->run({trace_op::find, std::vector{k}, 0, 1}, limits).done, 1u);
    const auto path = explorer::path_to(last_state(*s), k);
    ASSERT_TRUE(path.found);
    const auto went = reached(s->trace(), before);
    ASSERT_FALSE(went.empty());
    EXPECT_EQ(went.back(), path.steps.back().node) << k;
  }
  EXPECT_EQ(s->run({trace_op::find, std::vector{*keys.begin() + 1}, 0, 1}, limits).done,
            keys.contains(*keys.begin() + 1) ? 1u : 0u);
  expect_good_file(*s);
}

TEST_P(LiveSearch, RangesAreThoseOfASet) {
  const explorer::live_limits limits;
  key_set keys;
  for (std::uint64_t i = 0; i < 500; ++i) keys.insert(i * i);
  const auto s = live_source(GetParam(), keys);
  for (const auto& [from, to] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 100}, {50, 40000}, {249001, 249001}, {300000, 400000}}) {
    const auto outcome = s->run({trace_op::range, std::vector{from}, to, 1}, limits);
    const std::vector<std::uint64_t> expected(keys.lower_bound(from), keys.upper_bound(to));
    EXPECT_EQ(outcome.count, expected.size());
    EXPECT_TRUE(std::equal(outcome.found.begin(), outcome.found.end(), expected.begin()));
  }
}

TEST_P(LiveSearch, SummariesAndSurroundingsKnowAllNodes) {
  key_set keys;
  for (std::uint64_t i = 0; i < 2000; ++i) keys.insert(i * 1'000'003);
  const auto s = live_source(GetParam(), keys);
  const trace_state& state = last_state(*s);
  const auto summary = explorer::summarise(state, explorer::walk_levels(state), s->trace().header, 16);
  EXPECT_EQ(summary.keys, keys.size());
  EXPECT_EQ(summary.nodes, state.nodes.size());
  for (const auto& level : summary.levels) {
    for (const auto& cell : level.cells) {
      EXPECT_GT(cell.fill, 0);
      EXPECT_LE(cell.fill, 1);
      EXPECT_EQ(cell.unposted, 0u);
    }
  }
  for (const trace_name n : state.names()) {
    const auto around = explorer::around(state, explorer::walk_levels(state), n, 2);
    ASSERT_NE(around.part.find(n), nullptr);
    ASSERT_NE(around.part.find(state.root), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(, LiveSearch, testing::Values("radix", "static", "hybrid"),
                         [](const auto& which) { return std::string(which.param); });

TEST(LiveHybrid, TheRegularLayoutIsWrittenToAndReplayed) {
  const explorer::live_limits limits;
  explorer::live_request request{"hybrid", "link", "", 0, {}};
  for (std::uint64_t i = 0; i < 300; ++i) request.keys.push_back(i * 10);
  explorer::source s("s1", "hybrid", explorer::make_live_tree(device::cpu(1), request), 300);
  EXPECT_EQ(s.trace().header.index, "hybrid");
  EXPECT_EQ(s.trace().header.upper, "express");
  std::vector<std::uint64_t> more;
  for (std::uint64_t i = 0; i < 500; ++i) more.push_back(i * 7 + 1);
  EXPECT_GT(s.run({trace_op::insert, more, 0, 3}, limits).done, 400u);
  s.maintain();
  EXPECT_EQ(s.run({trace_op::find, more, 0, 1}, limits).done, 500u);
  key_set keys(request.keys.begin(), request.keys.end());
  keys.insert(more.begin(), more.end());
  EXPECT_EQ(keys_in(last_state(s)), keys);
  expect_good_file(s);
  request.slots = 8;
  EXPECT_THROW((void)explorer::make_live_tree(device::cpu(1), request), error);
}

TEST(LiveStatic, IsNotWrittenTo) {
  const auto s = live_source("static", {1, 2});
  EXPECT_THROW((void)s->run({trace_op::insert, std::vector<std::uint64_t>{3}, 0, 1}, {}), error);
  const auto empty = live_source("static", {});
  EXPECT_EQ(empty->run({trace_op::find, std::vector<std::uint64_t>{3}, 0, 1}, {}).unchanged, 1u);
  EXPECT_EQ(last_state(*empty).nodes.size(), 1u);
}

}  // namespace
}  // namespace espalier::test
