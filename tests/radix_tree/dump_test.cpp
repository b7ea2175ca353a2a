// dump_test.cpp - a dump is JSON, or a Graphviz graph, of all that is in the tree: whoever follows it finds every key.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "radix_tree/model.hpp"

namespace espalier::test {
namespace {

using dumped = nlohmann::json;

/// The bytes of a text in which some stand as \xNN.
std::string dumped_bytes(const dumped& text) {
  const auto all = text.get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto c = static_cast<unsigned char>(all[i]);
    EXPECT_TRUE(c >= 0x20 && c <= 0x7e) << "a byte that cannot be read: " << static_cast<unsigned>(c);
    if (all[i] == '\\') {
      EXPECT_EQ(all.at(i + 1), 'x');
      bytes += static_cast<char>(std::stoi(all.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      bytes += all[i];
    }
  }
  return bytes;
}

/// All keys that are found from the root down, by prefixes and bytes alone, in the order of the children.
class dump_walk {
 public:
  explicit dump_walk(const std::string& text) : dump_(dumped::parse(text)) {
    for (const char* part : {"leaves", "inner_nodes"}) {
      for (const auto& n : dump_[part]) EXPECT_TRUE(nodes_.emplace(n["name"], &n).second) << "twice: " << n["name"];
    }
    if (!dump_["root"]["child"].is_null()) follow(dump_["root"]["child"], {});
    EXPECT_EQ(reached_, nodes_.size()) << "some nodes are not reached, or twice";
    EXPECT_EQ(dump_["size"], keys.size());
  }
  strings keys;
  std::map<std::string, unsigned> kinds;

 private:
  /// Not recursive: a chain is as deep as its longest key.
  void follow(const std::string& first, const std::string& way) {
    std::vector<std::pair<std::string, std::string>> open{{first, way}};
    while (!open.empty()) {
      const auto [name, told] = open.back();
      open.pop_back();
      ASSERT_TRUE(nodes_.contains(name)) << name;
      const dumped& n = *nodes_.at(name);
      ++reached_;
      const std::string here = told + dumped_bytes(n["prefix"]);
      if (n.contains("key")) {
        EXPECT_EQ(dumped_bytes(n["key"]), here);
        keys.push_back(here);
        continue;
      }
      EXPECT_EQ(n["at"], here.size());
      check_node(n);
      for (std::size_t i = n["keys"].size(); i-- > 0;)
        open.emplace_back(n["children"][i], here + dumped_bytes(n["keys"][i]));
      if (!n["end"].is_null()) open.emplace_back(n["end"], here);
    }
  }
  void check_node(const dumped& n) {
    const auto kind = n["kind"].get<std::string>();
    ++kinds[kind];
    const std::size_t room = std::stoul(kind.substr(4));
    EXPECT_LE(n["keys"].size(), room);
    EXPECT_EQ(n["children"].size(), n["keys"].size());
    EXPECT_GE(n["keys"].size() + (n["end"].is_null() ? 0 : 1), 2u);
    for (const auto& key : n["keys"]) EXPECT_EQ(dumped_bytes(key).size(), 1u);
  }

  dumped dump_;
  std::map<std::string, const dumped*> nodes_;
  std::size_t reached_ = 0;
};

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

void check_radix_dump(const radix_subject<std::uint64_t>& s, const radix_model& m) {
  const dump_walk walk(s.tree().dump_json());
  strings expected;
  for (const auto& [key, value] : m.all) expected.push_back(key);
  ASSERT_EQ(walk.keys, expected);
  const radix_stats stats = s.tree().stats();
  std::size_t nodes = 0, k = 0;
  for (const char* kind : {"node4", "node16", "node48", "node256"}) {
    EXPECT_EQ(walk.kinds.contains(kind) ? walk.kinds.at(kind) : 0, stats.nodes[k]) << kind;
    nodes += stats.nodes[k++];
  }
  const std::string graph = s.tree().dump_graphviz();
  EXPECT_EQ(graph.find("digraph radix_tree {"), 0u);
  EXPECT_EQ(graph.substr(graph.size() - 2), "}\n");
  EXPECT_EQ(times(graph, " -> "), expected.empty() ? 0 : nodes + expected.size() - 1) << "each has one parent";
}

class RadixTreeDump : public testing::TestWithParam<const setting*> {};

TEST_P(RadixTreeDump, LeadsToEveryKeyWhateverWasWritten) {
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    const strings keys = byte_keys_of(f, 200);
    std::vector<std::uint64_t> values(keys.size(), 1);
    radix_subject<std::uint64_t> s(*GetParam(), keys, values);
    radix_model m;
    (void)m.apply(radix_op::insert, keys, values);
    check_radix_dump(s, m);
    for (const radix_op op : {radix_op::erase, radix_op::insert}) {
      const strings some = questions_about(keys, 80, 5);
      values.assign(some.size(), 2);
      std::vector<std::uint8_t> done(some.size());
      s.write(op, some, values, done, radix_path::in_place);
      (void)m.apply(op, some, values);
      check_radix_dump(s, m);
    }
  }
}

TEST_P(RadixTreeDump, OfAnEmptyTreeAndOfOneKey) {
  radix_model m;
  check_radix_dump(radix_subject<std::uint64_t>(*GetParam(), {}, {}), m);
  m.all[std::string("a\0\"\\\n\x7f\xff", 7)] = 1;
  check_radix_dump(radix_subject<std::uint64_t>(*GetParam(), {m.all.begin()->first}, {1}), m);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeDump, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
