// passing_rows_test.cpp - rows that a mask lets through, beside Arrow's own filter: all types, pieces of arrays that
// begin anywhere in a byte, NULLs in the mask and in the values.
#include "engine/expr/selection_vector.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/table/gather.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::BooleanArray> random_mask(std::int64_t rows, double density, double nulls, unsigned seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution passes(density), is_null(nulls);
  arrow::BooleanBuilder builder;
  for (std::int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE((is_null(random) ? builder.AppendNull() : builder.Append(passes(random))).ok());
  }
  return std::static_pointer_cast<arrow::BooleanArray>(builder.Finish().ValueOrDie());
}

// Values of any type by way of small numbers, of which some are NULL.
std::shared_ptr<arrow::Array> some_values(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows, bool nulls) {
  arrow::Int32Builder builder;
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool is_null = nulls && random() % 5 == 0;
    EXPECT_TRUE((is_null ? builder.AppendNull() : builder.Append(static_cast<std::int32_t>(random() % 100))).ok());
  }
  const auto numbers = builder.Finish().ValueOrDie();
  return arrow::compute::Cast(*numbers, type).ValueOrDie();
}

void expect_as_arrow(const std::shared_ptr<arrow::Array>& values, const std::shared_ptr<arrow::BooleanArray>& mask) {
  const selection_vector passing(*mask);
  const auto expected = arrow::compute::Filter(values, mask).ValueOrDie().make_array();
  ASSERT_EQ(static_cast<std::int64_t>(passing.size()), expected->length());
  const auto got = gathered(values, passing.numbers());
  ASSERT_TRUE(got->ValidateFull().ok());
  EXPECT_TRUE(got->Equals(*expected)) << values->type()->ToString();
}

TEST(PassingRows, ofEveryTypeAreThoseOfArrow) {
  constexpr std::int64_t rows = 1000;
  for (const auto& type : {arrow::boolean(), arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64(),
                           arrow::float64(), arrow::decimal128(20, 2), arrow::date32(), arrow::utf8()}) {
    for (const bool nulls : {false, true}) {
      expect_as_arrow(some_values(type, rows, nulls), random_mask(rows, 0.5, nulls ? 0.1 : 0, 1));
    }
  }
}

TEST(PassingRows, ofPiecesThatBeginAnywhere) {
  const auto values = some_values(arrow::int64(), 400, true);
  const auto mask = random_mask(400, 0.5, 0.1, 2);
  for (std::int64_t begin = 0; begin < 70; ++begin) {
    for (const std::int64_t rows : {0, 1, 7, 8, 57, 63, 64, 65, 128, 200, 330}) {
      expect_as_arrow(values->Slice(begin, rows),
                      std::static_pointer_cast<arrow::BooleanArray>(mask->Slice(begin, rows)));
    }
  }
}

TEST(PassingRows, ofMasksThatLetAllOrNoneThrough) {
  const auto values = some_values(arrow::utf8(), 300, true);
  for (const double density : {0.0, 0.01, 0.99, 1.0}) expect_as_arrow(values, random_mask(300, density, 0, 3));
}

}  // namespace
}  // namespace espalier::engine
