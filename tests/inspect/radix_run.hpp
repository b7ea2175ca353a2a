// radix_run.hpp - radix trees that record what they do, for the tests of traces.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "espalier/inspect/replay.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::test {

using number_list = std::vector<std::uint64_t>;

/// The bytes of a text in which some stand as \xNN.
inline std::string bytes_of_text(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    bytes += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
    i += 3;
  }
  return bytes;
}
inline std::uint64_t number_of_bytes(const std::string& bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

/// What a dump says, as a trace would: by way of its text, not of the code that makes states.
inline trace_state state_of_radix_dump(const std::string& text) {
  const nlohmann::json dump = nlohmann::json::parse(text);
  trace_state state;
  const auto add = [&](const nlohmann::json& n) -> trace_node_state& {
    trace_node_state& to = state.nodes[trace_name::of(n["name"].get<std::string>()).value()];
    for (const char c : bytes_of_text(n["prefix"])) {
      const auto byte = static_cast<unsigned char>(c);
      to.prefix += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    }
    return to;
  };
  for (const auto& n : dump["leaves"]) {
    trace_node_state& leaf = add(n);
    leaf.kind = trace_node_kind::leaf;
    leaf.keys = {number_of_bytes(bytes_of_text(n["key"]))};
  }
  const std::map<std::string, trace_node_kind> kinds{{"node4", trace_node_kind::node4},
                                                     {"node16", trace_node_kind::node16},
                                                     {"node48", trace_node_kind::node48},
                                                     {"node256", trace_node_kind::node256}};
  for (const auto& n : dump["inner_nodes"]) {
    trace_node_state& node = add(n);
    node.kind = kinds.at(n["kind"]);
    node.level = 8 - n["at"].get<std::uint32_t>();
    node.version = n["version"];
    for (const auto& key : n["keys"]) node.keys.push_back(number_of_bytes(bytes_of_text(key)));
    for (const auto& child : n["children"]) node.children.push_back(trace_name::of(child.get<std::string>()).value());
  }
  trace_node_state& root = state.nodes[state.root];
  root.kind = trace_node_kind::root;
  root.level = 9;
  root.version = dump["root"]["version"];
  if (!dump["root"]["child"].is_null()) {
    root.keys = {0};
    root.children = {trace_name::of(dump["root"]["child"].get<std::string>()).value()};
  }
  return state;
}

/// A radix tree, all that its teams told, and what dumps said after each call.
struct radix_run {
  std::unique_ptr<explorer::live_tree> tree;
  trace_recorder recorder;
  recorded_trace trace;
  std::vector<std::pair<std::uint64_t, trace_state>> seen;
  std::set<std::uint64_t> keys;

  explicit radix_run(const number_list& first = {}, const device& dev = device::cpu(1))
      : tree(explorer::make_live_tree(dev, {"radix", "", "", 0, first})),
        recorder(dev, std::uint64_t{1} << 20),
        keys(first.begin(), first.end()) {
    trace.header = tree->header();
    trace.start = tree->state();
    seen.emplace_back(0, state_of_radix_dump(tree->dump()));
  }
  explorer::live_outcome run(trace_op op, const number_list& some, unsigned workers = 1) {
    const auto outcome = tree->run({op, some, 0, workers}, recorder.ring());
    append(trace, recorder.take());
    trace.lost = recorder.lost();
    seen.emplace_back(trace.events.size(), state_of_radix_dump(tree->dump()));
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
