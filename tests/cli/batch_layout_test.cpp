// batch_layout_test.cpp - keys of a tree and batches beside them: all different, and where their distribution says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bench/data/batch_layout.hpp"

namespace espalier::cli_test {
namespace {

using bench::batch_distribution;
using bench::batch_layout;

struct laid_out {
  std::vector<std::uint64_t> tree, batch;

  laid_out(scalar_kind key, std::uint64_t n, batch_distribution which, std::uint64_t batch_size) {
    const batch_layout layout(key, n, 7);
    EXPECT_TRUE(layout.has_room_for(batch_size));
    for (std::uint64_t i = 0; i < n; ++i) tree.push_back(layout.tree_key(i));
    const bench::batch_keys keys(layout, which, batch_size);
    for (std::uint64_t i = 0; i < batch_size; ++i) batch.push_back(keys(i));
  }
  /// Keys of the tree that are smaller.
  [[nodiscard]] std::size_t rank(std::uint64_t key) const {
    return static_cast<std::size_t>(std::lower_bound(tree.begin(), tree.end(), key) - tree.begin());
  }
  /// Gaps of the tree that get keys.
  [[nodiscard]] std::size_t gaps() const {
    std::set<std::size_t> all;
    for (const auto key : batch) all.insert(rank(key));
    return all.size();
  }
  [[nodiscard]] bool sorted() const { return std::is_sorted(batch.begin(), batch.end()); }
};

TEST(BatchLayout, KeysAreDifferentAndFitTheType) {
  for (const scalar_kind key : {scalar_kind::u32, scalar_kind::u64}) {
    for (const std::uint64_t n : {0, 1, 2, 1000, 70000}) {
      for (const auto& [name, which] : bench::batch_distribution_names) {
        for (const std::uint64_t size : {1, 2, 1023, 1025, 5000}) {
          SCOPED_TRACE(std::string(name) + " of " + std::to_string(size) + " beside " + std::to_string(n));
          const laid_out all(key, n, which, size);
          ASSERT_TRUE(std::is_sorted(all.tree.begin(), all.tree.end()));
          std::set<std::uint64_t> different(all.tree.begin(), all.tree.end());
          different.insert(all.batch.begin(), all.batch.end());
          ASSERT_EQ(different.size(), n + size);
          if (key == scalar_kind::u32) {
            ASSERT_LT(*different.rbegin(), std::uint64_t{1} << 32);
          }
        }
      }
    }
  }
}

TEST(BatchLayout, BatchesLieWhereTheirNameSays) {
  const auto make = [](batch_distribution which) { return laid_out(scalar_kind::u64, 20000, which, 4096); };
  for (const auto which : {batch_distribution::append_sorted, batch_distribution::append_shuffled}) {
    const laid_out all = make(which);
    EXPECT_EQ(all.rank(*std::min_element(all.batch.begin(), all.batch.end())), all.tree.size());
    EXPECT_EQ(all.sorted(), which == batch_distribution::append_sorted);
  }
  const laid_out descending = make(batch_distribution::descending);
  EXPECT_LT(descending.batch.front(), descending.tree.front());
  EXPECT_TRUE(std::is_sorted(descending.batch.rbegin(), descending.batch.rend()));
  const laid_out ascending = make(batch_distribution::ascending);
  EXPECT_TRUE(ascending.sorted());
  EXPECT_GT(ascending.gaps(), 4000u);
  EXPECT_LE(make(batch_distribution::cluster).gaps(), 2u);
  const std::size_t places = make(batch_distribution::clusters_1024).gaps();
  EXPECT_GE(places, 1000u);
  EXPECT_LE(places, 2 * 1024u);
  const laid_out random = make(batch_distribution::random);
  EXPECT_GT(random.gaps(), 3500u);
  EXPECT_FALSE(random.sorted());
  const laid_out skewed = make(batch_distribution::zipf);
  const auto low = std::count_if(skewed.batch.begin(), skewed.batch.end(),
                                 [&](std::uint64_t key) { return skewed.rank(key) < skewed.tree.size() / 100; });
  EXPECT_GT(low, 2048) << "half of the keys in a hundredth of the tree";
  EXPECT_GT(skewed.gaps(), 100u);
}

TEST(BatchLayout, NarrowKeysTakeAFewNeighbouringGaps) {
  const laid_out all(scalar_kind::u32, 1 << 20, batch_distribution::cluster, 1 << 16);
  EXPECT_LE(all.gaps(), 2u * (1 << 16) / 3000);
}

TEST(BatchLayout, TooManyKeysHaveNoRoom) {
  EXPECT_FALSE(batch_layout(scalar_kind::u32, 1, 1).has_room_for((std::uint64_t{1} << 28) + 1));
  EXPECT_FALSE(batch_layout(scalar_kind::u32, std::uint64_t{1} << 31, 1).has_room_for(std::uint64_t{1} << 30));
  EXPECT_FALSE(batch_layout(scalar_kind::u32, std::uint64_t{0xffffffff}, 1).has_room_for(1));
  EXPECT_TRUE(batch_layout(scalar_kind::u32, std::uint64_t{1} << 26, 1).has_room_for(std::uint64_t{1} << 24));
}

}  // namespace
}  // namespace espalier::cli_test
