// rank_directory_test.cpp - ranks in a B-link tree whose inner levels are older than its leaves.
#include "hybrid_tree/rank_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/less_work.hpp"

namespace espalier::test {
namespace {

// While a ref is in use the inner levels stay as they are, so that all new keys fall into a few of their entries: more
// than the directory reads at once, in the middle and behind the last key.
TEST(RankDirectory, CutsEntriesThatGrewSinceTheInnerLevelsWereBuilt) {
  constexpr std::size_t many = 150'000 / less_work;
  const device host = device::cpu(2);
  const stream order = host.make_stream();
  const detail::execution now{order, true};
  std::vector<std::uint64_t> keys, values, more;
  for (std::uint64_t i = 0; i < 20'000; ++i) keys.push_back(1'000'000 * i);
  for (std::uint64_t i = 0; i < many; ++i) more.push_back(i % 2 == 0 ? 5'000'001 + i : keys.back() + i);
  const auto tree = detail::build_blink_index(host, {scalar_kind::u64, scalar_kind::u64, 8}, {}, keys.data(),
                                              keys.data(), keys.size(), {}, order);
  tree->view(more.size(), nullptr);
  tree->write(write_op::insert, more.data(), more.data(), more.size(), nullptr,
              {batch_semantics::ordered, write_path::per_key}, now);
  std::vector<std::uint64_t> all = keys;
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());

  const detail::rank_directory<std::uint64_t> ranked(*tree, all.size(), now);
  std::vector<std::uint64_t> asked, ranks, want;
  for (std::size_t i = 0; i < all.size(); i += 37) {
    asked.push_back(all[i] + i % 3 - 1);
    want.push_back(static_cast<std::uint64_t>(std::lower_bound(all.begin(), all.end(), asked.back()) - all.begin()));
  }
  ranks.resize(asked.size());
  ranked.rank(*tree, bound_type::lower, asked.data(), asked.size(), ranks.data(), now);
  EXPECT_EQ(ranks, want);

  std::vector<std::uint64_t> positions, got_keys, got_values;
  for (std::size_t i = 0; i < all.size(); i += 41) positions.push_back(i);
  positions.push_back(all.size() - 1);
  positions.push_back(all.size());
  want.clear();
  for (const std::uint64_t p : positions) want.push_back(p < all.size() ? all[p] : 0);
  got_keys.resize(positions.size(), 9);
  got_values.resize(positions.size(), 9);
  std::vector<std::uint8_t> found(positions.size(), 9);
  ranked.select(*tree, positions.data(), positions.size(), got_keys.data(), got_values.data(), found.data(), now);
  EXPECT_EQ(got_keys, want);
  EXPECT_EQ(got_values, want);
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), static_cast<std::ptrdiff_t>(positions.size() - 1));
  EXPECT_EQ(found.back(), 0);
}

TEST(RankDirectory, OfAnEmptyTreeKnowsNoElement) {
  const device host = device::cpu(1);
  const stream order = host.make_stream();
  const detail::execution now{order, true};
  const auto tree =
      detail::build_blink_index(host, {scalar_kind::f32, scalar_kind::opaque, 0}, {}, nullptr, nullptr, 0, {}, order);
  const detail::rank_directory<std::uint32_t> ranked(*tree, 0, now);
  const std::vector<float> keys{-1.0f, 0.0f, 1.0f};
  std::vector<std::uint64_t> ranks{7, 7, 7};
  ranked.rank(*tree, bound_type::upper, keys.data(), 3, ranks.data(), now);
  EXPECT_EQ(ranks, (std::vector<std::uint64_t>{0, 0, 0}));
  float key = 7;
  std::uint8_t found = 9;
  ranked.select(*tree, ranks.data(), 1, &key, nullptr, &found, now);
  EXPECT_EQ(key, 0.0f);
  EXPECT_EQ(found, 0);
}

}  // namespace
}  // namespace espalier::test
