// float_sum_test.cpp - sums of floats do not depend on the order of the values.
#include "engine/float_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

double exact_total(const std::vector<double>& values) {
  exact_float_sum sum;
  for (const double value : values) sum.add(value);
  return sum.total();
}

TEST(FloatSum, IsTheExactSumRoundedOnce) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    // Multiples of 2^-40 below 2^60: their sum is an integer of 128 bits, which C++ rounds to the nearest double.
    std::vector<double> values;
    int128 sum = 0;
    for (int i = 0; i < 1 + round; ++i) {
      const auto digits = static_cast<std::int64_t>(random() >> 11) - (std::int64_t{1} << 52);
      const int shift = static_cast<int>(random() % 48);
      values.push_back(std::ldexp(static_cast<double>(digits), shift - 40));
      sum += static_cast<int128>(digits) * (int128{1} << shift);
    }
    const double expected = std::ldexp(static_cast<double>(sum), -40);
    EXPECT_EQ(exact_total(values), expected);
    float_sum<2> two;
    float_sum<3> three;
    for (const double value : values) {
      two += value;
      three += value;
    }
    ASSERT_TRUE(two.is_exact());
    ASSERT_TRUE(three.is_exact());
    EXPECT_EQ(two.total(), expected);
    EXPECT_EQ(three.total(), expected);
  }
}

TEST(FloatSum, ExactSumsAreAddedAndSubtracted) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 100; ++round) {
    exact_float_sum all, front;
    std::vector<double> back;
    for (int i = 0; i < 60; ++i) {
      double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 2000) - 1060);
      if (random() % 2 == 0) value = -value;
      if (round % 4 == 1 && i == 7) value = std::numeric_limits<double>::infinity();
      if (round % 4 == 2 && i == 8) value = std::numeric_limits<double>::quiet_NaN();
      all.add(value);
      if (i < 30) {
        front.add(value);
      } else {
        back.push_back(value);
      }
    }
    exact_float_sum rest = all;
    rest -= front;
    EXPECT_EQ(rest.total(), exact_total(back));
    rest += front;
    EXPECT_TRUE(rest.total() == all.total() || (std::isnan(rest.total()) && std::isnan(all.total())));
  }
}

TEST(FloatSum, IsTheSameInEveryOrderAndHowever) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values;
    for (int i = 0; i < 60; ++i) {
      const double digits = static_cast<double>(random() >> 11) * (random() % 2 == 0 ? 1 : -1);
      values.push_back(std::ldexp(digits, static_cast<int>(random() % (round % 2 == 0 ? 110 : 2000)) - 1060));
      if (random() % 3 == 0) values.push_back(-values[random() % values.size()]);
    }
    const double expected = exact_total(values);
    for (int order = 0; order < 20; ++order) {
      std::shuffle(values.begin(), values.end(), random);
      EXPECT_EQ(exact_total(values), expected);
      float_sum<3> left, right;
      for (std::size_t i = 0; i < values.size(); ++i) (i % 3 == 0 ? left : right) += values[i];
      left += right;
      if (left.is_exact()) {
        EXPECT_EQ(left.total(), expected);
      }
    }
  }
}

TEST(FloatSum, HasHalvesSubnormalsAndTheEndsOfTheRange) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(exact_total({}), 0);
  EXPECT_EQ(exact_total({least, least}), 2 * least);
  EXPECT_EQ(exact_total({least, -least, least}), least);
  EXPECT_EQ(exact_total({1, 0x1p-53}), 1);                     // half of the last digit: to even
  EXPECT_EQ(exact_total({1, 0x1p-53, least}), 1 + 0x1p-52);    // more than half
  EXPECT_EQ(exact_total({1, 0x1p-52, 0x1p-53}), 1 + 0x1p-51);  // half, to even
  EXPECT_EQ(exact_total({-1, -0x1p-53, -least}), -1 - 0x1p-52);
  EXPECT_EQ(exact_total({most, most, -most}), most);
  EXPECT_EQ(exact_total({most, most}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(exact_total({-most, -most}), -std::numeric_limits<double>::infinity());
}

TEST(FloatSum, KnowsInfinitiesAndNaN) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exact_total({1, infinity, -1e308}), infinity);
  EXPECT_EQ(exact_total({1, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(exact_total({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(exact_total({1, std::nan("")})));
  for (const double value : {infinity, -infinity, std::nan("")}) {
    float_sum<2> sum;
    sum += 1;
    sum += value;
    EXPECT_FALSE(sum.is_exact());
  }
}

}  // namespace
}  // namespace espalier::engine
