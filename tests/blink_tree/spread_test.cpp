// spread_test.cpp - batches that are written as they lie among the leaves: apart, uneven, dense, behind the last key.
// The path is left to the library, and a tree of many leaves holds what a map would.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/blink_subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t tree_keys = 150000 / less_work;
constexpr std::uint64_t first_key = 1u << 28, key_gap = 1000;  // between the keys that a tree begins with

/// Key i of n that go to the tree in one of the ways in which batches lie.
struct spread_kind {
  const char* name;
  std::function<std::uint64_t(std::uint64_t i, std::uint64_t n, std::uint64_t salt, random_words& random)> key;
};
const std::vector<spread_kind>& spread_kinds() {
  constexpr std::uint64_t all = tree_keys * key_gap;
  static const std::vector<spread_kind> kinds = {
      {"apart", [](std::uint64_t, std::uint64_t, std::uint64_t, random_words& r) { return first_key + r.below(all); }},
      {"apart and ascending", [](std::uint64_t i, std::uint64_t n, std::uint64_t salt,
                                 random_words&) { return first_key + all / n * i + salt; }},
      {"half of them at one leaf",
       [](std::uint64_t i, std::uint64_t, std::uint64_t salt, random_words& r) {
         return first_key + (i % 2 == 0 ? all / 2 + salt * 4001 + i : r.below(all));
       }},
      {"four at each of many leaves",
       [](std::uint64_t i, std::uint64_t n, std::uint64_t salt, random_words&) {
         return first_key + i / 4 * (4 * all / n) + i % 4 * 100 + salt;
       }},
      {"one cluster", [](std::uint64_t i, std::uint64_t, std::uint64_t salt,
                         random_words&) { return first_key + all / 3 + salt * 20011 + i; }},
      {"all equal", [](std::uint64_t, std::uint64_t, std::uint64_t salt, random_words&) { return first_key + salt; }},
      {"behind, sorted", [](std::uint64_t i, std::uint64_t, std::uint64_t salt,
                            random_words&) { return 3u * (1u << 29) + salt * 40000 + i; }},
      {"behind, shuffled", [](std::uint64_t i, std::uint64_t n, std::uint64_t salt,
                              random_words&) { return 3u * (1u << 29) + salt * 40000 + i * 7919 % n * 2; }},
      {"in front, descending",
       [](std::uint64_t i, std::uint64_t, std::uint64_t salt, random_words&) { return first_key - salt * 20000 - i; }},
  };
  return kinds;
}

template <class Key, class Value>
void check_spreads(const setting& dev) {
  array<Key> keys(tree_keys);
  for (std::size_t i = 0; i < tree_keys; ++i) keys[i] = static_cast<Key>(first_key + i * key_gap);
  blink_subject<Key, Value> subject(dev, keys);
  std::uint64_t salt = 0;
  for (const spread_kind& kind : spread_kinds()) {
    // Below and above what is looked at, written in one pass, and sampled in part.
    for (const std::size_t n : {63u, 64u, 700u, 4000u, 9000u}) {
      SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(n) + " keys");
      random_words random(++salt);
      array<Key> batch(n);
      for (std::size_t i = 0; i < n; ++i) batch[i] = static_cast<Key>(kind.key(i, n, salt, random));
      subject.insert(batch);
      if constexpr (!std::is_void_v<Value>) {
        if (n == 700) subject.write(write_op::insert_or_assign, batch);
      }
      if (n == 4000) subject.erase(batch);
      if (testing::Test::HasFailure()) return;
    }
    subject.check_content();
    if (testing::Test::HasFailure()) return;
  }
}

class BlinkTreeSpread : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeSpread, HoldsWhatAMapWouldU32) { check_spreads<std::uint32_t, std::uint32_t>(*GetParam()); }
TEST_P(BlinkTreeSpread, HoldsWhatAMapWouldU64) { check_spreads<std::uint64_t, std::uint64_t>(*GetParam()); }
TEST_P(BlinkTreeSpread, HoldsWhatASetWould) { check_spreads<std::uint64_t, void>(*GetParam()); }

INSTANTIATE_TEST_SUITE_P(, BlinkTreeSpread, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
