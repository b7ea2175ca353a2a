// radix_run.hpp - radix trees that record what they do, for the tests of traces.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "espalier/trace/replay.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::test {

using number_list = std::vector<std::uint64_t>;

/// A radix tree, all that its teams told, and the tree as it was in memory after each call.
struct radix_run {
  std::unique_ptr<explorer::live_tree> tree;
  trace_recorder recorder;
  recorded_trace trace;
  std::vector<std::pair<std::uint64_t, trace_state>> seen;
  std::set<std::uint64_t> keys;

  explicit radix_run(const number_list& first = {}, const device& where = device::cpu(1))
      : tree(explorer::make_live_tree(where, {"radix", "", "", 0, first})),
        recorder(where, std::uint64_t{1} << 20),
        keys(first.begin(), first.end()) {
    trace.header = tree->header();
    trace.start = tree->state();
    seen.emplace_back(0, trace.start);
  }
  explorer::live_outcome run(trace_op op, const number_list& some, unsigned workers = 1) {
    const auto outcome = tree->run({op, some, 0, workers}, recorder.ring());
    append(trace, recorder.take());
    trace.lost = recorder.lost();
    seen.emplace_back(trace.events.size(), tree->state());
    for (const std::uint64_t k : some) {
      if (op == trace_op::insert || op == trace_op::assign) keys.insert(k);
      if (op == trace_op::erase) keys.erase(k);
    }
    return outcome;
  }
  [[nodiscard]] std::map<trace_kind, unsigned> kinds() const {
    std::map<trace_kind, unsigned> counted;
    for (const trace_event& e : trace.events) ++counted[e.kind];
    return counted;
  }
};

inline std::set<std::uint64_t> keys_of_leaves(const trace_state& state) {
  std::set<std::uint64_t> keys;
  for (const auto& [name, node] : state.nodes) {
    if (!name.inner) keys.insert(node.keys.begin(), node.keys.end());
  }
  return keys;
}

inline void expect_retold(const radix_run& run) {
  ASSERT_EQ(run.trace.lost, 0u);
  trace_replay replay(run.trace);
  for (const auto& [position, state] : run.seen) {
    replay.go(position);
    ASSERT_TRUE(replay.state() == state) << "forwards, at position " << position;
  }
  ASSERT_EQ(keys_of_leaves(replay.state()), run.keys);
  for (auto at = run.seen.rbegin(); at != run.seen.rend(); ++at) {
    replay.go(at->first);
    ASSERT_TRUE(replay.state() == at->second) << "backwards, at position " << at->first;
  }
}

}  // namespace espalier::test
