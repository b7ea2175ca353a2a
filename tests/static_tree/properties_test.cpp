// properties_test.cpp - for any keys, any queries and any options, every operation agrees with a reference multimap.
//
// Keys come from the whole domain or from a tiny one, where duplicates and hits are the rule; a sample is repeated
// so that trees of several groups occur although RapidCheck's own containers are short.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "static_tree/agreement.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

template <class Key>
rc::Gen<Key> any_word() {
  return rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                      [](std::uint64_t word) { return from_word<Key>(random_words::mix(word) & largest_word<Key>()); });
}

template <class Key>
rc::Gen<Key> some_key(bool tiny) {
  if (tiny) {
    return rc::gen::map(rc::gen::inRange<int>(-8, 8), [](int x) { return static_cast<Key>(x); });
  }
  const array<Key> special = special_keys<Key>();
  const std::vector<Key> few(special.begin(), special.end());
  return rc::gen::weightedOneOf<Key>(
      {{6, any_word<Key>()}, {3, rc::gen::arbitrary<Key>()}, {1, rc::gen::elementOf(few)}});
}

template <class T>
array<T> repeated(const std::vector<T>& sample, int times) {
  array<T> all(sample.size() * static_cast<std::size_t>(times));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = sample[i % sample.size()];
  return all;
}

template <class Key, class Value>
void check_any_tree(const setting& s) {
  const bool tiny = *rc::gen::arbitrary<bool>();
  const auto sample = *rc::gen::container<std::vector<Key>>(some_key<Key>(tiny));
  const array<Key> keys = repeated(sample, *rc::gen::inRange(1, 25));
  const auto asked = *rc::gen::container<std::vector<Key>>(some_key<Key>(tiny));
  questions<Key> q;
  q.keys = array<Key>(asked.size() + sample.size());
  std::copy(asked.begin(), asked.end(), q.keys.begin());
  std::copy(sample.begin(), sample.end(), q.keys.begin() + asked.size());
  q.how.plan = *rc::gen::element(query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                                 query_plan::sort_first, query_plan::partition_first);
  q.how.order = *rc::gen::element(batch_order::unknown, batch_order::ascending, batch_order::random);
  q.ranges.ends = *rc::gen::element(interval::closed, interval::right_open, interval::left_open, interval::open);
  q.ranges.limit = *rc::gen::element<std::uint64_t>(0, 1, 2, 9, 250, ~std::uint64_t{0});
  const agreement<Key, Value> tree(keys, make_values<Value>(keys.size()), {false, aggregates::all}, s.dev);
  RC_ASSERT(tree.first_difference(q) == std::string());
}

template <class Key, class Value>
void check_everywhere() {
  for (const setting* s : host_span_settings()) {
    EXPECT_TRUE(rc::check(s->name, [s] { check_any_tree<Key, Value>(*s); }));
  }
}

TEST(StaticTreeProperties, AnyTreeOfU32KeysAgreesWithTheOracle) { check_everywhere<std::uint32_t, std::uint32_t>(); }
TEST(StaticTreeProperties, AnyTreeOfI64KeysAgreesWithTheOracle) { check_everywhere<std::int64_t, std::int64_t>(); }
TEST(StaticTreeProperties, AnyTreeOfDoubleKeysAgreesWithTheOracle) { check_everywhere<double, double>(); }

}  // namespace
}  // namespace espalier::test
