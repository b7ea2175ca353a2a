// pointer_art_test.cpp - the radix tree of pointers that stands beside ours, against std::map: every size of node, long
// paths, keys that share much. radix_bench_test.cpp asks it, and the packed one, for every data set.
#include "bench/peers/pointer_art.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/peers/pointer_art.cpp"  // NOLINT: this executable has nothing of bench/ but headers
#include "espalier/core/error.hpp"

namespace espalier::bench {
namespace {

using contents = std::map<std::string, std::uint64_t>;

void expect_contents(const pointer_art& art, const contents& all, const std::vector<std::string>& others) {
  EXPECT_EQ(art.size(), all.size());
  for (const auto& [key, value] : all) {
    const std::uint64_t* const found = art.find(key);
    ASSERT_NE(found, nullptr) << key;
    EXPECT_EQ(*found, value) << key;
  }
  for (const auto& key : others) EXPECT_EQ(art.find(key), nullptr) << key;
}

TEST(pointer_art, an_empty_tree_has_no_keys) {
  const pointer_art art;
  EXPECT_EQ(art.find("a"), nullptr);
  EXPECT_EQ(art.find(""), nullptr);
}

TEST(pointer_art, nodes_grow_through_all_sizes) {
  pointer_art art;
  contents all;
  const std::size_t grows_at[] = {5, 17, 49};
  std::vector<unsigned> bytes(256);
  for (unsigned b = 0; b < 256; ++b) bytes[b] = b;
  std::shuffle(bytes.begin(), bytes.end(), std::mt19937(1));
  for (const unsigned b : bytes) {
    std::string key = "path";
    key += static_cast<char>(b);
    EXPECT_TRUE(art.insert(key, b));
    EXPECT_FALSE(art.insert(key, 1000)) << "the first value stays";
    all[key] = b;
    if (all.size() == 1) continue;
    const auto kind = static_cast<std::size_t>(
        std::count_if(std::begin(grows_at), std::end(grows_at), [&](std::size_t n) { return all.size() >= n; }));
    EXPECT_EQ(art.count_nodes().of[kind], 1u) << all.size();
  }
  expect_contents(art, all, {"pat", "path", "pathss", "other", ""});
}

TEST(pointer_art, paths_longer_than_a_node_are_split_anywhere) {
  const std::string path(40, 'x');
  for (std::size_t at = 0; at < path.size(); ++at) {
    pointer_art art;
    contents all{{path + "a", 1}, {path + "b", 2}};
    std::string third = path + "a";
    third[at] = 'y';
    all[third] = 3;
    for (const auto& [key, value] : all) EXPECT_TRUE(art.insert(key, value));
    std::string miss = path + "b";
    miss[(at + 20) % path.size()] = 'z';
    expect_contents(art, all, {miss, path, path + "c"});
  }
}

TEST(pointer_art, a_key_that_begins_another_is_refused) {
  pointer_art art;
  art.insert("abc", 1);
  EXPECT_THROW(art.insert("ab", 2), error);
  EXPECT_THROW(art.insert("abcd", 2), error);
  art.insert("abd", 3);
  EXPECT_THROW(art.insert("ab", 2), error);
  expect_contents(art, {{"abc", 1}, {"abd", 3}}, {"ab", "abcd"});
}

TEST(pointer_art, random_keys_with_few_letters) {
  std::mt19937 random(7);
  pointer_art art;
  contents all;
  std::vector<std::string> others;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    std::string key;
    const std::size_t length = 1 + random() % 30;
    while (key.size() < length) key += static_cast<char>('a' + random() % 3);
    if (random() % 2 == 0) key.insert(key.size() / 2, std::string(12, 'p'));
    key += '$';  // so that none begins another
    if (random() % 4 == 0 && !all.contains(key)) {
      others.push_back(key);
      continue;
    }
    EXPECT_EQ(art.insert(key, i), all.emplace(key, i).second);
  }
  std::erase_if(others, [&](const std::string& key) { return all.contains(key); });
  expect_contents(art, all, others);
}

}  // namespace
}  // namespace espalier::bench
