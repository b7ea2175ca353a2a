// list_test.cpp - elements by range, prefix and neighbourhood: keys and values, exact and compact.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "radix_tree/subject.hpp"

namespace espalier::test {
namespace {

class RadixTreeLists : public testing::TestWithParam<const setting*> {
 protected:
  using value = std::uint32_t;
  using oracle = std::map<std::string, value>;
  using iterator = oracle::const_iterator;

  static void expect_list(const char* what, const listed<value>& got,
                          const std::vector<std::pair<iterator, iterator>>& slices, std::uint64_t limit) {
    std::vector<std::uint64_t> offsets{0};
    strings keys;
    std::vector<value> values;
    for (auto [from, to] : slices) {
      for (std::uint64_t n = 0; from != to && n < limit; ++from, ++n) {
        keys.push_back(from->first);
        values.push_back(from->second);
      }
      offsets.push_back(keys.size());
    }
    ASSERT_EQ(got.offsets, offsets) << what;
    ASSERT_EQ(got.keys, keys) << what;
    ASSERT_EQ(got.values, values) << what;
  }
  static void check(byte_family f, std::size_t n) {
    SCOPED_TRACE(std::string(to_string(f)) + " x " + std::to_string(n));
    const strings keys = byte_keys_of(f, n);
    std::vector<value> values(keys.size());
    oracle all;
    for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i]] = values[i] = static_cast<value>(7 * i + 3);
    const radix_subject<value> tree(*GetParam(), keys, values);
    const strings asked = questions_about(keys, 120);
    const strings hi(asked.rbegin(), asked.rend());
    for (const std::uint64_t limit : {~std::uint64_t{0}, std::uint64_t{3}}) {
      std::vector<std::pair<iterator, iterator>> ranges, prefixes, after, next, before;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto from = all.lower_bound(asked[i]);
        const auto to = all.upper_bound(hi[i]);
        ranges.emplace_back(asked[i] <= hi[i] ? from : to, to);
        auto end = from;
        while (end != all.end() && end->first.starts_with(asked[i])) ++end;
        prefixes.emplace_back(from, end);
        after.emplace_back(from, from == all.end() ? from : std::next(from));
        const auto above = all.upper_bound(asked[i]);
        next.emplace_back(above, above == all.end() ? above : std::next(above));
        before.emplace_back(from == all.begin() ? from : std::prev(from), from);
      }
      expect_list("range", tree.range(asked, hi, {interval::closed, limit}), ranges, limit);
      expect_list("prefix", tree.prefix(asked, {interval::closed, limit}), prefixes, limit);
      expect_list("lower_bound", tree.lower_bound(asked), after, limit);
      expect_list("successor", tree.successor(asked), next, limit);
      expect_list("predecessor", tree.predecessor(asked), before, limit);
    }
  }
};

TEST_P(RadixTreeLists, SmallSetsAgree) {
  for (const byte_family f : all_byte_families) {
    check(f, 1);
    check(f, 300);
    if (HasFatalFailure()) return;
  }
}

// After a write the order of all leaves is not known; neighbours of a few keys are found all the same, by a walk each.
TEST_P(RadixTreeLists, SmallNumbersOfNeighboursAfterWritesAgree) {
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    const strings keys = byte_keys_of(f, 600);
    const std::size_t half = keys.size() / 2;
    oracle all;
    std::vector<value> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = static_cast<value>(i);
    const auto part = [&](std::size_t from, std::size_t to) {
      const auto at = keys.begin();
      return strings(at + static_cast<std::ptrdiff_t>(from), at + static_cast<std::ptrdiff_t>(to));
    };
    const auto values_of = [&](std::size_t from, std::size_t to) {
      const auto at = values.begin();
      return std::vector<value>(at + static_cast<std::ptrdiff_t>(from), at + static_cast<std::ptrdiff_t>(to));
    };
    radix_subject<value> tree(*GetParam(), part(0, half), values_of(0, half));
    for (std::size_t i = 0; i < half; ++i) all.insert_or_assign(keys[i], values[i]);
    for (std::size_t from = half; from < keys.size(); from += 60) {
      const std::size_t to = std::min(from + 60, keys.size());
      std::vector<std::uint8_t> done(to - from);
      tree.write(radix_op::insert_or_assign, part(from, to), values_of(from, to), done, radix_path::in_place);
      for (std::size_t i = from; i < to; ++i) all.insert_or_assign(keys[i], values[i]);
      const strings asked = questions_about(keys, std::min<std::size_t>(24, all.size() / 9));
      std::vector<std::pair<iterator, iterator>> after, next, before;
      for (const std::string& key : asked) {
        const auto at = all.lower_bound(key), above = all.upper_bound(key);
        after.emplace_back(at, at == all.end() ? at : std::next(at));
        next.emplace_back(above, above == all.end() ? above : std::next(above));
        before.emplace_back(at == all.begin() ? at : std::prev(at), at);
      }
      expect_list("lower_bound", tree.lower_bound(asked), after, 1);
      expect_list("successor", tree.successor(asked), next, 1);
      expect_list("predecessor", tree.predecessor(asked), before, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTreeLists, SmallEmptyTreesAndBatchesHaveNothing) {
  const radix_subject<value> tree(*GetParam(), {}, {});
  EXPECT_TRUE(tree.tree().validate().ok);
  EXPECT_EQ(tree.range(strings{"", "a"}, strings{"z", "b"}).offsets, (std::vector<std::uint64_t>{0, 0, 0}));
  EXPECT_EQ(tree.prefix(strings{}).offsets, std::vector<std::uint64_t>{0});
  EXPECT_TRUE(tree.successor(strings{"a"}).keys.empty());
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeLists, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
