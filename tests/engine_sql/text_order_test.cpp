// text_order_test.cpp - rows in the order of texts beside std::stable_sort: ends and NUL bytes, NULLs and empty texts,
// every byte there is, texts that part late or not at all, and runs of every size, in columns of several sliced chunks.
#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "engine/expr/relation.hpp"
#include "engine/keys/sort.hpp"
#include "engine/keys/text_order.hpp"
#include "engine/stop.hpp"
#include "support/less_work.hpp"

namespace espalier::engine {
namespace {

using optional_texts = std::vector<std::optional<std::string>>;

// In chunks of odd sizes that begin and end within their arrays.
std::shared_ptr<arrow::ChunkedArray> sliced_column(const optional_texts& texts, std::size_t chunk = 70'001) {
  arrow::ArrayVector chunks;
  for (std::size_t begin = 0; begin < texts.size(); begin += chunk) {
    const std::size_t end = std::min(texts.size(), begin + chunk);
    arrow::StringBuilder builder;
    EXPECT_TRUE(builder.Append("before the slice").ok());
    for (std::size_t i = begin; i < end; ++i) {
      EXPECT_TRUE((texts[i] ? builder.Append(*texts[i]) : builder.AppendNull()).ok());
    }
    EXPECT_TRUE(builder.Append("behind the slice").ok());
    chunks.push_back(builder.Finish().ValueOrDie()->Slice(1, static_cast<std::int64_t>(end - begin)));
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow::utf8());
}

std::vector<std::int64_t> expected_text_order(const optional_texts& texts, key_direction direction) {
  std::vector<std::int64_t> out(texts.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](std::int64_t a, std::int64_t b) {
    const auto& left = texts[static_cast<std::size_t>(a)];
    const auto& right = texts[static_cast<std::size_t>(b)];
    if (!left || !right) return left.has_value() != right.has_value() && !left == direction.nulls_first;
    return direction.descending ? *right < *left : *left < *right;
  });
  return out;
}

void expect_text_order(const optional_texts& texts) {
  const auto column = sliced_column(texts);
  for (const bool descending : {false, true}) {
    for (const bool nulls_first : {false, true}) {
      const key_direction direction{descending, nulls_first};
      ASSERT_EQ(rows_in_text_order(*column, direction), expected_text_order(texts, direction))
          << "descending " << descending << ", nulls first " << nulls_first;
    }
  }
  std::set<std::string> different;
  for (const auto& text : texts) {
    if (text) different.insert(*text);
  }
  const std::vector<std::string> sorted(different.begin(), different.end());
  std::vector<std::uint64_t> ranks;
  for (const auto& text : texts) {
    const auto place = text ? std::lower_bound(sorted.begin(), sorted.end(), *text) : sorted.begin();
    ranks.push_back(static_cast<std::uint64_t>(place - sorted.begin()));
  }
  ASSERT_EQ(ranks_of_texts(*column), ranks);
}

// Each of `values` and NULL at many places of `rows` rows.
optional_texts shuffled(const std::vector<std::string>& values, std::size_t rows, unsigned seed) {
  std::mt19937_64 random(seed);
  optional_texts out(rows);
  for (auto& text : out) {
    if (const auto which = random() % (values.size() + 1); which < values.size()) text = values[which];
  }
  return out;
}

// Few rows are compared, more sorted by word, and many by radix.
constexpr std::size_t sizes[] = {20, 1'000, 9'000};

TEST(TextOrder, ofNothingAndOfNullsOnly) {
  expect_text_order({});
  expect_text_order({std::nullopt});
  expect_text_order(optional_texts(500));
  expect_text_order(optional_texts(9'000, ""));
}

TEST(TextOrder, tellsEndsFromNulBytesAndEmptyTextsFromNull) {
  using namespace std::string_literals;
  const std::vector<std::string> values = {"",
                                           "\0"s,
                                           "\0\0"s,
                                           "a",
                                           "a\0"s,
                                           "a\0\0"s,
                                           "a\0b"s,
                                           "ab",
                                           "ab\0"s,
                                           "abcdefgh",
                                           "abcdefgh\0"s,
                                           "abcdefg",
                                           "abcdefg\0"s,
                                           "abcdefg\0\0"s,
                                           "abcdefgh\0i"s,
                                           "b",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "\xc3\xa9\0"s,
                                           "\xf0\x9f\xa7\xad",
                                           "abcdefghijklmnop",
                                           "abcdefghijklmnop\0"s};
  for (const auto rows : sizes) expect_text_order(shuffled(values, rows, 1));
}

TEST(TextOrder, whereEveryByteOccurs) {
  std::mt19937_64 random(2);
  for (const auto rows : sizes) {
    optional_texts texts(rows);
    for (auto& text : texts) {
      text.emplace(random() % 12, ' ');
      for (auto& character : *text) character = static_cast<char>(random() % 256);
    }
    texts[0].emplace(256, ' ');
    std::iota(texts[0]->begin(), texts[0]->end(), '\0');
    expect_text_order(texts);
  }
}

TEST(TextOrder, whereTextsPartAtEveryDepth) {
  std::mt19937_64 random(3);
  const std::string address = "https://www.example.com/a/path/that/many/pages/have/in/common?page=";
  for (const auto rows : sizes) {
    optional_texts texts;
    for (std::size_t i = 0; i < rows; ++i) {
      auto text = address;
      text[random() % text.size()] = static_cast<char>('a' + random() % 26);
      texts.emplace_back(text.substr(0, 8 + random() % 100) + std::to_string(random() % 1000));
    }
    expect_text_order(texts);
  }
}

// 'a', 'aa', ...: every level finds a few ends, and the last ones are beyond all levels.
TEST(TextOrder, ofTextsThatAreBeginningsOfEachOther) {
  optional_texts texts;
  for (std::size_t i = 0; i < 5'000; ++i) texts.emplace_back(std::string(i * 3'001 % 5'000, 'a'));
  expect_text_order(texts);
}

TEST(TextOrder, ofManyRowsInLongRuns) {
  const std::vector<std::string> beginnings = {"one beginning that goes on for long ",
                                               "one beginning that goes further ", "another", ""};
  std::mt19937_64 random(4);
  for (const std::uint64_t endings : {1, 5, 40'000}) {
    optional_texts texts;
    for (std::size_t i = 0; i < static_cast<std::size_t>(2 * batch_rows + 77) / test::less_work; ++i) {
      const auto& beginning = beginnings[random() % beginnings.size()];
      texts.emplace_back(beginning + "and then the number " + std::to_string(random() % endings));
    }
    expect_text_order(texts);
  }
}

TEST(TextOrder, isGivenUpWhenAskedTo) {
  optional_texts texts;
  for (std::size_t i = 0; i < 300'000; ++i) texts.emplace_back("a text " + std::to_string(i * 7'919 % 300'000));
  const auto column = sliced_column(texts);
  std::atomic<int> asked = 0;
  const cancellation_token never = [&] { return ++asked < 0; };
  {
    const cancellation_scope scope(&never);
    (void)rows_in_text_order(*column, {});
  }
  EXPECT_GT(asked, 20);
  for (const int stop_at : {1, 8, 16}) {
    asked = 0;
    const cancellation_token soon = [&] { return ++asked >= stop_at; };
    const cancellation_scope scope(&soon);
    EXPECT_THROW((void)rows_in_text_order(*column, {}), query_cancelled) << stop_at;
  }
}

TEST(HasFewTexts, whereMostRowsRepeatOthers) {
  constexpr std::size_t rows = 300'000;
  const auto has_few = [](const auto& text_of) {
    optional_texts texts;
    for (std::size_t i = 0; i < rows; ++i) texts.push_back(text_of(i * 7'919 % rows));
    return has_few_texts(*sliced_column(texts));
  };
  using maybe = std::optional<std::string>;
  EXPECT_TRUE(has_few([](std::size_t i) -> maybe { return std::to_string(i % 100); }));
  EXPECT_FALSE(has_few([](std::size_t i) -> maybe { return std::to_string(i); }));
  EXPECT_FALSE(has_few([](std::size_t i) -> maybe { return i % 2 == 0 ? "" : std::to_string(i); }));
  EXPECT_FALSE(has_few([](std::size_t i) -> maybe { return i % 10 != 0 ? maybe() : std::to_string(i); }));
}

}  // namespace
}  // namespace espalier::engine
