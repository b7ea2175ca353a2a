// space_test.cpp - the space of what was erased is used again, whatever the order in which keys come and go.
#include <gtest/gtest.h>

#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

using space_subject = blink_subject<std::uint32_t, std::uint32_t>;

class BlinkTreeSpace : public testing::TestWithParam<const setting*> {
 protected:
  /// What a tree that is built of the same elements takes.
  static std::size_t bytes_of_new(const array<std::uint32_t>& keys, const array<std::uint32_t>& values) {
    return blink_tree<std::uint32_t, std::uint32_t>::build(keys.span(), values.span(), {}, GetParam()->dev)
        .stats()
        .bytes;
  }
  /// Each round brings `n` keys and takes away those of the round before. However long this goes on, the tree takes at
  /// most twice what the two rounds take that it holds at times.
  template <class KeysOfRound>
  static void come_and_go(const char* what, std::size_t n, const write_options& options, KeysOfRound keys_of) {
    SCOPED_TRACE(std::string(what) + ", " + to_string(options));
    blink_tree<std::uint32_t, std::uint32_t> tree(GetParam()->dev);
    const array<std::uint32_t> values = make_values<std::uint32_t>(n);
    array<std::uint32_t> two(2 * n);
    for (unsigned round = 0; round < 2; ++round) {
      const array<std::uint32_t> keys = keys_of(round);
      for (std::size_t i = 0; i < n; ++i) two[round * n + i] = keys[i];
    }
    const std::size_t enough = 2 * bytes_of_new(two, make_values<std::uint32_t>(2 * n));
    std::size_t most = 0;
    for (unsigned round = 0; round < 60; ++round) {
      tree.insert(keys_of(round).span(), values.span(), {}, options);
      if (round > 0) tree.erase(keys_of(round - 1).span(), {}, options);
      ASSERT_EQ(tree.size(), n) << "round " << round;
      most = std::max(most, tree.stats().bytes);
    }
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    EXPECT_LE(most, enough) << "bytes";
  }
};

// Rounds of a few keys, very many of them: each is too small to be worth a look at the leaves.
TEST_P(BlinkTreeSpace, LargeNumbersOfSmallRoundsTakeNoMoreSpace) {
  const bool on_gpu = GetParam()->dev.kind() == device_kind::cuda;
  constexpr std::size_t n = 4000, each = 40;
  const std::size_t rounds = on_gpu ? 500 : 20000;
  array<std::uint32_t> first(n);
  for (std::uint32_t i = 0; i < n; ++i) first[i] = 7 * i;
  const array<std::uint32_t> values = make_values<std::uint32_t>(n), few = make_values<std::uint32_t>(each);
  auto tree = blink_tree<std::uint32_t, std::uint32_t>::build(first.span(), values.span(), {}, GetParam()->dev);
  std::vector<std::uint32_t> here(first.span().begin(), first.span().end());
  random_words random(5);
  std::size_t most = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    array<std::uint32_t> coming(each), leaving(each);
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = (round * each + i) % n;
      leaving[i] = here[at];
      here[at] = coming[i] =
          static_cast<std::uint32_t>(random.below(1u << 28)) * 16 + static_cast<std::uint32_t>(i % 16);
    }
    tree.insert(coming.span(), few.span());
    tree.erase(leaving.span());
    if (round % 97 == 0) most = std::max(most, tree.stats().bytes);
  }
  EXPECT_LE(most, 2 * bytes_of_new(first, values));
  EXPECT_LE(tree.size(), n);
  EXPECT_GE(tree.size(), n - n / 100) << "but for keys that were drawn twice";
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
}

// Erases a range of keys that is too short for a rebuild of all leaves: no chain of empty leaves remains.
TEST_P(BlinkTreeSpace, SmallStretchesThatAreErasedLeaveNoEmptyLeaves) {
  for (const write_path path : all_paths) {
    for (const std::size_t from : {0u, 20000u, 54000u}) {
      SCOPED_TRACE(std::string(espalier::to_string(path)) + " from " + std::to_string(from));
      space_subject s(*GetParam(), distinct(make_keys<std::uint32_t>(family::uniform, 60000)));
      const array<std::uint32_t> keys = s.model().keys();
      const std::size_t before = s.tree().stats().leaves, n = keys.size() / 10;
      array<std::uint32_t> leaving(n);
      for (std::size_t i = 0; i < n; ++i) leaving[i] = keys[std::min(from, keys.size() - n) + i];
      s.erase(leaving, {batch_semantics::concurrent, path});
      s.maintain();
      s.check_content();
      EXPECT_LT(s.tree().stats().leaves, before - before / 12);
    }
  }
}

TEST_P(BlinkTreeSpace, SmallErasedSpaceIsUsedAgain) {
  constexpr std::uint32_t n = 2000;
  for (const write_path path : all_paths) {
    const write_options options{batch_semantics::concurrent, path};
    const auto sliding = [](unsigned round) {
      array<std::uint32_t> keys(n);
      for (std::uint32_t i = 0; i < n; ++i) keys[i] = round * n + i;
      return keys;
    };
    const auto falling = [](unsigned round) {
      array<std::uint32_t> keys(n);
      for (std::uint32_t i = 0; i < n; ++i) keys[i] = 1u << 31 | ((1u << 30) - round * n - i);
      return keys;
    };
    const auto scattered = [](unsigned round) {
      array<std::uint32_t> keys(n);
      for (std::uint32_t i = 0; i < n; ++i) keys[i] = (i * 64 + round % 64) * 1021;
      return keys;
    };
    come_and_go("a window that slides up", n, options, sliding);
    come_and_go("a window that slides down", n, options, falling);
    come_and_go("keys all over", n, options, scattered);
  }
}

// Most of a tree is erased: its leaves are merged, so what is left is dense enough to be scanned.
TEST_P(BlinkTreeSpace, SmallErasingMostKeysMergesLeaves) {
  for (const write_path path : all_paths) {
    SCOPED_TRACE(espalier::to_string(path));
    space_subject s(*GetParam(), distinct(make_keys<std::uint32_t>(family::uniform, 8000)), blink_options{1.0});
    const std::size_t before = s.tree().stats().leaves;
    const array<std::uint32_t> keys = s.model().keys();
    std::vector<std::uint32_t> leaving;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i % 20 != 0) leaving.push_back(keys[i]);
    }
    s.erase(array<std::uint32_t>(std::span<const std::uint32_t>(leaving)), {batch_semantics::concurrent, path});
    s.maintain();
    s.check_content();
    EXPECT_LT(s.tree().stats().leaves, before / 3);
  }
}

TEST_P(BlinkTreeSpace, SmallClearGivesSpaceForTheNextElements) {
  space_subject s(*GetParam());
  const array<std::uint32_t> keys = make_keys<std::uint32_t>(family::uniform, 5000);
  std::size_t first = 0;
  for (unsigned round = 0; round < 20; ++round) {
    s.insert(keys);
    if (round == 0) first = s.tree().stats().bytes;
    EXPECT_LE(s.tree().stats().bytes, 2 * first) << "round " << round;
    s.clear();
    if (HasFatalFailure()) return;
  }
}

// Queries on a tree that has grown since may pay for new upper levels, but only once.
TEST_P(BlinkTreeSpace, SmallQueriesMakeTheUpperLevelsAnewAtMostOnce) {
  space_subject s(*GetParam(), distinct(make_keys<std::uint32_t>(family::uniform, 20000)));
  s.insert(distinct(make_keys<std::uint32_t>(family::gaussian, 6000)),
           {batch_semantics::concurrent, write_path::per_key});
  const array<std::uint32_t> keys = s.model().keys();
  array<std::uint8_t> found(keys.size());
  const std::size_t before = s.tree().stats().lane_builds;
  for (unsigned i = 0; i < 5; ++i) s.tree().contains(keys.span(), found.span());
  EXPECT_LE(s.tree().stats().lane_builds, before + 1);
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeSpace, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
