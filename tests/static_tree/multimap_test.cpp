// multimap_test.cpp - a tree is a std::multimap that does not change: same elements, same order of equal keys, same
// neighbours, for any keys (RapidCheck). Unlike the oracle of the other tests, nothing here was written by us.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

using key = std::int32_t;
using value = std::uint64_t;
using map_type = std::multimap<key, value>;

/// Elements of [lo, hi], in order.
std::vector<map_type::value_type> slice(const map_type& map, key lo, key hi) {
  if (lo > hi) return {};
  return {map.lower_bound(lo), map.upper_bound(hi)};
}

void same_ranges(const static_tree<key, value>& tree, const map_type& map, const std::vector<key>& lo,
                 const std::vector<key>& hi) {
  const auto result = tree.range(lo, hi);
  const auto offsets = result.offsets.to_vector();
  const auto keys = result.keys.to_vector();
  const auto values = result.values.to_vector();
  std::vector<value> sums(lo.size());
  tree.sum(lo, hi, std::span<value>(sums));
  for (std::size_t i = 0; i < lo.size(); ++i) {
    const auto expected = slice(map, lo[i], hi[i]);
    RC_ASSERT(offsets[i + 1] - offsets[i] == expected.size());
    value sum = 0;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      RC_ASSERT(keys[offsets[i] + j] == expected[j].first);
      RC_ASSERT(values[offsets[i] + j] == expected[j].second);
      sum += expected[j].second;
    }
    RC_ASSERT(sums[i] == sum);
  }
}

void same_points(const static_tree<key, value>& tree, const map_type& map, const std::vector<key>& asked) {
  std::vector<value> values(asked.size()), next_values(asked.size());
  std::vector<key> next(asked.size());
  std::vector<std::uint8_t> found(asked.size()), has_next(asked.size());
  std::vector<std::uint64_t> lower(asked.size());
  tree.find(asked, values, found);
  tree.successor(asked, next, next_values, has_next);
  tree.rank(asked, lower);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto first = map.lower_bound(asked[i]), after = map.upper_bound(asked[i]);
    RC_ASSERT((found[i] == 1) == (first != after));
    if (first != after) RC_ASSERT(values[i] == first->second);
    RC_ASSERT((has_next[i] == 1) == (after != map.end()));
    if (after != map.end()) {
      RC_ASSERT(next[i] == after->first);
      RC_ASSERT(next_values[i] == after->second);
    }
    RC_ASSERT(lower[i] == static_cast<std::uint64_t>(std::distance(map.begin(), first)));
  }
}

RC_GTEST_PROP(StaticTreeMultimap, AgreesWithStdMultimap, ()) {
  const int spread = *rc::gen::element(3, 40, 1000, 1000000000);
  const auto a_key = rc::gen::inRange<key>(-spread, spread);
  const auto sample = *rc::gen::container<std::vector<key>>(a_key);
  const auto copies = *rc::gen::inRange<std::size_t>(1, 12);
  std::vector<key> keys;
  for (std::size_t c = 0; c < copies; ++c) keys.insert(keys.end(), sample.begin(), sample.end());
  std::vector<value> values(keys.size());
  map_type map;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values[i] = i;
    map.insert({keys[i], values[i]});  // after its equals, as the standard says
  }
  const auto tree = static_tree<key, value>::build(keys, values, {.keep = aggregates::sum}, device::cpu());
  RC_ASSERT(tree.validate().ok);
  auto asked = *rc::gen::container<std::vector<key>>(a_key);
  asked.insert(asked.end(), sample.begin(), sample.end());
  same_points(tree, map, asked);
  const auto hi = *rc::gen::container<std::vector<key>>(asked.size(), a_key);
  same_ranges(tree, map, asked, hi);
}

}  // namespace
}  // namespace espalier::test
