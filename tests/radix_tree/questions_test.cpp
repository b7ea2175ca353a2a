// questions_test.cpp - every question of a radix tree agrees with std::map, for sets of keys that are hard in different
// ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "radix_tree/subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

/// std::string compares bytes as unsigned ones.
using oracle = std::map<std::string, std::uint64_t>;

class RadixTree : public testing::TestWithParam<const setting*> {
 protected:
  struct subject {
    strings keys;
    oracle expected;
    radix_subject<std::uint64_t> tree;
  };
  static subject make(const strings& keys, const radix_options& options = {}) {
    std::vector<std::uint64_t> values(keys.size());
    oracle expected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      values[i] = i * 1000003 + 1;
      expected[keys[i]] = values[i];
    }
    return {keys, expected, radix_subject<std::uint64_t>(*GetParam(), keys, values, options)};
  }
  static void check(const subject& s, std::size_t questions) {
    const validation v = s.tree.tree().validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(s.tree.size(), s.expected.size());
    const strings asked = questions_about(s.keys, questions);
    check_points(s, asked);
    check_ranks(s, asked);
    check_prefixes(s, asked);
  }
  static void check_points(const subject& s, const strings& asked) {
    std::vector<std::uint64_t> values(asked.size());
    std::vector<std::uint8_t> found(asked.size()), there(asked.size());
    s.tree.find(asked, values, found);
    s.tree.contains(asked, there);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = s.expected.find(asked[i]);
      ASSERT_EQ(found[i] != 0, at != s.expected.end()) << "question " << i << ": " << testing::PrintToString(asked[i]);
      ASSERT_EQ(there[i], found[i]);
      ASSERT_EQ(values[i], at == s.expected.end() ? 0 : at->second);
    }
  }
  static void check_ranks(const subject& s, const strings& asked) {
    std::vector<std::string> sorted;
    for (const auto& [key, value] : s.expected) sorted.push_back(key);
    const auto below = [&](const std::string& key) {
      return static_cast<std::uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin());
    };
    const auto at_most = [&](const std::string& key) {
      return static_cast<std::uint64_t>(std::upper_bound(sorted.begin(), sorted.end(), key) - sorted.begin());
    };
    std::vector<std::uint64_t> lower(asked.size()), upper(asked.size()), counts(asked.size());
    s.tree.rank(asked, lower);
    s.tree.rank(asked, upper, bound_type::upper);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(lower[i], below(asked[i])) << "question " << i << ": " << testing::PrintToString(asked[i]);
      ASSERT_EQ(upper[i], at_most(asked[i])) << "question " << i << ": " << testing::PrintToString(asked[i]);
    }
    strings hi(asked.rbegin(), asked.rend());
    for (const interval ends : {interval::closed, interval::right_open, interval::left_open, interval::open}) {
      s.tree.count(asked, hi, counts, {ends});
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const bool open_below = ends == interval::left_open || ends == interval::open;
        const bool open_above = ends == interval::right_open || ends == interval::open;
        const std::uint64_t begin = open_below ? at_most(asked[i]) : below(asked[i]);
        const std::uint64_t end = open_above ? below(hi[i]) : at_most(hi[i]);
        ASSERT_EQ(counts[i], end > begin ? end - begin : 0) << "range " << i;
      }
    }
  }
  static void check_prefixes(const subject& s, const strings& asked) {
    std::vector<std::uint64_t> counts(asked.size()), values(asked.size());
    std::vector<std::uint32_t> lengths(asked.size());
    std::vector<std::uint8_t> found(asked.size());
    s.tree.count_prefix(asked, counts);
    s.tree.longest_prefix(asked, lengths, values, found);
    std::set<std::size_t> key_lengths;
    strings sorted;
    for (const auto& [key, value] : s.expected) {
      key_lengths.insert(key.size());
      sorted.push_back(key);
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto from = std::lower_bound(sorted.begin(), sorted.end(), asked[i]);
      const auto to = std::partition_point(from, sorted.end(), [&](const auto& k) { return k.starts_with(asked[i]); });
      ASSERT_EQ(counts[i], static_cast<std::uint64_t>(to - from))
          << "prefix " << i << ": " << testing::PrintToString(asked[i]);
      auto longest = s.expected.end();
      for (const std::size_t length : key_lengths) {
        if (length > asked[i].size()) break;
        const auto at = s.expected.find(asked[i].substr(0, length));
        if (at != s.expected.end()) longest = at;
      }
      ASSERT_EQ(found[i] != 0, longest != s.expected.end()) << "longest prefix " << i;
      ASSERT_EQ(lengths[i], longest == s.expected.end() ? 0 : longest->first.size());
      ASSERT_EQ(values[i], longest == s.expected.end() ? 0 : longest->second);
    }
  }
};

TEST_P(RadixTree, SmallSetsOfEveryFamilyAgree) {
  for (const byte_family f : all_byte_families) {
    for (const std::size_t n : {0u, 1u, 2u, 3u, 5u, 17u, 49u, 100u, 600u}) {
      SCOPED_TRACE(std::string(to_string(f)) + " x " + std::to_string(n));
      strings keys = byte_keys_of(f, n);
      if (keys.size() > n && n < 100) keys.resize(n);
      check(make(keys), 200);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTree, SmallTablesOfEveryWidthAgree) {
  for (const byte_family f :
       {byte_family::random_lengths, byte_family::few_bytes, byte_family::urls, byte_family::two_bytes}) {
    const strings keys = byte_keys_of(f, 900);
    for (const unsigned bits : {0u, 1u, 3u, 7u, 8u, 9u, 12u, 16u, 17u}) {
      SCOPED_TRACE(std::string(to_string(f)) + " with " + std::to_string(bits) + " bits");
      radix_options options;
      options.table_bits = bits;
      const subject s = make(keys, options);
      ASSERT_EQ(s.tree.tree().stats().table_bits, bits);
      check(s, 300);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTree, LargeSetsOfEveryFamilyAgree) {
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    check(make(byte_keys_of(f, less_work > 1 ? 2000 : 20000)), 3000 / less_work);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RadixTree, SmallNodesHaveTheSmallestKindThatHoldsTheirChildren) {
  for (const unsigned children : {2u, 4u, 5u, 16u, 17u, 48u, 49u, 256u}) {
    for (const bool with_end : {false, true}) {
      SCOPED_TRACE(std::to_string(children) + (with_end ? " and an end" : ""));
      strings keys;
      if (with_end) keys.emplace_back();
      for (unsigned c = 0; c < children; ++c) keys.push_back(std::string(1, static_cast<char>(c)));
      const subject s = make(keys);
      const radix_stats stats = s.tree.tree().stats();
      const unsigned kind = children <= 4 ? 0 : children <= 16 ? 1 : children <= 48 ? 2 : 3;
      for (unsigned k = 0; k < 4; ++k) ASSERT_EQ(stats.nodes[k], k == kind ? 1u : 0u) << "kind " << k;
      check(s, 300);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTree, SmallSetsOfOneLengthKeepNoOrder) {
  for (const std::size_t length : {4u, 8u, 16u, 32u, 40u}) {
    random_words random(length);
    std::string bytes = random_bytes(random, 500 * length);
    strings keys;
    for (std::size_t i = 0; i < 500; ++i) keys.push_back(bytes.substr(i * length, length));
    lent<char> given(*GetParam(), std::span<const char>(bytes.data(), bytes.size()));
    lent<std::uint8_t> found(*GetParam(), keys.size());
    const auto tree = radix_tree<>::build(byte_string_batch(given.in(), length), {}, GetParam()->dev);
    ASSERT_TRUE(tree.validate().ok) << tree.validate().problem;
    EXPECT_EQ(tree.stats().order_bytes, 0u) << length;
    tree.contains(byte_string_batch(given.in(), length), found.span());
    EXPECT_EQ(std::count(found.get().begin(), found.get().end(), 1), 500);
    tree.contains(keys, found.span());
    EXPECT_EQ(std::count(found.get().begin(), found.get().end(), 1), 500);
  }
}

TEST_P(RadixTree, SmallTablesAreNotLargerThanTheKeys) {
  for (const byte_family f : all_byte_families) {
    const subject s = make(byte_keys_of(f, 5000));
    EXPECT_LE(s.tree.tree().stats().table_bytes, 8 * s.expected.size()) << to_string(f);
  }
}

TEST_P(RadixTree, BadBatchesAreRefusedWithASentence) {
  const std::string bytes = "abcdefg";
  EXPECT_THROW(byte_string_batch(std::span<const char>(bytes.data(), 7), 2), error);
  EXPECT_THROW(byte_string_batch(std::span<const char>(bytes.data(), 7), 0), error);
  EXPECT_THROW(byte_string_batch(std::span<const char>(bytes.data(), 7), std::span<const std::uint64_t>{}), error);
  auto tree =
      radix_tree<std::uint64_t>::build(strings{"a", "b"}, std::vector<std::uint64_t>{1, 2}, {}, GetParam()->dev);
  std::vector<std::uint64_t> values(3);
  EXPECT_THROW(tree.find(strings{"a", "b"}, values), error);
  const std::vector<std::uint64_t> descending{0, 5, 3}, beyond{0, 3, 8};
  for (const auto& offsets : {descending, beyond}) {
    const byte_string_batch keys(std::span<const char>(bytes.data(), 7), offsets);
    EXPECT_THROW((void)radix_tree<>::build(keys, {}, GetParam()->dev), error);
    EXPECT_THROW(tree.erase(keys), error);
  }
  EXPECT_EQ(tree.size(), 2u);
  radix_options options;
  options.table_bits = 27;
  EXPECT_THROW(make({"a", "b"}, options), error);
}

INSTANTIATE_TEST_SUITE_P(, RadixTree, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
