// gather_test.cpp - values and validity bits of gathered columns, for every width.
#include "espalier/join/gather.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace espalier::test {
namespace {

struct sixteen {
  std::uint64_t low, high;
  bool operator==(const sixteen&) const = default;
};
template <class T>
T make_value(std::uint64_t x) {
  if constexpr (std::is_same_v<T, sixteen>) {
    return {x, ~x};
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
class Gather : public ::testing::Test {};
using gather_widths = ::testing::Types<std::uint8_t, std::uint16_t, float, double, sixteen>;
TYPED_TEST_SUITE(Gather, gather_widths);

TYPED_TEST(Gather, ValuesAndBitsAreThoseOfTheRows) {
  std::mt19937_64 random(sizeof(TypeParam));
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 50'001u}) {
    for (const bool has_nulls : {false, true}) {
      std::vector<TypeParam> column;
      std::vector<std::uint8_t> bits(200);
      for (std::size_t i = 0; i < 1'000; ++i) column.push_back(make_value<TypeParam>(random()));
      for (std::uint8_t& b : bits) b = static_cast<std::uint8_t>(random());
      const bitmap_view validity = has_nulls ? bitmap_view{bits.data(), 3} : bitmap_view{};
      std::vector<row_number> rows(n);
      for (row_number& row : rows) row = random() % 9 == 0 ? no_row : static_cast<row_number>(random() % 1'000);
      for (const unsigned threads : {1u, 2u}) {
        std::vector<TypeParam> out(n, make_value<TypeParam>(1));
        std::vector<std::uint8_t> found((n + 7) / 8, 0xff);
        const std::size_t missing =
            gather_column({column, validity}, rows, std::span(out), found, device::cpu(threads));
        std::size_t expected_missing = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const bool valid = rows[i] != no_row && validity[rows[i]];
          expected_missing += valid ? 0 : 1;
          ASSERT_EQ((found[i / 8] >> (i % 8)) & 1, valid ? 1 : 0) << i;
          ASSERT_TRUE(out[i] == (valid ? column[rows[i]] : TypeParam{})) << i;
        }
        EXPECT_EQ(missing, expected_missing);
        if (n % 8 != 0) {
          EXPECT_EQ(found.back() >> (n % 8), 0);
        }
      }
    }
  }
}

TEST(GatherErrors, SayWhatToDo) {
  const std::vector<int> column{1, 2, 3};
  const std::vector<row_number> rows{0, 3};
  std::vector<int> out(2), few(1);
  std::vector<std::uint8_t> bits(2);
  EXPECT_THROW(gather_column(column, rows, std::span(out)), error);
  EXPECT_THROW(gather_column(column, rows, std::span(few)), error);
  std::vector<row_number> many(200);
  std::vector<int> many_out(200);
  EXPECT_EQ(gather_column(column, many, std::span(many_out)), 0u);
  many[50] = 3;
  EXPECT_THROW(gather_column(column, many, std::span(many_out)), error);
  EXPECT_THROW(gather_column(column, std::vector<row_number>{0, 1}, std::span(out), bits), error);
  struct odd {
    char bytes[3];
  };
  const std::vector<odd> three(2);
  std::vector<odd> to(2);
  EXPECT_THROW(gather_column(three, rows, std::span(to)), error);
}

}  // namespace
}  // namespace espalier::test
