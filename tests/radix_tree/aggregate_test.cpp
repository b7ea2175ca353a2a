// aggregate_test.cpp - sum, min, max and avg of ranges and prefixes agree with a walk along std::map, for every kind of
// number, with and without summaries of blocks, before and after writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "espalier/core/byte_key.hpp"
#include "radix_tree/subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr interval all_ends[] = {interval::closed, interval::right_open, interval::left_open, interval::open};

/// Extremes come often.
template <class Value>
Value any_value(random_words& random) {
  using limits = std::numeric_limits<Value>;
  switch (random.below(8)) {
    case 0:
      return limits::lowest();
    case 1:
      return limits::max();
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(static_cast<double>(random.below(1u << 20)) / 64 - 8000);  // sums of these are exact
  } else {
    return static_cast<Value>(random.below(~std::uint64_t{0}));
  }
}

template <class Value>
struct totals {
  using sum_type = sum_of<Value>;
  sum_type sum{};
  Value least{}, most{};
  std::uint64_t n = 0;

  template <class Iterator>
  totals(Iterator from, Iterator to) {
    for (; from != to; ++from, ++n) {
      const Value v = from->second;
      sum += static_cast<sum_type>(v);
      least = n == 0 ? v : std::min(least, v);
      most = n == 0 ? v : std::max(most, v);
    }
  }
};

class RadixTreeAggregates : public testing::TestWithParam<const setting*> {
 protected:
  template <class Value>
  using content = std::map<std::string, Value>;

  template <class Value>
  static content<Value> map_of(const strings& keys, const std::vector<Value>& values) {
    content<Value> all;
    for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i]] = values[i];
    return all;
  }
  template <class Value>
  static std::vector<Value> values_for(const strings& keys, std::uint64_t seed) {
    random_words random(seed);
    std::vector<Value> values(keys.size());
    for (Value& v : values) v = any_value<Value>(random);
    return values;
  }

  template <class Value, class Answers>
  static void expect(const char* what, const std::vector<totals<Value>>& slices, Answers answers) {
    std::vector<sum_of<Value>> sums;
    std::vector<Value> least, most;
    std::vector<double> means;
    std::vector<std::uint8_t> has_least, has_most;
    answers(sums, least, has_least, most, has_most, means);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const totals<Value>& t = slices[i];
      if constexpr (std::is_floating_point_v<Value>) {
        ASSERT_NEAR(sums[i], t.sum, 1e-9 * std::abs(t.sum) + 1e-300) << what << " " << i << " of " << t.n;
      } else {
        ASSERT_TRUE(sums[i] == t.sum) << what << " " << i << " of " << t.n;
      }
      ASSERT_EQ(has_least[i], t.n == 0 ? 0 : 1) << what << " " << i;
      ASSERT_EQ(has_most[i], has_least[i]);
      ASSERT_EQ(least[i], t.least) << what << " " << i << " of " << t.n;
      ASSERT_EQ(most[i], t.most) << what << " " << i << " of " << t.n;
      if (t.n == 0) {
        ASSERT_TRUE(std::isnan(means[i])) << what << " " << i;
      } else {
        const double mean = static_cast<double>(t.sum) / static_cast<double>(t.n);
        ASSERT_NEAR(means[i], mean, 1e-9 * std::abs(mean) + 1e-6) << what << " " << i;
      }
    }
  }

  template <class Value>
  static void check(const radix_subject<Value>& tree, const content<Value>& all, const strings& lo, const strings& hi) {
    for (const interval e : all_ends) {
      const bool open_below = e == interval::left_open || e == interval::open;
      const bool open_above = e == interval::right_open || e == interval::open;
      std::vector<totals<Value>> slices;
      for (std::size_t i = 0; i < lo.size(); ++i) {
        const auto from = open_below ? all.upper_bound(lo[i]) : all.lower_bound(lo[i]);
        const auto to = open_above ? all.lower_bound(hi[i]) : all.upper_bound(hi[i]);
        const bool empty = from == all.end() || lo[i] > hi[i] || (lo[i] == hi[i] && e != interval::closed);
        slices.emplace_back(from, empty ? from : to);
      }
      expect<Value>("range", slices, [&](auto& sums, auto& least, auto& f, auto& most, auto& g, auto& means) {
        tree.sum(lo, hi, sums, e);
        tree.min(lo, hi, least, f, e);
        tree.max(lo, hi, most, g, e);
        tree.avg(lo, hi, means, e);
      });
      if (HasFatalFailure()) return;
    }
    std::vector<totals<Value>> slices;
    for (const std::string& p : lo) {
      const auto from = all.lower_bound(p);
      auto to = from;
      while (to != all.end() && to->first.starts_with(p)) ++to;
      slices.emplace_back(from, to);
    }
    expect<Value>("prefix", slices, [&](auto& sums, auto& least, auto& f, auto& most, auto& g, auto& means) {
      tree.sum_prefix(lo, sums);
      tree.min_prefix(lo, least, f);
      tree.max_prefix(lo, most, g);
      tree.avg_prefix(lo, means);
    });
  }

  template <class Value>
  static void check_family(byte_family f, std::size_t n, calls how = calls::wait) {
    SCOPED_TRACE(std::string(to_string(f)) + " x " + std::to_string(n));
    const strings keys = byte_keys_of(f, n), asked = questions_about(keys, 60);
    const strings hi(asked.rbegin(), asked.rend());
    const auto values = values_for<Value>(keys, n);
    const content<Value> all = map_of(keys, values);
    check(radix_subject<Value>(*GetParam(), keys, values, {}, how), all, asked, hi);
  }
};

TEST_P(RadixTreeAggregates, SmallSetsOfEveryFamilyAgree) {
  for (const byte_family f : all_byte_families) {
    check_family<std::int64_t>(f, 1);
    check_family<std::uint32_t>(f, 400);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RadixTreeAggregates, SmallSetsOfEveryKindOfNumberAgree) {
  for (const std::size_t n : {0u, 31u, 32u, 33u, 500u}) {
    for (const calls how : {calls::wait, calls::enqueue}) {
      check_family<std::uint8_t>(byte_family::random_lengths, n, how);
      check_family<std::int8_t>(byte_family::random_lengths, n, how);
      check_family<std::uint16_t>(byte_family::fixed8, n, how);
      check_family<std::int16_t>(byte_family::urls, n, how);
      check_family<std::uint32_t>(byte_family::uuids, n, how);
      check_family<std::int32_t>(byte_family::random_lengths, n, how);
      check_family<std::uint64_t>(byte_family::random_lengths, n, how);
      check_family<std::int64_t>(byte_family::fixed16, n, how);
      if (HasFatalFailure()) return;
    }
  }
}

/// Without extremes, which would leave nothing of the rest.
TEST_P(RadixTreeAggregates, SmallSetsOfFloatsAgree) {
  const auto check_floats = [](auto example) {
    using value = decltype(example);
    const strings keys = byte_keys_of(byte_family::random_lengths, 800), asked = questions_about(keys, 80);
    const strings hi(asked.rbegin(), asked.rend());
    random_words random(4);
    std::vector<value> values(keys.size());
    for (value& v : values) v = static_cast<value>(static_cast<double>(random.below(1u << 20)) / 64 - 8000);
    check(radix_subject<value>(*GetParam(), keys, values), map_of(keys, values), asked, hi);
  };
  check_floats(float{});
  check_floats(double{});
}

TEST_P(RadixTreeAggregates, SmallNotANumberCountsAsTheLargest) {
  const strings keys{"a", "b", "c"};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const radix_subject<double> tree(*GetParam(), keys, {2, nan, -1});
  std::vector<double> least, most, sums;
  std::vector<std::uint8_t> found;
  tree.min({"a", "b"}, {"c", "b"}, least, found, interval::closed);
  tree.max({"a", "c"}, {"c", "c"}, most, found, interval::closed);
  tree.sum({"a", "c"}, {"c", "c"}, sums, interval::closed);
  EXPECT_EQ(least[0], -1);
  EXPECT_TRUE(std::isnan(least[1]) && std::isnan(most[0]) && std::isnan(sums[0]));
  EXPECT_EQ(most[1], -1);
  EXPECT_EQ(sums[1], -1);
}

/// Blocks, families of blocks and families of these begin and end everywhere.
TEST_P(RadixTreeAggregates, LargeRangesOfEveryLengthAgree) {
  constexpr std::size_t n = 40000 / less_work;
  strings keys;
  for (std::size_t i = 0; i < n; ++i) keys.push_back(byte_key(static_cast<std::uint32_t>(i)));
  std::vector<std::int64_t> values = values_for<std::int64_t>(keys, 5);
  const radix_subject<std::int64_t> tree(*GetParam(), keys, values);
  random_words random(6);
  strings lo, hi;
  std::vector<int128> expected;
  std::vector<int128> sums_before(n + 1);
  for (std::size_t i = 0; i < n; ++i) sums_before[i + 1] = sums_before[i] + values[i];
  for (std::size_t length = 1; length < n; length += 1 + length / 8) {
    for (unsigned turn = 0; turn < 4; ++turn) {
      const std::size_t from = random.below(n - length);
      lo.push_back(keys[from]);
      hi.push_back(keys[from + length]);
      expected.push_back(sums_before[from + length] - sums_before[from]);
    }
  }
  std::vector<int128> sums;
  tree.sum(lo, hi, sums, interval::right_open);
  for (std::size_t i = 0; i < lo.size(); ++i) ASSERT_TRUE(sums[i] == expected[i]) << "range " << i;
  std::vector<std::int64_t> least, most;
  std::vector<std::uint8_t> found;
  tree.min(lo, hi, least, found, interval::right_open);
  tree.max(lo, hi, most, found, interval::right_open);
  for (std::size_t i = 0; i < lo.size(); ++i) {
    const auto number = [](const std::string& k) { return std::get<0>(byte_key_columns<std::uint32_t>(k)); };
    const auto [a, b] = std::minmax_element(values.begin() + number(lo[i]), values.begin() + number(hi[i]));
    ASSERT_EQ(least[i], *a) << "range " << i;
    ASSERT_EQ(most[i], *b) << "range " << i;
  }
}

TEST_P(RadixTreeAggregates, SmallSummariesFollowEveryWrite) {
  const strings keys = byte_keys_of(byte_family::random_lengths, 600), near = questions_about(keys, 100);
  auto values = values_for<std::int32_t>(keys, 7);
  content<std::int32_t> all = map_of(keys, values);
  radix_subject<std::int32_t> tree(*GetParam(), keys, values);
  const strings lo = questions_about(keys, 30, 3), hi = questions_about(keys, 30, 4);
  for (unsigned round = 0; round < 3; ++round) {
    for (const radix_op op : {radix_op::update, radix_op::erase, radix_op::insert, radix_op::insert_or_assign}) {
      for (const radix_path path : {radix_path::in_place, radix_path::rebuild}) {
        const auto brought = values_for<std::int32_t>(near, 100 * round + static_cast<unsigned>(op));
        std::vector<std::uint8_t> done;
        tree.write(op, near, brought, done, path);
        for (std::size_t i = 0; i < near.size(); ++i) {
          if (op == radix_op::erase) all.erase(near[i]);
          if (op == radix_op::insert) all.emplace(near[i], brought[i]);
          if (op == radix_op::insert_or_assign || (op == radix_op::update && all.count(near[i]) != 0))
            all[near[i]] = brought[i];
        }
        check(tree, all, lo, hi);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(RadixTreeAggregates, SmallSummariesAreMadeForLongRangesOnly) {
  strings keys;
  for (unsigned i = 0; i < 6400; ++i) keys.push_back(byte_key(i));
  const radix_subject<std::uint32_t> tree(*GetParam(), keys, std::vector<std::uint32_t>(keys.size(), 3));
  std::vector<std::uint64_t> sums;
  const bool walks = GetParam()->dev.kind() == device_kind::cpu;
  for (unsigned turn = 0; turn < 4; ++turn) {  // 400 elements are a sixteenth
    tree.sum({keys[100]}, {keys[199]}, sums, interval::closed);
    EXPECT_EQ(sums[0], 300u);
    EXPECT_EQ(tree.tree().stats().summary_bytes == 0, walks) << "turn " << turn;
  }
  tree.sum({keys[100]}, {keys[199]}, sums, interval::closed);
  EXPECT_EQ(sums[0], 300u);
  const std::size_t bytes = tree.tree().stats().summary_bytes;
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, keys.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeAggregates, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
