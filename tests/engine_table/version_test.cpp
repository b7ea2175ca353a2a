// version_test.cpp - versions of a table beside a plain list of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "engine/table/table_version.hpp"
#include "espalier/core/error.hpp"
#include "support/engine_rows.hpp"

namespace {

using namespace espalier::engine;
using espalier::test::random_rows;
using espalier::test::row_as_text;

// Positions of a table; a deleted row has no values.
using version_model = std::vector<std::optional<std::vector<std::string>>>;

void append_to(version_model& model, const arrow::Table& rows) {
  for (std::int64_t i = 0; i < rows.num_rows(); ++i) model.emplace_back(row_as_text(rows, i));
}

void expect_same(const table_version& table, const version_model& model) {
  ASSERT_EQ(table.rows(), model.size());
  const auto live =
      static_cast<std::uint64_t>(std::ranges::count_if(model, [](const auto& row) { return row.has_value(); }));
  EXPECT_EQ(table.live_rows(), live);
  const auto mask = table.live_mask();
  EXPECT_EQ(mask == nullptr, live == model.size());
  const auto all = table.all_rows();
  ASSERT_TRUE(all->ValidateFull().ok());
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(table.is_deleted(i), !model[i].has_value()) << "row " << i;
    ASSERT_EQ(mask == nullptr || mask->Value(static_cast<std::int64_t>(i)), model[i].has_value()) << "row " << i;
    if (model[i]) {
      ASSERT_EQ(row_as_text(*all, static_cast<std::int64_t>(i)), *model[i]) << "row " << i;
    }
  }
}

std::vector<std::size_t> all_columns(const table_version& table) {
  std::vector<std::size_t> all(table.columns().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(TableVersion, AppendsErasesAndCompactsLikeAListOfRows) {
  std::mt19937_64 random(7);
  auto table = table_version::from(random_rows(0, 1));
  version_model model;
  for (int step = 0; step < 120; ++step) {
    const auto before = table;
    const version_model model_before = model;
    const auto choice = random() % 10;
    if (choice < 6) {
      const auto rows = random_rows(random() % 5 == 0 ? random() % 40 : 1, random());
      table = table->appended(rows);
      append_to(model, *rows);
    } else if (choice < 9 && !model.empty()) {
      std::vector<std::uint64_t> gone;
      for (std::uint64_t n = random() % 4; n > 0; --n) gone.push_back(random() % model.size());
      table = table->erased(gone);
      for (const auto row : gone) model[row].reset();
    } else if (step % 3 == 0) {
      table = table->compacted();
      std::erase_if(model, [](const auto& row) { return !row.has_value(); });
    }
    expect_same(*table, model);
    if (step % 10 == 0) expect_same(*before, model_before);
  }
}

TEST(TableVersion, SmallSegmentsStayFew) {
  auto table = table_version::from(random_rows(0, 1));
  const auto one = random_rows(1, 3);
  for (int i = 0; i < 1000; ++i) table = table->appended(one);
  EXPECT_EQ(table->rows(), 1000U);
  EXPECT_LE(table->segments().size(), 12U);
  for (std::size_t i = 0; i + 1 < table->segments().size(); ++i) {
    EXPECT_GT(table->segments()[i]->num_rows(), 2 * table->segments()[i + 1]->num_rows());
  }
}

TEST(TableVersion, LargeSegmentsAreSharedNotCopied) {
  const auto table = table_version::from(
      random_rows(table_version::small_segment, 5, arrow::schema({arrow::field("a", arrow::int64())})));
  const auto more = table->appended(random_rows(3, 6, arrow::schema({arrow::field("a", arrow::int64())})));
  ASSERT_EQ(table->segments().size(), 1U);
  ASSERT_EQ(more->segments().size(), 2U);
  EXPECT_EQ(table->segments()[0], more->segments()[0]);
}

TEST(TableVersion, TakesRowsInTheOrderAskedFor) {
  const auto rows = random_rows(3000, 11);
  auto table = table_version::from(rows->Slice(0, 2500));
  table = table->appended(rows->Slice(2500));
  ASSERT_GT(table->segments().size(), 1U);
  std::mt19937_64 random(12);
  std::vector<std::uint64_t> wanted(5000);
  for (auto& row : wanted) row = random() % 3000;
  const auto taken = table->take(all_columns(*table), wanted);
  ASSERT_TRUE(taken->ValidateFull().ok());
  ASSERT_EQ(taken->num_rows(), 5000);
  for (std::size_t i = 0; i < wanted.size(); i += 7) {
    ASSERT_EQ(row_as_text(*taken, static_cast<std::int64_t>(i)),
              row_as_text(*rows, static_cast<std::int64_t>(wanted[i])));
  }
  const std::vector<std::size_t> two = {10, 3};
  EXPECT_EQ(table->take(two, {})->schema()->field_names(), (std::vector<std::string>{"s", "i32"}));
}

TEST(TableVersion, LargeTakesRunInBlocks) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("s", arrow::utf8())});
  const auto rows = random_rows(50000, 21, schema);
  const auto table = table_version::from(rows);
  std::vector<std::uint64_t> wanted(300000);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = (i * 7919) % 50000;
  const auto taken = table->take(all_columns(*table), wanted);
  ASSERT_GT(taken->column(0)->num_chunks(), 1);
  for (std::size_t i = 0; i < wanted.size(); i += 997) {
    ASSERT_EQ(row_as_text(*taken, static_cast<std::int64_t>(i)),
              row_as_text(*rows, static_cast<std::int64_t>(wanted[i])));
  }
}

TEST(TableVersion, RefusesWhatIsNotThere) {
  const auto table = table_version::from(random_rows(10, 1));
  const std::vector<std::uint64_t> beyond = {10};
  EXPECT_THROW((void)table->erased(beyond), espalier::error);
  EXPECT_THROW((void)table->take(all_columns(*table), beyond), espalier::error);
  EXPECT_THROW((void)table->appended(random_rows(1, 1, arrow::schema({arrow::field("a", arrow::int64())}))),
               espalier::error);
}

TEST(TableVersion, RefusesNullAndValuesThatDoNotFit) {
  const auto table = table_version::empty({{"a", {type_id::int8}, false}});
  const auto make = [](std::optional<std::int64_t> value) {
    arrow::Int64Builder builder;
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
    return arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int64())}), {builder.Finish().ValueOrDie()});
  };
  EXPECT_EQ(table->appended(make(100))->rows(), 1U);
  EXPECT_THROW((void)table->appended(make(std::nullopt)), espalier::error);
  EXPECT_THROW((void)table->appended(make(1000)), espalier::error);
  EXPECT_THROW((void)table_version::empty({{"a", {type_id::int8}}, {"a", {type_id::int8}}}), espalier::error);
}

}  // namespace
