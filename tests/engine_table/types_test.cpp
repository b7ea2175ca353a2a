// types_test.cpp - names and conversions of types.
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/types.hpp"
#include "espalier/core/error.hpp"

namespace {

using namespace espalier::engine;

TEST(Types, NamesLeadBackToTheTypeTheyStandFor) {
  for (int id = 0; id <= static_cast<int>(type_id::varchar); ++id) {
    const column_type type =
        static_cast<type_id>(id) == type_id::decimal ? decimal_type(12, 2) : column_type{static_cast<type_id>(id)};
    EXPECT_EQ(stored_type(*arrow_type(type)), type);
    if (type.id != type_id::decimal) {
      EXPECT_EQ(type_from_sql(sql_name(type)), type);
    }
  }
  const std::array twelve_two = {12, 2};
  EXPECT_EQ(type_from_sql("NUMERIC", twelve_two), decimal_type(12, 2));
  EXPECT_EQ(sql_name(decimal_type(12, 2)), "numeric(12,2)");
  EXPECT_EQ(type_from_sql("numeric"), decimal_type(38, 9)) << "as a column of CREATE TABLE";
  EXPECT_EQ(type_from_sql("decimal"), plain_numeric);
}

TEST(Types, NamesOfPostgresParserAreKnown) {
  EXPECT_EQ(type_from_sql("int8")->id, type_id::int64);
  EXPECT_EQ(type_from_sql("int2")->id, type_id::int16);
  EXPECT_EQ(type_from_sql("float4")->id, type_id::float32);
  EXPECT_EQ(type_from_sql("Text")->id, type_id::varchar);
  EXPECT_FALSE(type_from_sql("money").has_value());
}

TEST(Types, ModifiersThatCannotBeKeptAreRefused) {
  const std::array five = {5};
  const std::array too_precise = {39, 0};
  const std::array scale_too_large = {4, 5};
  EXPECT_THROW((void)type_from_sql("varchar", five), espalier::error);
  EXPECT_THROW((void)type_from_sql("numeric", too_precise), espalier::error);
  EXPECT_THROW((void)type_from_sql("numeric", scale_too_large), espalier::error);
}

TEST(Types, LoadedTypesHoldEveryValueOfTheFile) {
  EXPECT_EQ(loaded_type(*arrow::uint8())->id, type_id::int16);
  EXPECT_EQ(loaded_type(*arrow::uint32())->id, type_id::int64);
  EXPECT_EQ(*loaded_type(*arrow::uint64()), decimal_type(20, 0));
  EXPECT_EQ(loaded_type(*arrow::dictionary(arrow::int8(), arrow::large_utf8()))->id, type_id::varchar);
  EXPECT_EQ(*loaded_type(*arrow::decimal256(38, 5)), decimal_type(38, 5));
  EXPECT_FALSE(loaded_type(*arrow::decimal256(39, 5)).has_value());
  EXPECT_FALSE(loaded_type(*arrow::list(arrow::int32())).has_value());
  EXPECT_FALSE(loaded_type(*arrow::time32(arrow::TimeUnit::SECOND)).has_value());
}

TEST(Types, OnlyStoredFormsAreStored) {
  EXPECT_FALSE(stored_type(*arrow::uint8()).has_value());
  EXPECT_FALSE(stored_type(*arrow::timestamp(arrow::TimeUnit::NANO)).has_value());
  EXPECT_FALSE(stored_type(*arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")).has_value());
  EXPECT_TRUE(stored_type(*arrow::timestamp(arrow::TimeUnit::MICRO)).has_value());
}

}  // namespace
