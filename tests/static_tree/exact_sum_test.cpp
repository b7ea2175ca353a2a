// exact_sum_test.cpp - sums of integers are exact or an error; sums of floats are as good as their terms allow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

class StaticTreeSums : public testing::TestWithParam<const setting*> {
 protected:
  /// Keys 0, 1, 2, ... with these values.
  template <class Value>
  static static_tree<std::uint32_t, Value> numbered(const array<Value>& values, aggregates keep = aggregates::all) {
    array<std::uint32_t> keys(values.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(i);
    return static_tree<std::uint32_t, Value>::build(keys.span(), values.span(), {true, keep}, GetParam()->dev);
  }
  template <class Value>
  static array<Value> filled(std::size_t n, Value value) {
    array<Value> values(n);
    std::fill(values.begin(), values.end(), value);
    return values;
  }
  /// The sum over [lo, hi].
  template <class Value>
  static auto sum_of_range(const static_tree<std::uint32_t, Value>& tree, std::uint32_t lo, std::uint32_t hi) {
    array<typename static_tree<std::uint32_t, Value>::sum_type> out(1);
    tree.sum(array<std::uint32_t>{lo}.span(), array<std::uint32_t>{hi}.span(), out.span());
    return out[0];
  }
};

TEST_P(StaticTreeSums, U64ValuesNearTheMaximumAreSummedIn128Bits) {
  constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  const auto tree = numbered(filled<std::uint64_t>(3000, huge));
  EXPECT_TRUE(sum_of_range(tree, 0, 2999) == uint128{3000} * huge);
  EXPECT_TRUE(sum_of_range(tree, 7, 2201) == uint128{2195} * huge);
  EXPECT_TRUE(sum_of_range(tree, 5, 5) == uint128{huge});
  EXPECT_TRUE(sum_of_range(tree, 6, 5) == 0);
}

TEST_P(StaticTreeSums, I64ExtremesAreSummedIn128Bits) {
  using limits = std::numeric_limits<std::int64_t>;
  const auto low = numbered(filled<std::int64_t>(3000, limits::min()));
  EXPECT_TRUE(sum_of_range(low, 0, 2999) == int128{3000} * limits::min());
  EXPECT_TRUE(sum_of_range(low, 216, 431) == int128{216} * limits::min());
  array<std::int64_t> mixed(3000);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = i % 2 == 0 ? limits::min() : limits::max();
  const auto tree = numbered(mixed);
  EXPECT_TRUE(sum_of_range(tree, 0, 2999) == -1500);
  EXPECT_TRUE(sum_of_range(tree, 1, 2999) == int128{-1500} - limits::min());
}

TEST_P(StaticTreeSums, A64BitSumThatFitsIsGivenAndOneThatDoesNotThrowsOverflow) {
  using limits = std::numeric_limits<std::uint64_t>;
  const auto tree = numbered(filled<std::uint64_t>(1000, limits::max() / 10));
  const array<std::uint32_t> from{0, 100, 50}, to{9, 100, 40}, too_far{9, 110, 40};
  array<std::uint64_t> sums{77, 77, 77};
  EXPECT_THROW(tree.sum(from.span(), too_far.span(), sums.span()), overflow);
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, 77u) << "an overflow must write nothing";
  tree.sum(from.span(), to.span(), sums.span());
  EXPECT_EQ(sums[0], limits::max() / 10 * 10);
  EXPECT_EQ(sums[1], limits::max() / 10);
  EXPECT_EQ(sums[2], 0u);
}

TEST_P(StaticTreeSums, ASigned64BitSumThrowsOverflowAtBothEnds) {
  using limits = std::numeric_limits<std::int64_t>;
  const array<std::uint32_t> zero{0}, one{1}, three{3};
  array<std::int64_t> sum{77};
  const auto low = numbered(array<std::int64_t>{limits::min(), -1, 5, limits::max()});
  EXPECT_THROW(low.sum(zero.span(), one.span(), sum.span()), overflow);
  EXPECT_EQ(sum[0], 77);
  low.sum(zero.span(), zero.span(), sum.span());
  EXPECT_EQ(sum[0], limits::min());
  low.sum(zero.span(), three.span(), sum.span());
  EXPECT_EQ(sum[0], 3);
  const auto high = numbered(array<std::int64_t>{limits::max(), 1});
  EXPECT_THROW(high.sum(zero.span(), one.span(), sum.span()), overflow);
}

TEST_P(StaticTreeSums, SumsOfU32MaximaFit64Bits) {
  constexpr std::size_t n = 100000;
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  const auto tree = numbered(filled<std::uint32_t>(n, most));
  EXPECT_EQ(sum_of_range(tree, 0, n - 1), std::uint64_t{n} * most);
}

TEST_P(StaticTreeSums, ARangeOfSmallFloatsIsExactBesideHugeOnes) {
  array<double> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 5000 ? 1e300 : 1.25;
  const auto tree = numbered(values);
  EXPECT_EQ(sum_of_range(tree, 5000, 19999), 15000 * 1.25);
  EXPECT_EQ(sum_of_range(tree, 5001, 5003), 3 * 1.25);
  EXPECT_EQ(sum_of_range(tree, 5217, 17001), (17001 - 5217 + 1) * 1.25);
}

TEST_P(StaticTreeSums, InfinityAndNaNReachOnlyRangesThatHoldThem) {
  array<double> values = filled<double>(10000, 0.5);
  values[3000] = std::numeric_limits<double>::infinity();
  values[6000] = std::numeric_limits<double>::quiet_NaN();
  const auto tree = numbered(values);
  EXPECT_EQ(sum_of_range(tree, 0, 2999), 1500.0);
  EXPECT_EQ(sum_of_range(tree, 3001, 5999), 1499.5);
  EXPECT_EQ(sum_of_range(tree, 6001, 9999), 1999.5);
  EXPECT_TRUE(std::isinf(sum_of_range(tree, 0, 5999)));
  EXPECT_TRUE(std::isnan(sum_of_range(tree, 0, 9999)));
}

TEST_P(StaticTreeSums, FloatSumsAreCloseToALongDoubleReference) {
  constexpr std::uint32_t n = 200000;
  array<float> values(n);
  random_words random(5);
  for (float& v : values) v = static_cast<float>(std::exp(40 * (random.unit() - 0.5)));
  const auto tree = numbered(values);
  for (unsigned i = 0; i < 50; ++i) {
    const auto lo = static_cast<std::uint32_t>(random.below(n)),
               hi = lo + static_cast<std::uint32_t>(random.below(n - lo));
    long double want = 0;
    for (std::uint32_t j = lo; j <= hi; ++j) want += static_cast<long double>(values[j]);
    // All terms are positive: what rounding may cost is relative to the sum itself.
    EXPECT_NEAR(sum_of_range(tree, lo, hi), static_cast<double>(want), static_cast<double>(want) * 1e-13);
  }
}

TEST_P(StaticTreeSums, MinAndMaxFollowTheTotalOrderOfFloats) {
  using limits = std::numeric_limits<float>;
  const auto tree = numbered(array<float>{0.0f, -0.0f, limits::quiet_NaN(), -limits::infinity(), 3.0f});
  const array<std::uint32_t> lo{0, 0, 2, 2}, hi{1, 4, 2, 3};
  array<float> least(4), most(4);
  array<std::uint8_t> found(4);
  tree.min(lo.span(), hi.span(), least.span(), found.span());
  tree.max(lo.span(), hi.span(), most.span(), found.span());
  const array<float> want_least{-0.0f, -limits::infinity(), limits::quiet_NaN(), -limits::infinity()};
  const array<float> want_most{0.0f, limits::quiet_NaN(), limits::quiet_NaN(), limits::quiet_NaN()};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(same(least[i], want_least[i])) << i << ": " << least[i];
    EXPECT_TRUE(same(most[i], want_most[i])) << i << ": " << most[i];
  }
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeSums, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
