// in_place_test.cpp - many threads change one radix tree: batches of which all keys meet at a few nodes, so that nodes are
// replaced while others are on their way through them. For ThreadSanitizer, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "espalier/radix_tree/radix_tree.hpp"
#include "radix_tree/families.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr unsigned threads = 4;  // more than small machines have cores: preempted in the middle of a change

void expect_keys(const radix_tree<std::uint32_t>& tree, const std::set<std::string>& expected) {
  const validation v = tree.validate();
  ASSERT_TRUE(v.ok) << v.problem;
  const strings keys = tree.prefix(strings{""}).keys();
  ASSERT_TRUE(std::equal(keys.begin(), keys.end(), expected.begin(), expected.end()));
}

/// All keys in, in pieces; then out again, in others.
void in_and_out(const strings& keys) {
  auto tree = radix_tree<std::uint32_t>::build(strings{}, std::vector<std::uint32_t>{}, {}, device::cpu(threads));
  std::set<std::string> expected;
  const std::size_t piece = keys.size() / 2 + 1;
  for (std::size_t first = 0; first < keys.size(); first += piece) {
    const strings part(keys.begin() + static_cast<std::ptrdiff_t>(first),
                       keys.begin() + static_cast<std::ptrdiff_t>(std::min(first + piece, keys.size())));
    tree.insert(part, std::vector<std::uint32_t>(part.size(), 1), {}, radix_path::in_place);
    expected.insert(part.begin(), part.end());
    expect_keys(tree, expected);
  }
  strings gone;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 4 != 0) gone.push_back(keys[i]);
  }
  tree.erase(gone, {}, radix_path::in_place);
  for (const std::string& k : gone) expected.erase(k);
  expect_keys(tree, expected);
  tree.erase(keys, {}, radix_path::in_place);
  expect_keys(tree, {});
}

TEST(RadixTreeInPlace, OneNodeThroughEveryKind) {
  for (std::uint64_t round = 0; round < 12 / less_work + 2; ++round) {
    strings keys;
    for (unsigned b = 0; b < 256; ++b) {
      for (unsigned c = 0; c < 8; ++c) keys.push_back({static_cast<char>(b), static_cast<char>(c * 31)});
    }
    random_words random(round);
    shuffle(keys, random);
    in_and_out(keys);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(RadixTreeInPlace, PathsSplitByManyAtOnce) {
  for (std::uint64_t round = 0; round < 12 / less_work + 2; ++round) {
    strings keys;
    const std::string path(200, 'p');
    for (std::size_t at = 0; at < path.size(); ++at) {
      keys.push_back(path.substr(0, at));
      keys.push_back(path.substr(0, at) + "x");
      keys.push_back(path.substr(0, at) + "yy");
    }
    random_words random(round);
    shuffle(keys, random);
    in_and_out(keys);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(RadixTreeInPlace, EveryFamily) {
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    in_and_out(byte_keys_of(f, 2000 / less_work));
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace espalier::test
