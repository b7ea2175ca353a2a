// key_traits_test.cpp - enumerations and strong typedefs as keys and values.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {

enum class severity : std::int16_t { debug = -1, info, fatal };
struct price {
  std::int64_t cents;
  friend bool operator==(price, price) = default;
};
struct altitude {
  float metres;
};
struct coordinates {
  float x, y;
};

}  // namespace espalier::test

template <>
struct espalier::key_traits<espalier::test::price> {
  using representation = std::int64_t;
};
template <>
struct espalier::key_traits<espalier::test::altitude> {
  using representation = float;
};

namespace espalier::test {
namespace {

TEST(KeyTraits, AKeyHasKindAndWordOfItsRepresentation) {
  static_assert(scalar_kind_of<severity> == scalar_kind::i16 && scalar_kind_of<std::byte> == scalar_kind::u8);
  static_assert(scalar_kind_of<price> == scalar_kind::i64 && scalar_kind_of<altitude> == scalar_kind::f32);
  static_assert(KeyType<price> && !KeyType<coordinates>);
  constexpr float infinite = std::numeric_limits<float>::infinity();
  for (const float x : {-infinite, -1.0f, -0.0f, 0.0f, 2.5f, infinite}) {
    EXPECT_EQ(key_codec<altitude>::encode({x}), key_codec<float>::encode(x));
    EXPECT_EQ(key_codec<altitude>::decode(key_codec<float>::encode(x)).metres, x);
  }
  EXPECT_LT(key_codec<severity>::encode(severity::debug), key_codec<severity>::encode(severity::info));
  EXPECT_EQ(key_codec<severity>::decode(key_codec<severity>::encode(severity::debug)), severity::debug);
}

TEST(KeyTraits, ATreeOrdersAndAggregatesByTheRepresentation) {
  const std::vector<price> prices{{1250}, {-3}, {99}}, least{{-10}}, most{{2000}};
  const std::vector<severity> severities{severity::info, severity::debug, severity::fatal};
  const auto tree = static_tree<price, severity>::build(prices, severities, {.keep = aggregates::all}, device::cpu(1));
  EXPECT_EQ(tree.find(price{-3}), severity::debug);
  EXPECT_FALSE(tree.contains(price{0}));
  std::vector<price> key(1);
  std::vector<severity> value(1);
  std::vector<std::uint8_t> found(1);
  tree.lower_bound(least, key, value, found);
  EXPECT_EQ(key[0], price{-3});
  tree.predecessor(most, key, value, found);
  EXPECT_EQ(key[0], price{1250});
  tree.max(least, most, value, found);
  EXPECT_EQ(value[0], severity::fatal);
  std::vector<std::int64_t> sum(1);
  tree.sum(least, most, sum);
  EXPECT_EQ(sum[0], 0);

  const auto set = static_tree<price>::build(prices, {.keep = aggregates::all}, device::cpu(1));
  std::vector<price> total(1);
  set.sum(least, most, total);  // in the type of the keys
  EXPECT_EQ(total[0], price{1346});
}

}  // namespace
}  // namespace espalier::test
