// order_rows_test.cpp - rows in order and the first ones of them, beside std::stable_sort: ties, NULLs at either end,
// NaN and -0.0, keys of several columns, words that differ in few high bits, and bounds that cross batches.
#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "engine/expr/relation.hpp"
#include "engine/keys/radix_sort.hpp"
#include "engine/keys/sort.hpp"
#include "engine/keys/top_k.hpp"

namespace espalier::engine {
namespace {

using column_ptr = std::shared_ptr<arrow::ChunkedArray>;
using value_at = std::function<std::optional<std::int64_t>(std::int64_t)>;

// Numbers as values of a type, in chunks of odd sizes.
column_ptr column_of(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows, const value_at& value) {
  arrow::ArrayVector chunks;
  for (std::int64_t begin = 0; begin < rows;) {
    const auto builder = arrow::MakeBuilder(type).ValueOrDie();
    const std::int64_t end = std::min(rows, begin + 100'003);
    for (; begin < end; ++begin) {
      const auto number = value(begin);
      if (!number) {
        EXPECT_TRUE(builder->AppendNull().ok());
      } else if (type->id() == arrow::Type::DECIMAL128) {
        const arrow::Decimal128 wide = arrow::Decimal128(*number) * arrow::Decimal128("10000000000000000000000");
        EXPECT_TRUE(static_cast<arrow::Decimal128Builder&>(*builder).Append(wide).ok());
      } else if (type->id() == arrow::Type::STRING) {
        const auto text = std::to_string(20'000'000'000 + *number);  // ordered as the number
        EXPECT_TRUE(static_cast<arrow::StringBuilder&>(*builder).Append(text).ok());
      } else {
        EXPECT_TRUE(builder->AppendScalar(*arrow::MakeScalar(type, *number).ValueOrDie()).ok());
      }
    }
    chunks.push_back(builder->Finish().ValueOrDie());
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), type);
}

struct plain_key {
  std::vector<std::optional<std::int64_t>> values;
  bool descending = false;
  bool nulls_first = false;
};

std::vector<std::int64_t> expected_order(const std::vector<plain_key>& keys) {
  std::vector<std::int64_t> out(keys[0].values.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](std::int64_t a, std::int64_t b) {
    for (const auto& key : keys) {
      const auto& left = key.values[static_cast<std::size_t>(a)];
      const auto& right = key.values[static_cast<std::size_t>(b)];
      if (left == right) continue;
      if (!left || !right) return !left == key.nulls_first;
      return key.descending ? *left > *right : *left < *right;
    }
    return false;
  });
  return out;
}

plain_key random_key(std::int64_t rows, std::int64_t different, bool nulls, unsigned seed) {
  std::mt19937_64 random(seed);
  plain_key out;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool is_null = nulls && random() % 10 == 0;
    const auto number = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(different)) - different / 2;
    out.values.push_back(is_null ? std::nullopt : std::optional(number));
  }
  return out;
}

column_ptr column_of(const std::shared_ptr<arrow::DataType>& type, const plain_key& key) {
  return column_of(type, static_cast<std::int64_t>(key.values.size()),
                   [&](std::int64_t row) { return key.values[static_cast<std::size_t>(row)]; });
}

void expect_sorted(std::vector<plain_key> keys, const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  for (unsigned choice = 0; choice < 1U << (2 * keys.size()); ++choice) {
    std::vector<sort_column> columns;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i].descending = (choice >> (2 * i) & 1) != 0;
      keys[i].nulls_first = (choice >> (2 * i) & 2) != 0;
      columns.push_back({ordered_codes(*column_of(types[i], keys[i])), keys[i].descending, keys[i].nulls_first});
    }
    auto expected = expected_order(keys);
    const auto rows = expected.size();
    for (const std::size_t limit : {rows, rows / 2, std::size_t{3}}) {
      expected.resize(std::max(expected.size(), limit));
      const auto got = sorted_rows(columns, rows, limit);
      ASSERT_EQ(got, std::vector<std::int64_t>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(limit)))
          << types[0]->ToString() << ", choice " << choice << ", limit " << limit;
    }
  }
}

TEST(SortedRows, ofOneKeyOfEveryType) {
  for (const auto& type : {arrow::int8(), arrow::int64(), arrow::float32(), arrow::float64(), arrow::decimal128(38, 2),
                           arrow::date32(), arrow::utf8()}) {
    for (const bool nulls : {false, true}) expect_sorted({random_key(5000, 100, nulls, 1)}, {type});
  }
}

TEST(SortedRows, ofSeveralKeysThatFitOneWordAndThatDoNot) {
  const auto narrow = random_key(20'000, 7, true, 2);
  const auto wide = random_key(20'000, std::int64_t{1} << 62, true, 3);
  expect_sorted({narrow, random_key(20'000, 50, true, 4)}, {arrow::int32(), arrow::int64()});
  expect_sorted({narrow, wide}, {arrow::int32(), arrow::int64()});
}

TEST(SortedRows, byTextsOfWhichManyAreDifferent) {
  const auto text = random_key(20'000, 8'000, true, 10);
  const auto narrow = random_key(20'000, 7, true, 11);
  expect_sorted({text, narrow}, {arrow::utf8(), arrow::int32()});
  expect_sorted({narrow, text}, {arrow::int32(), arrow::utf8()});
  expect_sorted({random_key(20'000, 50, true, 12), text}, {arrow::utf8(), arrow::utf8()});
}

TEST(SortedRows, keepTheLeastAndTheGreatestWordApartFromNull) {
  plain_key extremes = random_key(1000, 50, true, 5);
  extremes.values[10] = std::numeric_limits<std::int64_t>::max();
  extremes.values[20] = std::numeric_limits<std::int64_t>::min();
  expect_sorted({extremes}, {arrow::int64()});
}

TEST(RowsInWordOrder, whereFirstBitsAreOftenEqual) {
  std::mt19937_64 random(6);
  const auto expect = [](const std::vector<std::uint64_t>& words) {
    std::vector<std::int64_t> expected(words.size());
    std::iota(expected.begin(), expected.end(), 0);
    const auto word = [&](std::int64_t row) { return words[static_cast<std::size_t>(row)]; };
    std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return word(a) < word(b); });
    ASSERT_EQ(rows_in_word_order(words), expected);
  };
  expect({});
  expect({7});
  expect(std::vector<std::uint64_t>(1000, 7));
  std::vector<std::uint64_t> words(200'000);
  // Few prefixes with words behind them that differ, and those again with ties: short runs, long ones, and one for all.
  for (const std::uint64_t prefixes : {100'000, 1'000, 3, 1}) {
    for (auto& w : words) w = (random() % prefixes) << 40 | random() % 5000;
    words[0] = ~std::uint64_t{0};
    expect(words);
  }
}

// The first rows are among the candidates, and where nothing but the row decides about ties there are few of them.
void expect_top(const plain_key& key, const std::vector<std::int64_t>& order, const column_ptr& column,
                std::uint64_t limit) {
  for (const bool only_key : {true, false}) {
    const auto found = top_row_candidates(*column, {key.descending, key.nulls_first, only_key, limit});
    ASSERT_TRUE(std::is_sorted(found.begin(), found.end()));
    ASSERT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
    const auto last = key.values[static_cast<std::size_t>(order[limit - 1])];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool ties = key.values[static_cast<std::size_t>(order[i])] == last;
      if (i >= limit && (only_key || !ties)) break;
      ASSERT_TRUE(std::binary_search(found.begin(), found.end(), order[i]))
          << column->type()->ToString() << ", place " << i << ", limit " << limit << ", only key " << only_key;
    }
  }
}

void expect_tops(plain_key key, const std::shared_ptr<arrow::DataType>& type, std::initializer_list<int> limits) {
  const auto column = column_of(type, key);
  for (unsigned choice = 0; choice < 4; ++choice) {
    key.descending = (choice & 1) != 0;
    key.nulls_first = (choice & 2) != 0;
    const auto order = expected_order({key});
    for (const auto limit : limits) expect_top(key, order, column, static_cast<std::uint64_t>(limit));
  }
}

constexpr std::int64_t several_batches = 3 * batch_rows + 1000;

TEST(TopRows, ofEveryTypeHoldTheFirstOnes) {
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::date32(), arrow::int64(),
                           arrow::timestamp(arrow::TimeUnit::MICRO), arrow::float32(), arrow::float64(),
                           arrow::decimal128(38, 2), arrow::utf8()}) {
    expect_tops(random_key(20'000, 100, true, 7), type, {1, 10, 300});
  }
}

TEST(TopRows, acrossBatches) {
  expect_tops(random_key(several_batches, 1'000'000'000, true, 8), arrow::int64(), {1, 10, 1000});
  expect_tops(random_key(several_batches, 40'000, false, 9), arrow::float64(), {10, 1000});
}

TEST(TopRows, ofValuesThatGetBetterAndBetter) {
  plain_key key;
  for (std::int64_t i = 0; i < several_batches; ++i) key.values.emplace_back(-i);
  expect_tops(key, arrow::int64(), {1, 100});
}

TEST(TopRows, whereNearlyAllIsNull) {
  plain_key key;
  key.values.resize(several_batches);
  for (const std::int64_t row : {5, 70'000, 200'000, 393'000}) key.values[static_cast<std::size_t>(row)] = row;
  expect_tops(key, arrow::int32(), {1, 4, 5, 100});
}

TEST(TopRows, areFewWhereAllValuesAreEqual) {
  plain_key key;
  key.values.assign(several_batches, 42);
  const auto column = column_of(arrow::int32(), key);
  expect_tops(key, arrow::int32(), {10});
  EXPECT_LE(top_row_candidates(*column, {.only_key = true, .limit = 10}).size(), 4 * 10U);
}

TEST(TopRows, takeNanForTheGreatestAndZerosForEqual) {
  std::vector<double> values(50'000, 1.0);
  values[100] = values[40'000] = std::nan("");
  values[200] = -0.0;
  values[300] = 0.0;
  values[400] = -std::numeric_limits<double>::infinity();
  values[500] = std::numeric_limits<double>::infinity();
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues(values).ok());
  const auto column = chunked(builder.Finish().ValueOrDie());
  const auto first = [&](bool descending, std::uint64_t limit) {
    auto rows = top_row_candidates(*column, {.descending = descending, .only_key = true, .limit = limit});
    const auto codes = ordered_codes(*column);
    std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
      const auto left = codes.words[static_cast<std::size_t>(a)], right = codes.words[static_cast<std::size_t>(b)];
      return descending ? left > right : left < right;
    });
    rows.resize(limit);
    return rows;
  };
  EXPECT_EQ(first(true, 3), (std::vector<std::int64_t>{100, 40'000, 500}));
  EXPECT_EQ(first(true, 1), (std::vector<std::int64_t>{100}));
  EXPECT_EQ(first(false, 3), (std::vector<std::int64_t>{400, 200, 300}));
  EXPECT_EQ(first(false, 2), (std::vector<std::int64_t>{400, 200}));
}

TEST(OrderedWord, ofFloatsIsThatOfTheCodec) {
  for (const double value : {1.0, -1.0, 1e-40, -1e-40, 1e30, std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0}) {
    EXPECT_EQ(ordered_word(value), key_codec<double>::encode(value)) << value;
    EXPECT_EQ(ordered_word(static_cast<float>(value)), key_codec<float>::encode(static_cast<float>(value))) << value;
  }
  EXPECT_EQ(ordered_word(-0.0), key_codec<double>::encode(0.0));
  EXPECT_EQ(ordered_word(-0.0F), key_codec<float>::encode(0.0F));
}

}  // namespace
}  // namespace espalier::engine
