// traced.hpp - trees that record what they do, for the tests of traces.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "espalier/inspect/replay.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::test {

struct traced_shape {
  const char* protocol;
  const char* upper;
  unsigned slots;
};
inline const traced_shape traced_shapes[] = {{"link", "classic", 8},   {"link", "express", 8},
                                             {"couple", "classic", 8}, {"link", "classic", 12},
                                             {"link", "express", 12},  {"couple", "classic", 12}};

inline std::string traced_shape_name(const testing::TestParamInfo<traced_shape>& info) {
  return std::string(info.param.protocol) + '_' + info.param.upper + '_' + std::to_string(info.param.slots);
}

/// What a dump says, as a trace would: by way of its text, not of the code that makes states.
inline trace_state state_of_dump(const std::string& text) {
  const nlohmann::json dump = nlohmann::json::parse(text);
  trace_state state;
  const auto add = [&](const nlohmann::json& n, bool inner) {
    trace_node_state& to = state.nodes[{n["id"].get<std::uint32_t>(), inner}];
    to.level = n["level"];
    to.version = n["version"];
    to.dead = n["dead"];
    if (!n["right"].is_null()) to.right = n["right"];
    to.high = n["high"];
    to.keys = n["keys"].get<std::vector<std::uint64_t>>();
    if (!inner) return;
    for (const auto& child : n["children"]) to.children.push_back({child.get<std::uint32_t>(), to.level > 1});
  };
  for (const auto& n : dump["leaves"]) add(n, false);
  for (const auto& n : dump["inner_nodes"]) add(n, true);
  for (const auto& entry : dump["lane"]) state.lane.push_back({entry["high"], entry["leaf"]});
  return state;
}

/// A tree, its recorder and all that was recorded so far.
struct traced_run {
  std::unique_ptr<explorer::live_tree> tree;
  trace_recorder recorder;
  recorded_trace trace;
  std::vector<std::pair<std::uint64_t, trace_state>> seen;  ///< dumps, and the position at which they were made

  explicit traced_run(const traced_shape& shape, std::vector<std::uint64_t> keys = {}, std::uint64_t room = 1u << 20,
                      const device& dev = device::cpu(1))
      : tree(explorer::make_live_tree(dev, {"blink", shape.protocol, shape.upper, shape.slots, std::move(keys)})),
        recorder(dev, room) {
    trace.header = tree->header();
    trace.start = tree->state();
    look();
  }
  explorer::live_outcome run(trace_op op, const std::vector<std::uint64_t>& keys, unsigned workers = 1,
                             std::uint64_t to = 0) {
    const auto outcome = tree->run({op, keys, to, workers}, recorder.ring());
    append(trace, recorder.take());
    trace.lost = recorder.lost();
    look();
    return outcome;
  }
  void maintain() {
    ASSERT_TRUE(tree->maintain());
    append_state(trace, tree->state());
    look();
  }
  recorded_trace& finish() {
    trace.final = tree->state();
    return trace;
  }

 private:
  void look() { seen.emplace_back(trace.events.size(), state_of_dump(tree->dump())); }
};

/// Forwards past every dump, back past every dump, and to the middle again.
inline void expect_rebuilt(const traced_run& run) {
  ASSERT_EQ(run.trace.lost, 0u);
  trace_replay replay(run.trace);
  for (const auto& [position, dumped] : run.seen) {
    while (replay.position() < position) replay.step();
    ASSERT_TRUE(replay.state() == dumped) << "forwards, at position " << position;
  }
  for (auto at = run.seen.rbegin(); at != run.seen.rend(); ++at) {
    while (replay.position() > at->first) replay.step_back();
    ASSERT_TRUE(replay.state() == at->second) << "backwards, at position " << at->first;
  }
  ASSERT_TRUE(replay.state() == run.trace.start);
  const auto& middle = run.seen[run.seen.size() / 2];
  replay.go(run.trace.events.size());
  replay.go(middle.first);
  ASSERT_TRUE(replay.state() == middle.second);
}

}  // namespace espalier::test
