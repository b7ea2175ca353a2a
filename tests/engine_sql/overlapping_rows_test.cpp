// overlapping_rows_test.cpp - pairs of overlapping spans, compared with all pairs, and how many right rows are looked
// at.
#include "engine/exec/overlapping_rows.hpp"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace espalier::engine {
namespace {

using column_ptr = std::shared_ptr<arrow::ChunkedArray>;

template <class Value>
struct span_rows {
  std::vector<std::optional<std::int64_t>> keys;
  std::vector<std::optional<Value>> starts, finishes;
};

template <class Builder, class Value>
column_ptr column_of(Builder builder, const std::vector<std::optional<Value>>& values) {
  for (const auto& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return std::make_shared<arrow::ChunkedArray>(builder.Finish().ValueOrDie());
}

column_ptr column(const std::vector<std::optional<std::int64_t>>& values) {
  return column_of(arrow::Int64Builder(), values);
}
column_ptr column(const std::vector<std::optional<double>>& values) {
  return column_of(arrow::DoubleBuilder(), values);
}
// Decimals are told apart by their upper words.
column_ptr column(const std::vector<std::optional<arrow::Decimal128>>& values) {
  return column_of(arrow::Decimal128Builder(arrow::decimal128(38, 0)), values);
}

template <class Value>
span_columns columns_of(const span_rows<Value>& rows, bool grouped) {
  span_columns out{{}, column(rows.starts), column(rows.finishes)};
  if (grouped) out.equal.push_back(column(rows.keys));
  return out;
}

// NaN is the greatest value, and equals itself.
bool is_less(double a, double b) { return a < b || (a == a && b != b); }
template <class Value>
bool is_less(const Value& a, const Value& b) {
  return a < b;
}

using pairs_list = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <class Value>
pairs_list all_overlaps(const span_rows<Value>& left, const span_rows<Value>& right, span_comparison compares,
                        bool grouped) {
  const auto holds = [](const auto& a, const auto& b, bool inclusive) {
    return a && b && (inclusive ? !is_less(*b, *a) : is_less(*a, *b));
  };
  pairs_list out;
  for (std::size_t l = 0; l < left.starts.size(); ++l) {
    for (std::size_t r = 0; r < right.starts.size(); ++r) {
      if (grouped && (!left.keys[l] || left.keys[l] != right.keys[r])) continue;
      if (holds(right.starts[r], left.finishes[l], compares.start_inclusive) &&
          holds(left.starts[l], right.finishes[r], compares.finish_inclusive)) {
        out.emplace_back(l, r);
      }
    }
  }
  return out;
}

pairs_list pairs_of(overlapping_rows& rows) {
  pairs_list out;
  for (join_pairs block; rows.next(block); block = {}) {
    for (std::size_t i = 0; i < block.left.size(); ++i) out.emplace_back(block.left[i], block.right[i]);
  }
  EXPECT_EQ(out.size(), rows.count());
  EXPECT_TRUE(std::ranges::is_sorted(out, {}, &std::pair<std::int64_t, std::int64_t>::first));
  std::ranges::sort(out);
  return out;
}

template <class Value>
void expect_all_overlaps(const span_rows<Value>& left, const span_rows<Value>& right) {
  for (const bool grouped : {false, true}) {
    for (const auto compares : {span_comparison{false, false}, span_comparison{false, true},
                                span_comparison{true, false}, span_comparison{true, true}}) {
      const auto expected = all_overlaps(left, right, compares, grouped);
      overlapping_rows rows(columns_of(left, grouped), columns_of(right, grouped), compares, overlap_use::pairs);
      EXPECT_EQ(pairs_of(rows), expected) << grouped << compares.start_inclusive << compares.finish_inclusive;
      overlapping_rows first(columns_of(left, grouped), columns_of(right, grouped), compares, overlap_use::first_pairs);
      const auto found = pairs_of(first);
      std::vector<std::int64_t> lefts, expected_lefts;
      for (const auto& [l, r] : found) lefts.push_back(l);
      for (const auto& [l, r] : expected) expected_lefts.push_back(l);
      expected_lefts.erase(std::ranges::unique(expected_lefts).begin(), expected_lefts.end());
      EXPECT_EQ(lefts, expected_lefts);
      EXPECT_TRUE(std::ranges::includes(expected, found));
    }
  }
}

// Spans from `shortest` to `longest` long, of 5 groups, with NULLs.
template <class Value, class Make>
span_rows<Value> random_spans(std::size_t count, std::int64_t range, std::int64_t shortest, std::int64_t longest,
                              unsigned seed, const Make& make) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> start(0, range), length(shortest, longest), key(0, 4);
  span_rows<Value> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = start(random), to = from + length(random);
    out.starts.push_back(random() % 40 == 0 ? std::nullopt : std::optional<Value>(make(from)));
    out.finishes.push_back(random() % 40 == 0 ? std::nullopt : std::optional<Value>(make(to)));
    out.keys.push_back(random() % 40 == 0 ? std::nullopt : std::optional(key(random)));
  }
  return out;
}

std::int64_t same_number(std::int64_t value) { return value; }

TEST(overlapping_rows_test, spans_of_any_shape_have_the_pairs_of_all_rows) {
  struct shape {
    std::int64_t range, shortest, longest;
  };
  constexpr shape shapes[] = {{1000, 1, 9}, {1000, 0, 9}, {1000, -20, 20}, {1000, -9, -1}, {50, 0, 0}, {1000, 0, 900}};
  unsigned seed = 1;
  for (const auto& of_left : shapes) {
    for (const auto& of_right : shapes) {
      const auto spans = [&](const shape& of, std::size_t count) {
        return random_spans<std::int64_t>(count, of.range, of.shortest, of.longest, seed++, same_number);
      };
      expect_all_overlaps(spans(of_left, 150), spans(of_right, 330));
    }
  }
}

TEST(overlapping_rows_test, values_of_two_words_and_floats) {
  const auto wide = [](std::int64_t value) {
    return arrow::Decimal128(value / 7 - 40, static_cast<std::uint64_t>(value % 7));
  };
  expect_all_overlaps(random_spans<arrow::Decimal128>(150, 1000, -5, 20, 1, wide),
                      random_spans<arrow::Decimal128>(300, 1000, -5, 20, 2, wide));
  const auto real = [](std::int64_t value) {
    if (value % 23 == 0) return std::numeric_limits<double>::quiet_NaN();
    if (value % 29 == 0) return std::numeric_limits<double>::infinity();
    if (value % 31 == 0) return -std::numeric_limits<double>::infinity();
    return value == 100 ? -0.0 : static_cast<double>(value - 100) / 8;
  };
  expect_all_overlaps(random_spans<double>(150, 300, -5, 20, 3, real), random_spans<double>(300, 300, -5, 20, 4, real));
}

TEST(overlapping_rows_test, ends_of_the_range_of_integers) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  const auto extreme = [](std::int64_t value) {
    const auto at = std::clamp<std::int64_t>(value, 0, 100);
    return at < 10 ? lowest + at : at > 90 ? highest - (100 - at) : at;
  };
  expect_all_overlaps(random_spans<std::int64_t>(120, 100, -30, 30, 5, extreme),
                      random_spans<std::int64_t>(200, 100, -30, 30, 6, extreme));
}

TEST(overlapping_rows_test, empty_sides) {
  const span_rows<std::int64_t> none, some = random_spans<std::int64_t>(20, 10, 0, 5, 7, same_number);
  expect_all_overlaps(none, some);
  expect_all_overlaps(some, none);
  expect_all_overlaps(none, none);
}

// 2^28 pairs of rows, half of which start early enough. Long spans first, so that each left row could look at all.
TEST(overlapping_rows_test, few_right_rows_are_looked_at_where_few_overlap) {
  constexpr std::size_t count = std::size_t{1} << 14;
  const auto range = static_cast<std::int64_t>(count) * 10;
  struct shape {
    std::int64_t shortest, longest;
  };
  for (const auto& [shortest, longest] : {shape{1, 20}, shape{-20, -1}, shape{-10, 10}}) {
    const auto left = random_spans<std::int64_t>(count, range, shortest, longest, 8, same_number);
    auto right = random_spans<std::int64_t>(count, range, 1, 20, 9, same_number);
    for (std::size_t i = 0; i < 3; ++i) right.starts[i] = -1, right.finishes[i] = range * 2;
    overlapping_rows rows(columns_of(left, false), columns_of(right, false), {}, overlap_use::pairs);
    for (join_pairs block; rows.next(block); block = {}) {
    }
    EXPECT_GT(rows.count(), count * 2);
    EXPECT_LT(rows.count(), count * 8);
    EXPECT_GT(rows.compared(), 0U);
    EXPECT_LT(rows.compared(), 64 * (count + rows.count()));
  }
}

// Where pairs are counted one by one, because a right row is reversed, a first block counts few rows only.
TEST(OverlappingRows, FirstPairsAreFoundBeforeAllAreCounted) {
  constexpr std::size_t count = 8000;
  const auto left = random_spans<std::int64_t>(count, 1, 100, 100, 10, same_number);
  auto right = left;
  right.starts[7] = 50, right.finishes[7] = 40;
  overlapping_rows rows(columns_of(left, false), columns_of(right, false), {}, overlap_use::pairs);
  join_pairs block;
  ASSERT_TRUE(rows.next(block));
  EXPECT_GT(block.left.size(), count);
  EXPECT_LT(rows.compared(), count * count / 4);
}

}  // namespace
}  // namespace espalier::engine
