// window_rule_test.cpp - what window joins on a GPU share with the host: the ends of windows as ranks of words against
// their definition, and roundings.
#include "join/window_rule.hpp"

#include <gtest/gtest.h>

#include "join/aggregate_views.hpp"
#include "join/join_cases.hpp"

namespace espalier::test {
namespace {

using namespace join_detail;

template <class Key>
class WindowRule : public ::testing::Test {};
using window_rule_keys = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(WindowRule, window_rule_keys);

TYPED_TEST(WindowRule, RanksOfEndsAreNumbersOfKeys) {
  using Key = TypeParam;
  using key_word = typename key_codec<Key>::word;
  using wide = std::conditional_t<std::is_floating_point_v<Key>, double, int128>;
  std::mt19937_64 random(17);
  const auto word_of_key = [](Key key) {
    key_word raw;
    std::memcpy(&raw, &key, sizeof raw);
    return word_reader<key_word>::of(scalar_kind_of<Key>)(raw);
  };
  for (unsigned test = 0; test < 500; ++test) {
    std::vector<Key> keys;
    for (std::size_t i = 0; i < 50; ++i) keys.push_back(random_key<Key>(random, 40));
    const Key t = random_key<Key>(random, 40);
    window_bounds bounds{.includes_first = random() % 2 == 0, .includes_last = random() % 2 == 0};
    if constexpr (std::is_floating_point_v<Key>) {
      const double ends[] = {0.0, 0.5, 0.1, -0.3, 1e-300, 3e38, 1e300, -1e39};
      if (random() % 8 != 0) bounds.preceding = ends[random() % 8];
      if (random() % 8 != 0) bounds.following = ends[random() % 8];
    } else {
      if (random() % 8 != 0) bounds.preceding = static_cast<int>(random() % 30) - 5;
      if (random() % 8 != 0) bounds.following = static_cast<int>(random() % 30) - 5;
      if (random() % 8 == 0) bounds.preceding = std::numeric_limits<std::uint64_t>::max();
      if (random() % 8 == 0) bounds.following = std::numeric_limits<std::uint64_t>::max();
    }
    const window_rule<key_word, uint128> rule{
        {0, 8 * sizeof(key_word), true},  std::is_floating_point_v<Key>, window_end::of(bounds.preceding),
        window_end::of(bounds.following), bounds.includes_first,         bounds.includes_last};
    const auto distance = [](const key_distance& d) {
      return std::is_floating_point_v<Key> ? static_cast<wide>(d.real()) : static_cast<wide>(d.integer());
    };
    std::size_t before_first = 0, before_last = 0, first = 0, last = 0;
    const auto first_query = rule.first(1, word_of_key(t)), last_query = rule.last(1, word_of_key(t));
    ASSERT_FALSE(first_query.is_all);
    for (const Key key : keys) {
      const auto k = static_cast<wide>(key), at = static_cast<wide>(t);
      if (bounds.preceding) {
        const wide from = at - distance(*bounds.preceding);
        before_first += (bounds.includes_first ? k < from : k <= from) ? 1 : 0;
      }
      if (bounds.following) {
        const wide to = at + distance(*bounds.following);
        before_last += (bounds.includes_last ? k <= to : k < to) ? 1 : 0;
      } else {
        ++before_last;
      }
      const uint128 word = rule.packing.pack(1, word_of_key(key));
      first += word < first_query.word ? 1 : 0;
      last += last_query.is_all || word < last_query.word ? 1 : 0;
    }
    ASSERT_EQ(first, before_first) << test;
    ASSERT_EQ(last, before_last) << test;
  }
}

TEST(WindowRuleRounding, NearestDoubleIsTheConversionOfTheLanguage) {
  std::mt19937_64 random(5);
  for (unsigned test = 0; test < 200'000; ++test) {
    const auto high = static_cast<std::int64_t>(random()) >> (random() % 64);
    auto x = (static_cast<int128>(high) << 64) | random();
    if (test % 3 == 0) x &= -(int128{1} << (random() % 100));  // ties
    if (test % 7 == 0) x += 1;
    ASSERT_EQ(nearest_double(x), static_cast<double>(x)) << test;
  }
}

TEST(WindowRuleExtrema, LevelsOfTheSparseTableDoNotOverlap) {
  for (const std::size_t blocks : {0u, 1u, 2u, 3u, 7u, 8u, 1'000u}) {
    std::size_t begin = 0;
    for (unsigned level = 0; level < extrema_levels(blocks); ++level) {
      EXPECT_EQ(extrema_level_begin(blocks, level), begin);
      begin += blocks - (std::size_t{1} << level) + 1;
    }
    EXPECT_EQ(extrema_level_begin(blocks, extrema_levels(blocks)), begin);
  }
}

}  // namespace
}  // namespace espalier::test
