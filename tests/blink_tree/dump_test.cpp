// dump_test.cpp - a dump is JSON, or a Graphviz graph, of all that is in the tree.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

/// All numbers in arrays called "keys", wherever they are.
void collect_keys(const nlohmann::json& at, std::multiset<std::int64_t>& keys) {
  if (at.is_object()) {
    for (const auto& [name, value] : at.items()) {
      if (name == "keys" && value.is_array()) {
        for (const auto& key : value) keys.insert(key.get<std::int64_t>());
      } else {
        collect_keys(value, keys);
      }
    }
  } else if (at.is_array()) {
    for (const auto& value : at) collect_keys(value, keys);
  }
}

template <class Policy>
void check_dumps(const setting& dev, std::size_t n) {
  SCOPED_TRACE(std::to_string(n) + " keys");
  blink_subject<std::int32_t, std::uint32_t, Policy> s(dev);
  array<std::int32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = 7 * static_cast<std::int32_t>(i) - 700;
  s.insert(keys);
  const nlohmann::json json = nlohmann::json::parse(s.tree().dump_json());
  std::multiset<std::int64_t> found;
  collect_keys(json, found);
  for (const std::int32_t key : keys) ASSERT_EQ(found.count(key) != 0, true) << "key " << key << " is not in the dump";
  const std::string graph = s.tree().dump_graphviz();
  EXPECT_EQ(graph.find("digraph"), 0u) << graph.substr(0, 80);
  EXPECT_NE(graph.rfind('}'), std::string::npos);
  for (std::size_t i = 0; i < n; i += 50) {
    EXPECT_NE(graph.find(std::to_string(keys[i])), std::string::npos) << "key " << keys[i] << " is not in the graph";
  }
}

class BlinkTreeDump : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeDump, SmallListsEveryKey) {
  for (const std::size_t n : {0u, 1u, 13u, 300u}) {
    check_dumps<blink_policy<>>(*GetParam(), n);
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeDump, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
