// asof_rule_test.cpp - what as-of joins on a GPU share with the host: words of (group, key), queries and matches,
// against the definition. Ranks are found by the standard library here.
#include "join/asof_rule.hpp"

#include <gtest/gtest.h>

#include "join/join_cases.hpp"
#include "join/keys.hpp"

namespace espalier::test {
namespace {

using namespace join_detail;

template <class Key>
auto word_at(const side_data<Key>& side, std::size_t i) {
  using word = typename key_codec<Key>::word;
  word raw;
  std::memcpy(&raw, &side.keys[i], sizeof raw);
  return word_reader<word>::of(scalar_kind_of<Key>)(raw);
}

template <class Word, class Key>
std::vector<row_number> asof_by_words(const side_data<Key>& left, const side_data<Key>& right,
                                      const asof_options& options, bool is_tight) {
  using key_word = typename key_codec<Key>::word;
  asof_rule<key_word, Word> rule;
  rule.direction = options.direction;
  rule.is_exact = options.allow_exact_matches;
  const tolerance_of<Key> tolerance(options.tolerance);
  rule.distances = {std::is_floating_point_v<Key>, tolerance.is_set(), 0, 0};
  if constexpr (std::is_floating_point_v<Key>) {
    rule.distances.real_limit = tolerance.limit();
  } else {
    rule.distances.limit = tolerance.limit();
  }
  rule.packing.has_groups = !right.codes.empty() || !left.codes.empty();
  key_word least = static_cast<key_word>(~key_word{0}), most = 0;
  for (std::size_t j = 0; j < right.keys.size(); ++j) {
    if (right.matches_nothing(j)) continue;
    least = std::min(least, word_at(right, j));
    most = std::max(most, word_at(right, j));
  }
  if (is_tight && least <= most) {
    rule.packing.least = least;
    rule.packing.bits = static_cast<unsigned>(std::bit_width(static_cast<key_word>(most - least)));
  }
  std::vector<std::pair<Word, row_number>> words;
  for (std::size_t j = 0; j < right.keys.size(); ++j) {
    if (right.matches_nothing(j)) continue;
    words.emplace_back(rule.packing.pack(right.code(j), word_at(right, j)), static_cast<row_number>(j));
  }
  std::sort(words.begin(), words.end());
  const auto n = static_cast<row_number>(words.size());
  const auto rank = [&](const rank_query<Word>& q) {
    const auto found =
        std::partition_point(words.begin(), words.end(), [&](const auto& w) { return w.first < q.word; });
    return q.is_all ? n : static_cast<row_number>(found - words.begin());
  };
  std::vector<row_number> out;
  for (std::size_t i = 0; i < left.keys.size(); ++i) {
    row_number row = no_row;
    if (!left.matches_nothing(i)) {
      const key_word key = word_at(left, i);
      const row_number first = rank(rule.query(left.code(i), key));
      const row_number second = rule.needs_second_query() ? rank(rule.second_query(left.code(i), key)) : first;
      row = rule.match(first, second, n, left.code(i), key, [&](row_number p) { return words[p].first; });
    }
    out.push_back(row == no_row ? no_row : words[row].second);
  }
  return out;
}

template <class Key>
class AsofRule : public ::testing::Test {};
using rule_key_types = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(AsofRule, rule_key_types);

TYPED_TEST(AsofRule, WordsOfEveryWidthGiveTheRowsOfTheDefinition) {
  using Key = TypeParam;
  using key_word = typename key_codec<Key>::word;
  std::mt19937_64 random(3);
  for (unsigned test = 0; test < 2'000; ++test) {
    const std::uint32_t groups = random() % 3 == 0 ? 0u : 1u + static_cast<std::uint32_t>(random() % 5);
    const bool has_nulls = random() % 2 == 0;
    const side_shape how{.rows = random() % 40, .groups = groups, .has_nulls = has_nulls, .order = shape::shuffled};
    side_data<Key> left = random_side<Key>(random, how), right = random_side<Key>(random, how);
    const bool is_narrow = random() % 2 == 0;
    for (Key& key : right.keys) {
      if (is_narrow && (key > Key{60} || key < Key{0})) key = Key{5};
    }
    asof_options options{.direction = static_cast<asof_direction>(random() % 3),
                         .allow_exact_matches = random() % 2 == 0};
    std::optional<long double> limit;
    if (random() % 2 == 0) options.tolerance = static_cast<int>(*(limit = static_cast<long double>(random() % 5)));
    const auto expected = oracle_asof(left, right, options, limit);
    if (groups == 0) {
      ASSERT_EQ((asof_by_words<key_word>(left, right, options, false)), expected) << test;
    }
    ASSERT_EQ((asof_by_words<uint128>(left, right, options, false)), expected) << test;
    // Words of floats from 0 to 60 differ in 63 bits.
    if (sizeof(Key) == 4 || (is_narrow && std::is_integral_v<Key>) || groups == 1) {
      ASSERT_EQ((asof_by_words<std::uint64_t>(left, right, options, true)), expected) << test;
    }
  }
}

}  // namespace
}  // namespace espalier::test
