// dense_groups_test.cpp - values of a small range are group codes; other columns are left to a group_encoder.
#include "espalier/join/dense_groups.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "espalier/join/asof_join.hpp"
#include "espalier/join/group_encoder.hpp"

namespace espalier::test {
namespace {

/// Equal right values have the same code and others other ones; a left row has the code of its value, or one that no
/// right row has.
template <class T>
void check_codes(const dense_groups& found, const std::vector<T>& left, const std::vector<T>& right,
                 bitmap_view left_bits = {}, bitmap_view right_bits = {}) {
  ASSERT_EQ(found.left.size(), left.size());
  ASSERT_EQ(found.right.size(), right.size());
  std::map<T, std::uint32_t> codes;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!right_bits[i]) {
      ASSERT_EQ(found.right[i], no_group);
      continue;
    }
    ASSERT_LT(found.right[i], found.groups);
    ASSERT_EQ(codes.emplace(right[i], found.right[i]).first->second, found.right[i]);
  }
  std::set<std::uint32_t> used;
  for (const auto& [value, code] : codes) ASSERT_TRUE(used.insert(code).second) << value;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto known = left_bits[i] ? codes.find(left[i]) : codes.end();
    if (known != codes.end()) {
      ASSERT_EQ(found.left[i], known->second);
    } else {
      ASSERT_TRUE(found.left[i] == no_group || (found.left[i] < found.groups && !used.contains(found.left[i])));
    }
  }
}

template <class T>
std::vector<T> values_between(std::mt19937_64& random, std::size_t n, std::int64_t least, std::int64_t most) {
  std::vector<T> values(n);
  for (T& v : values)
    v = static_cast<T>(least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1)));
  return values;
}

template <class T>
class DenseGroups : public ::testing::Test {};
using Types = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(DenseGroups, Types);

TYPED_TEST(DenseGroups, SmallValuesAreCodes) {
  std::mt19937_64 random(3);
  for (const unsigned threads : {1u, 2u}) {
    const auto left = values_between<TypeParam>(random, 40'000, 0, 499);
    const auto right = values_between<TypeParam>(random, 50'000, 0, 300);
    const auto found = dense_groups_of(left, right, device::cpu(threads));
    ASSERT_TRUE(found.has_value());
    check_codes(*found, left, right);
    if (sizeof(TypeParam) == 4) {
      EXPECT_EQ(static_cast<const void*>(found->left.data()), left.data());
      EXPECT_EQ(static_cast<const void*>(found->right.data()), right.data());
    }
  }
}

TYPED_TEST(DenseGroups, RangesWithAnOffsetAndValuesOutside) {
  std::mt19937_64 random(5);
  const std::int64_t low = std::is_signed_v<TypeParam> ? -40 : 1'000'000;
  const auto right = values_between<TypeParam>(random, 30'000, low, low + 77);
  auto left = values_between<TypeParam>(random, 30'000, low - (std::is_signed_v<TypeParam> ? 100 : 900), low + 900);
  left[0] = std::numeric_limits<TypeParam>::max();
  left[1] = std::numeric_limits<TypeParam>::lowest();
  const auto found = dense_groups_of(left, right);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->groups, 78u);
  check_codes(*found, left, right);
  // Right values that are codes, and a left side with others.
  const auto codes = values_between<TypeParam>(random, 30'000, 0, 63);
  const auto mixed = dense_groups_of(left, codes);
  ASSERT_TRUE(mixed.has_value());
  check_codes(*mixed, left, codes);
}

TYPED_TEST(DenseGroups, NullsHaveNoGroup) {
  std::mt19937_64 random(7);
  std::vector<std::uint8_t> bits(4'001);
  for (auto& b : bits) b = static_cast<std::uint8_t>(random());
  const bitmap_view some{bits.data(), 3};
  auto left = values_between<TypeParam>(random, 20'000, 0, 50),
       right = values_between<TypeParam>(random, 20'000, 0, 50);
  for (std::size_t i = 0; i < right.size(); ++i) {  // what is below a NULL does not matter
    if (!some[i]) left[i] = right[i] = std::numeric_limits<TypeParam>::max();
  }
  const auto found = dense_groups_of(column_view(left, some), column_view(right, some));
  ASSERT_TRUE(found.has_value());
  check_codes(*found, left, right, some, some);
  const std::vector<std::uint8_t> none(4'001, 0);
  const auto empty = dense_groups_of(column_view(left), column_view(right, {none.data(), 0}));
  ASSERT_TRUE(empty.has_value());
  for (const std::uint32_t code : empty->left) ASSERT_EQ(code, no_group);
}

TYPED_TEST(DenseGroups, LargeRangesAreLeftToAnEncoder) {
  std::mt19937_64 random(9);
  const auto small = values_between<TypeParam>(random, 30'000, 0, 50);
  auto large = values_between<TypeParam>(random, 30'000, 0, 5'000'000);
  EXPECT_FALSE(dense_groups_of(small, large).has_value());
  EXPECT_TRUE(dense_groups_of(large, small).has_value());
  auto late = small;
  late.back() = std::numeric_limits<TypeParam>::max();  // found by the last row
  EXPECT_FALSE(dense_groups_of(small, late).has_value());
  EXPECT_FALSE(
      dense_groups_of(column_view(std::vector<double>{1.0}), column_view(std::vector<double>{1.0})).has_value());
  const std::vector<TypeParam> none;
  EXPECT_TRUE(dense_groups_of(none, none).has_value());
  EXPECT_TRUE(dense_groups_of(small, none).has_value());
}

TEST(DenseGroupsJoin, TheAnswerIsThatOfAnEncoder) {
  std::mt19937_64 random(11);
  const auto left_by = values_between<std::int32_t>(random, 30'000, -3, 200);
  const auto right_by = values_between<std::int32_t>(random, 30'000, 5, 150);
  const auto left = values_between<std::int64_t>(random, 30'000, 0, 100'000);
  const auto right = values_between<std::int64_t>(random, 30'000, 0, 100'000);
  const auto found = dense_groups_of(left_by, right_by);
  ASSERT_TRUE(found.has_value());
  std::vector<row_number> rows(left.size()), expected(left.size());
  asof_join({.on = left, .by = found->left, .groups = found->groups},
            {.on = right, .by = found->right, .groups = found->groups}, rows);
  group_encoder encoder;
  std::vector<std::uint32_t> left_codes(left.size()), right_codes(right.size());
  encoder.encode({{right_by}}, right_codes);
  encoder.lookup({{left_by}}, left_codes);
  asof_join({.on = left, .by = left_codes, .groups = encoder.groups()},
            {.on = right, .by = right_codes, .groups = encoder.groups()}, expected);
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace espalier::test
