// large_build_test.cpp - from 2^26 elements on a GPU sorts a copy of its input, below that the input itself
// (cuda_executor.cuh): both sides of that size. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t equal_keys = 8;
constexpr std::uint64_t prime = 2654435761;

/// The place of input element i among n in no order; every place once, since `prime` does not divide n.
[[nodiscard]] std::uint64_t scattered(std::uint64_t i, std::uint64_t n) { return i * prime % n; }
/// Hence every key eight times, far apart.
[[nodiscard]] std::uint64_t key_of(std::uint64_t i, std::uint64_t n) { return scattered(i, n) / equal_keys; }

/// The first rank that has the wrong key, the place in the input of another key, or equal keys not in the order of the
/// input; n if there is none. `places` is empty for a set.
template <class Key, class Place>
[[nodiscard]] std::uint64_t first_wrong(const std::vector<Key>& keys, const std::vector<Place>& places) {
  const std::uint64_t n = keys.size();
  for (std::uint64_t rank = 0; rank < n; ++rank) {
    if (keys[rank] != rank / equal_keys) return rank;
    if (places.empty()) continue;
    if (key_of(places[rank], n) != keys[rank]) return rank;
    if (rank % equal_keys != 0 && places[rank - 1] >= places[rank]) return rank;
  }
  return n;
}

class StaticTreeLargeBuild : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key, class Value>
  static void build_and_read_back(std::uint64_t n) {
    std::vector<Key> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(key_of(i, n));
    const auto tree = [&] {
      if constexpr (std::is_void_v<Value>) {
        return static_tree<Key>::build(keys, {}, GetParam()->dev);
      } else {
        std::vector<Value> places(n);
        for (std::uint64_t i = 0; i < n; ++i) places[i] = static_cast<Value>(i);
        return static_tree<Key, Value>::build(keys, places, {}, GetParam()->dev);
      }
    }();
    const std::vector<Key> lo{0}, hi{static_cast<Key>(n)};
    const auto all = tree.range(lo, hi);
    ASSERT_EQ(all.keys.size(), n);
    ASSERT_EQ(all.values.size(), std::is_void_v<Value> ? 0 : n);
    EXPECT_EQ(first_wrong(all.keys.to_vector(), all.values.to_vector()), n) << "of " << n << " elements";
  }

  template <class Key, class Value>
  static void build_both_ways() {
    constexpr std::uint64_t limit = std::uint64_t{1} << 26;
    build_and_read_back<Key, Value>(limit - equal_keys);
    build_and_read_back<Key, Value>(limit);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StaticTreeLargeBuild);

TEST_P(StaticTreeLargeBuild, PairsOfU32AreSortedStably) { build_both_ways<std::uint32_t, std::uint32_t>(); }
TEST_P(StaticTreeLargeBuild, PairsOfU64AreSortedStably) { build_both_ways<std::uint64_t, std::uint64_t>(); }
TEST_P(StaticTreeLargeBuild, ASetOfU32IsSorted) { build_both_ways<std::uint32_t, void>(); }

[[nodiscard]] std::vector<const setting*> each_gpu() {
  std::vector<const setting*> all = host_span_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cuda; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(, StaticTreeLargeBuild, testing::ValuesIn(each_gpu()), setting_name{});

}  // namespace
}  // namespace espalier::test
