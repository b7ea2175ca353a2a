// ordered_groups_test.cpp - places of values in groups, beside sorted arrays: packed words, comparisons, and what lies
// outside of all values.
#include "engine/keys/ordered_groups.hpp"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace espalier::engine {
namespace {

using optional_numbers = std::vector<std::optional<std::int64_t>>;

std::shared_ptr<arrow::ChunkedArray> int64_column(const optional_numbers& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) EXPECT_TRUE(builder.AppendOrNull(value).ok());
  return std::make_shared<arrow::ChunkedArray>(builder.Finish().ValueOrDie());
}

std::shared_ptr<arrow::ChunkedArray> decimal_column(const optional_numbers& values) {
  arrow::Decimal128Builder builder(arrow::decimal128(38, 0));
  for (const auto& value : values) {
    // Most are told apart by their upper words.
    EXPECT_TRUE((value ? builder.Append(arrow::Decimal128(*value / 7, static_cast<std::uint64_t>(*value % 7)))
                       : builder.AppendNull())
                    .ok());
  }
  return std::make_shared<arrow::ChunkedArray>(builder.Finish().ValueOrDie());
}

struct sides {
  optional_numbers keys, values;       ///< of the ordered side
  optional_numbers asked_keys, asked;  ///< of the other
};

sides random_sides(std::size_t rows, std::int64_t groups, std::int64_t lo, std::int64_t hi, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> key(0, groups - 1), value(lo, hi);
  const auto sometimes_null = [&](std::int64_t v) -> std::optional<std::int64_t> {
    return random() % 50 == 0 ? std::nullopt : std::optional(v);
  };
  sides out;
  for (std::size_t i = 0; i < rows; ++i) {
    out.keys.push_back(sometimes_null(key(random)));
    // The outermost values are asked for, but nobody has them.
    out.values.push_back(sometimes_null(std::clamp(value(random), lo + 1, hi - 1)));
    out.asked_keys.push_back(sometimes_null(key(random) + (i % 20 == 0 ? groups : 0)));
    out.asked.push_back(sometimes_null(i % 10 == 0 ? lo : i % 10 == 1 ? hi : value(random)));
  }
  return out;
}

template <class Column>
void expect_places(const sides& data, bool with_groups, const Column& column) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> model;  // by group: values, rows
  for (std::size_t row = 0; row < data.values.size(); ++row) {
    if (!data.values[row] || (with_groups && !data.keys[row])) continue;
    model[with_groups ? *data.keys[row] : 0].emplace_back(*data.values[row], static_cast<std::int64_t>(row));
  }
  for (auto& [group, list] : model) std::sort(list.begin(), list.end());
  using columns = std::vector<std::shared_ptr<arrow::ChunkedArray>>;
  const ordered_groups ordered(with_groups ? columns{int64_column(data.keys)} : columns{}, column(data.values));
  const auto groups =
      ordered.groups_of(with_groups ? columns{int64_column(data.asked_keys)} : columns{}, data.asked.size());
  const auto codes = ordered_codes(*column(data.asked));
  for (const bool above : {false, true}) {
    constexpr std::size_t first = 3;  // a piece that starts somewhere
    std::vector<std::size_t> places(data.asked.size() - first);
    ordered.first_places(groups, codes, first, above, places);
    for (std::size_t row = first; row < data.asked.size(); ++row) {
      const auto key = with_groups ? data.asked_keys[row] : std::optional<std::int64_t>(0);
      const auto at = key ? model.find(*key) : model.end();
      ASSERT_EQ(groups[row] == no_group, with_groups && at == model.end()) << row;
      if (at == model.end() || !data.asked[row]) continue;
      const auto& list = at->second;
      const auto edge = std::pair(*data.asked[row], above ? std::numeric_limits<std::int64_t>::max() : -1);
      const auto expected = static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), edge) - list.begin());
      const std::size_t place = places[row - first];
      ASSERT_EQ(place - ordered.group_begin(groups[row]), expected) << "row " << row << ", above " << above;
      ASSERT_EQ(ordered.group_end(groups[row]) - ordered.group_begin(groups[row]), list.size());
      if (expected == list.size()) continue;
      ASSERT_EQ(ordered.row_at(place), list[expected].second) << row;
    }
  }
}

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(ordered_groups, values_close_together_are_found_with_and_without_groups) {
  for (const std::size_t rows : {4, 40, 5'000, 60'000}) {
    expect_places(random_sides(rows, 1, -100, 100'000, 1), false, int64_column);
    expect_places(random_sides(rows, 64, -100, 100'000, 2), true, int64_column);
    expect_places(random_sides(rows, 3, -3, 3, 3), true, int64_column);
  }
}

TEST(ordered_groups, values_of_all_64_bits_are_found_with_and_without_groups) {
  expect_places(random_sides(20'000, 1, least, most, 4), false, int64_column);
  expect_places(random_sides(20'000, 100, least, most, 5), true, int64_column);
}

TEST(ordered_groups, values_in_clusters_are_found) {
  sides data = random_sides(20'000, 5, 0, 1'000, 6);
  for (std::size_t i = 0; i < data.values.size(); i += 3) {
    if (data.values[i]) *data.values[i] += std::int64_t{1} << 50;
    if (data.asked[i]) *data.asked[i] += std::int64_t{1} << 50;
  }
  expect_places(data, false, int64_column);
  expect_places(data, true, int64_column);
}

TEST(ordered_groups, values_of_two_words_are_found) {
  expect_places(random_sides(3'000, 10, 0, 500, 7), true, decimal_column);
  expect_places(random_sides(3'000, 1, 0, 500, 8), false, decimal_column);
}

TEST(ordered_groups, sides_without_rows_have_no_places) {
  const ordered_groups nothing({}, int64_column({std::nullopt, std::nullopt}));
  std::vector<std::size_t> places(2, 7);
  nothing.first_places(nothing.groups_of({}, 2), ordered_codes(*int64_column({1, 2})), 0, true, places);
  EXPECT_EQ(places, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(nothing.group_end(0), 0U);
}

}  // namespace
}  // namespace espalier::engine
