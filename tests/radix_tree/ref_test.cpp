// ref_test.cpp - a ref in the caller's own threads answers like the owner.
#include "espalier/radix_tree/ref.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "radix_tree/families.hpp"

namespace espalier::test {
namespace {

TEST(RadixTreeRef, AnswersLikeTheOwnerInManyThreads) {
  static_assert(std::is_trivially_copyable_v<radix_tree_ref<std::uint64_t>>);
  for (const byte_family f : all_byte_families) {
    SCOPED_TRACE(to_string(f));
    const strings keys = byte_keys_of(f, 500);
    std::vector<std::uint64_t> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = i + 1;
    auto tree = radix_tree<std::uint64_t>::build(keys, values, {}, device::cpu(1));
    tree.insert(questions_about(keys, 20), std::vector<std::uint64_t>(20, 5), {}, radix_path::in_place);
    const strings asked = questions_about(keys, 400, 3);
    std::vector<std::uint64_t> expected(asked.size()), ranks(asked.size()), counts(asked.size());
    std::vector<std::uint32_t> lengths(asked.size());
    std::vector<std::uint8_t> found(asked.size()), matched(asked.size());
    tree.find(asked, expected, found);
    tree.rank(asked, ranks);
    tree.count_prefix(asked, counts);
    tree.longest_prefix(asked, lengths, {}, matched);
    const auto all = tree.prefix(strings{""}).keys();
    const auto ref = tree.ref();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const byte_key_view key = ref.key(asked[i]);
          std::uint64_t value = 0;
          std::uint32_t length = 0;
          EXPECT_EQ(ref.find(scalar_team{}, key, value), found[i] != 0);
          EXPECT_EQ(value, expected[i]);
          EXPECT_EQ(ref.contains(scalar_team{}, key), found[i] != 0);
          EXPECT_EQ(ref.rank(scalar_team{}, key), ranks[i]);
          const auto slice = ref.prefix(scalar_team{}, key);
          EXPECT_EQ(slice.last - slice.first, counts[i]);
          EXPECT_EQ(ref.longest_prefix(scalar_team{}, key, length), matched[i] != 0);
          EXPECT_EQ(length, lengths[i]);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(ref.size(), all.size());
    for (std::size_t rank = 0; rank < all.size(); rank += 7) {
      std::string key;
      for (std::uint32_t i = 0; i < ref.key_size_at(rank); ++i) key += static_cast<char>(ref.key_byte_at(rank, i));
      ASSERT_EQ(key, all[rank]);
      std::uint64_t value = 0;
      ASSERT_TRUE(ref.find(scalar_team{}, ref.key(key), value));
      ASSERT_EQ(ref.value_at(rank), value);
    }
  }
}

}  // namespace
}  // namespace espalier::test
