// interval_join_test.cpp - points in spans and overlapping spans against loops over all pairs.
#include "espalier/join/interval_join.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "join/join_cases.hpp"

namespace espalier::test {
namespace {

template <class Key>
struct spans_data {
  side_data<Key> lower;
  std::vector<Key> upper;
  std::vector<std::uint8_t> upper_validity;
  bool includes_lower = true, includes_upper = true;

  [[nodiscard]] span_side side() const {
    const join_side s = lower.side();
    const bitmap_view bits = upper_validity.empty() ? bitmap_view{} : bitmap_view{upper_validity.data(), 0};
    return {s.on, column_view(upper, bits), s.by, s.groups, includes_lower, includes_upper};
  }
  [[nodiscard]] bool matches_nothing(std::size_t i) const {
    if (lower.matches_nothing(i) || upper[i] != upper[i]) return true;
    if (!side().upper.validity[i]) return true;
    return lower.keys[i] > upper[i] || (lower.keys[i] == upper[i] && !(includes_lower && includes_upper));
  }
};

template <class Key>
spans_data<Key> random_spans(std::mt19937_64& random, const side_shape& how) {
  spans_data<Key> out{.lower = random_side<Key>(random, how), .upper = {}, .upper_validity = {}};
  for (const Key from : out.lower.keys) {
    const Key to = random() % 3 == 0 ? random_key<Key>(random, how.spread) : static_cast<Key>(random() % 8);
    out.upper.push_back(random() % 4 == 0 ? from : to);
  }
  if (how.has_nulls) {
    for (std::size_t b = 0; b <= out.upper.size() / 8; ++b) {
      out.upper_validity.push_back(static_cast<std::uint8_t>(random() | random()));
    }
    if constexpr (std::is_floating_point_v<Key>) {
      for (Key& to : out.upper) to = random() % 9 == 0 ? std::numeric_limits<Key>::quiet_NaN() : to;
    }
  }
  out.includes_lower = random() % 2 == 0;
  out.includes_upper = random() % 2 == 0;
  return out;
}

std::vector<std::vector<row_number>> lists_of(const join_pairs& pairs) {
  const auto offsets = pairs.offsets.to_vector();
  const auto rows = pairs.rows.to_vector();
  EXPECT_EQ(offsets.back(), rows.size());
  std::vector<std::vector<row_number>> lists;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lists.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                       rows.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
  }
  return lists;
}

template <class Key>
class IntervalJoin : public ::testing::Test {};
using interval_key_types = ::testing::Types<std::int32_t, std::uint64_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(IntervalJoin, interval_key_types);

TYPED_TEST(IntervalJoin, PointsInSpans) {
  using Key = TypeParam;
  std::mt19937_64 random(31);
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t groups = round % 3 == 0 ? 0u : 4u;
    const auto spans = random_spans<Key>(random, {.rows = random() % 70,
                                                  .groups = groups,
                                                  .has_nulls = round % 2 == 0,
                                                  .order = static_cast<shape>(random() % 5)});
    const auto points = random_side<Key>(random, {.rows = random() % 90,
                                                  .groups = groups,
                                                  .has_nulls = round % 4 == 1,
                                                  .order = static_cast<shape>(random() % 5)});
    std::vector<std::vector<row_number>> expected(spans.upper.size());
    std::vector<std::int16_t> values;
    for (std::size_t j = 0; j < points.keys.size(); ++j) values.push_back(static_cast<std::int16_t>(random()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t j = 0; j < points.keys.size() && !spans.matches_nothing(i); ++j) {
        if (points.matches_nothing(j) || points.code(j) != spans.lower.code(i)) continue;
        const Key p = points.keys[j], from = spans.lower.keys[i], to = spans.upper[i];
        if ((spans.includes_lower ? p >= from : p > from) && (spans.includes_upper ? p <= to : p < to)) {
          expected[i].push_back(static_cast<row_number>(j));
        }
      }
      std::stable_sort(expected[i].begin(), expected[i].end(),
                       [&](row_number a, row_number b) { return points.keys[a] < points.keys[b]; });
    }
    for (const unsigned threads : {1u, 2u}) {
      const prepared_side side = prepared_side::build(points.side(), device::cpu(threads));
      ASSERT_EQ(lists_of(points_in_spans(spans.side(), side)), expected) << "round " << round;
      std::vector<std::uint64_t> counts(expected.size());
      std::vector<std::int64_t> sums(expected.size());
      count_points_in_spans(spans.side(), side, counts);
      const window_index index(side, {column_view(values)}, {window_function::sum});
      const std::vector<window_output> outputs{{window_function::sum, 0, std::span(sums)}};
      span_window_join(spans.side(), index, outputs);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        std::int64_t sum = 0;
        for (const row_number j : expected[i]) sum += values[j];
        ASSERT_EQ(counts[i], expected[i].size());
        ASSERT_EQ(sums[i], sum);
      }
    }
  }
}

TYPED_TEST(IntervalJoin, SpansThatOverlapSpans) {
  using Key = TypeParam;
  std::mt19937_64 random(37);
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t groups = round % 3 == 0 ? 0u : 3u;
    const side_shape how{.rows = random() % 60,
                         .groups = groups,
                         .has_nulls = round % 2 == 0,
                         .order = static_cast<shape>(random() % 5)};
    side_shape right_how = how;
    right_how.rows = round == 3 ? 0 : random() % 700;
    const auto left = random_spans<Key>(random, how), right = random_spans<Key>(random, right_how);
    std::vector<std::int64_t> values;
    std::vector<double> reals;
    for (std::size_t j = 0; j < right.upper.size(); ++j) {
      values.push_back(static_cast<std::int64_t>(random()));
      reals.push_back(static_cast<double>(random() % 1'000));
    }
    std::vector<std::vector<row_number>> expected(left.upper.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t j = 0; j < right.upper.size() && !left.matches_nothing(i); ++j) {
        if (right.matches_nothing(j) || right.lower.code(j) != left.lower.code(i)) continue;
        const bool starts = left.includes_lower && right.includes_upper ? left.lower.keys[i] <= right.upper[j]
                                                                        : left.lower.keys[i] < right.upper[j];
        const bool ends = right.includes_lower && left.includes_upper ? right.lower.keys[j] <= left.upper[i]
                                                                      : right.lower.keys[j] < left.upper[i];
        if (starts && ends) expected[i].push_back(static_cast<row_number>(j));
      }
      std::stable_sort(expected[i].begin(), expected[i].end(),
                       [&](row_number a, row_number b) { return right.lower.keys[a] < right.lower.keys[b]; });
    }
    for (const unsigned threads : {1u, 2u}) {
      const device dev = device::cpu(threads);
      const prepared_spans side = prepared_spans::build(right.side(), column_view(values), dev);
      const prepared_spans real_side = prepared_spans::build(right.side(), column_view(reals), dev);
      if (right.upper.empty() && groups != 0) continue;
      std::vector<std::uint64_t> counts(expected.size());
      std::vector<int128> sums(expected.size());
      std::vector<double> real_sums(expected.size());
      side.count_overlaps(left.side(), counts);
      side.sum_overlaps(left.side(), sums);
      real_side.sum_overlaps(left.side(), real_sums);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        int128 sum = 0;
        double real = 0;
        for (const row_number j : expected[i]) {
          sum += values[j];
          real += reals[j];
        }
        ASSERT_EQ(counts[i], expected[i].size()) << "round " << round << " row " << i;
        ASSERT_TRUE(sums[i] == sum);
        ASSERT_EQ(real_sums[i], real);
      }
      ASSERT_EQ(lists_of(side.overlaps(left.side())), expected) << "round " << round;
    }
  }
}

// Many left spans in no order, here points, are searched by directories of the ends of the right spans.
TEST(IntervalJoinOrder, LargeLeftSidesInNoOrder) {
  std::mt19937_64 random(43);
  constexpr std::size_t points = (std::size_t{1} << 16) + 5, spans = 5'000;
  std::vector<std::int64_t> left, lower, upper;
  for (std::size_t i = 0; i < points; ++i) left.push_back(static_cast<std::int64_t>(random() % 120'000) - 10'000);
  for (std::size_t i = 0; i < spans; ++i) {
    lower.push_back(static_cast<std::int64_t>(random() % 100'000));
    upper.push_back(lower.back() + static_cast<std::int64_t>(random() % (i % 500 == 0 ? 50'000 : 40)) - 2);
  }
  std::vector<std::vector<row_number>> by_value(120'001);  // spans of each value, in the order of their lower ends
  std::vector<row_number> order(spans);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](row_number a, row_number b) { return lower[a] < lower[b]; });
  for (const row_number s : order) {
    for (std::int64_t v = lower[s]; v < upper[s]; ++v) {
      if (v < 110'000) by_value[static_cast<std::size_t>(v + 10'000)].push_back(s);
    }
  }
  for (const unsigned threads : {1u, 2u}) {
    const prepared_spans side =
        prepared_spans::build({.lower = lower, .upper = upper, .includes_upper = false}, device::cpu(threads));
    const auto lists = lists_of(side.overlaps({.lower = left, .upper = left}));
    std::vector<std::uint64_t> counts(points);
    side.count_overlaps({.lower = left, .upper = left}, counts);
    for (std::size_t i = 0; i < points; ++i) {
      const auto& expected = by_value[static_cast<std::size_t>(left[i] + 10'000)];
      ASSERT_TRUE(lists[i] == expected) << i;
      ASSERT_EQ(counts[i], expected.size());
    }
    // With groups, pairs of several pieces of left rows go to places that are not in the order of the search.
    std::vector<std::uint32_t> left_codes, codes;
    for (std::size_t i = 0; i < points; ++i) left_codes.push_back(static_cast<std::uint32_t>(i % 5));
    for (std::size_t s = 0; s < spans; ++s) codes.push_back(static_cast<std::uint32_t>(s / 7 % 6));
    const prepared_spans grouped = prepared_spans::build(
        {.lower = lower, .upper = upper, .by = codes, .groups = 6, .includes_upper = false}, device::cpu(threads));
    const auto grouped_lists =
        lists_of(grouped.overlaps({.lower = left, .upper = left, .by = left_codes, .groups = 6}));
    for (std::size_t i = 0; i < points; ++i) {
      std::vector<row_number> expected = by_value[static_cast<std::size_t>(left[i] + 10'000)];
      std::erase_if(expected, [&](row_number s) { return codes[s] != left_codes[i]; });
      ASSERT_TRUE(grouped_lists[i] == expected) << i;
    }
  }
}

TEST(IntervalJoinOrder, RowsAreInOrderWhereLowerEndsAre) {
  const std::vector<std::int64_t> lower{1, 2, 2}, upper{9, 3, 5}, back{2, 1, 2};
  EXPECT_TRUE(prepared_spans::build({.lower = lower, .upper = upper}).is_in_row_order());
  EXPECT_FALSE(prepared_spans::build({.lower = back, .upper = upper}).is_in_row_order());
}

TEST(IntervalJoinErrors, SayWhatToDo) {
  const std::vector<std::int64_t> lower{1, 2}, upper{3, 4}, few{1};
  const std::vector<double> reals{1, 2};
  std::vector<std::uint64_t> counts(2);
  std::vector<int128> sums(2);
  EXPECT_THROW(static_cast<void>(prepared_spans::build({.lower = lower, .upper = few})), error);
  EXPECT_THROW(static_cast<void>(prepared_spans::build({.lower = lower, .upper = reals})), error);
  const prepared_spans side = prepared_spans::build({.lower = lower, .upper = upper});
  EXPECT_THROW(side.sum_overlaps({.lower = lower, .upper = upper}, sums), error);  // no values
  EXPECT_THROW(side.count_overlaps({.lower = lower, .upper = upper}, std::span(counts).first(1)), error);
  EXPECT_THROW(side.count_overlaps({.lower = reals, .upper = reals}, counts), error);
  prepared_side points = prepared_side::build({.on = lower});
  points.append({.on = upper});
  EXPECT_THROW(count_points_in_spans({.lower = lower, .upper = upper}, points, counts), error);
  points.compact();
  count_points_in_spans({.lower = lower, .upper = upper}, points, counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{3, 3}));
}

}  // namespace
}  // namespace espalier::test
