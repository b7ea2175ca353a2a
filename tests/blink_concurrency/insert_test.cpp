// insert_test.cpp - several threads insert at once, in the orders that break trees: sorted, reversed, all the same.
#include "blink_concurrency/common.hpp"

namespace espalier::test {
namespace {

template <class Kind>
class BlinkTreeInserts : public testing::Test {
 protected:
  using key_type = typename Kind::key;
  using tree_type = typename Kind::tree;
  static constexpr key_type each = 20000 / less_work;  ///< keys per thread
  static constexpr key_type total = each * many_threads;

  /// Threads insert the keys that key_of(thread, i) names, all of [0, total) together, each once.
  static void insert_disjoint(const std::function<key_type(unsigned, key_type)>& key_of) {
    tree_type tree(device::cpu(2));
    auto ref = tree.ref(total);
    std::atomic<unsigned> failed{0};
    in_threads(many_threads, [&](unsigned t) {
      for (key_type i = 0; i < each; ++i) {
        const key_type k = key_of(t, i);
        if (ref.insert(scalar_team{}, k, value_of(k)) != write_result::inserted) ++failed;
        key_type found{};
        if (!ref.find(scalar_team{}, k, found) || found != value_of(k)) ++failed;
      }
    });
    EXPECT_EQ(failed.load(), 0u);
    const auto [keys, values] = content_of(tree);
    ASSERT_EQ(keys.size(), total);
    for (key_type k = 0; k < total; ++k) {
      ASSERT_EQ(keys[k], k);
      ASSERT_EQ(values[k], value_of(k));
    }
  }
};
TYPED_TEST_SUITE(BlinkTreeInserts, shared_trees, tree_kind_name);

TYPED_TEST(BlinkTreeInserts, SortedAndInterleavedLoseNothing) {
  using key = typename TypeParam::key;
  this->insert_disjoint([](unsigned t, key i) { return i * many_threads + t; });
}

TYPED_TEST(BlinkTreeInserts, SortedBlocksLoseNothing) {
  using key = typename TypeParam::key;
  this->insert_disjoint([](unsigned t, key i) { return t * TestFixture::each + i; });
}

TYPED_TEST(BlinkTreeInserts, ReversedAndInterleavedLoseNothing) {
  using key = typename TypeParam::key;
  this->insert_disjoint([](unsigned t, key i) { return TestFixture::total - 1 - (i * many_threads + t); });
}

TYPED_TEST(BlinkTreeInserts, ScatteredLoseNothing) {
  using key = typename TypeParam::key;
  array<key> order(TestFixture::total);
  for (key k = 0; k < TestFixture::total; ++k) order[k] = k;
  random_words random(3);
  shuffle(order, random);
  this->insert_disjoint([&](unsigned t, key i) { return order[t * TestFixture::each + i]; });
}

// All threads insert the same keys, each in an order of its own: one of them wins each key, and it knows.
TYPED_TEST(BlinkTreeInserts, EachContestedKeyHasOneWinner) {
  using key = typename TypeParam::key;
  constexpr key n = TestFixture::each;
  typename TypeParam::tree tree(device::cpu(2));
  auto ref = tree.ref(n * many_threads);
  std::vector<std::vector<std::uint8_t>> won(many_threads, std::vector<std::uint8_t>(n));
  in_threads(many_threads, [&](unsigned t) {
    for (key i = 0; i < n; ++i) {
      const key k = t % 2 == 0 ? i : n - 1 - i;
      won[t][k] = ref.insert(scalar_team{}, k, k * many_threads + t) == write_result::inserted ? 1 : 0;
    }
  });
  const auto [keys, values] = content_of(tree);
  ASSERT_EQ(keys.size(), n);
  for (key k = 0; k < n; ++k) {
    unsigned winners = 0;
    for (unsigned t = 0; t < many_threads; ++t) winners += won[t][k];
    ASSERT_EQ(winners, 1u) << "key " << k;
    ASSERT_EQ(won[values[k] % many_threads][k], 1) << "key " << k << " has a loser's value";
  }
}

// Few keys and many inserts and erases of each: those that succeed alternate, so they balance.
TYPED_TEST(BlinkTreeInserts, InsertsAndErasesOfFewKeysBalance) {
  using key = typename TypeParam::key;
  constexpr key contested = 24;  // two leaves
  constexpr unsigned rounds = 40000 / less_work;
  typename TypeParam::tree tree(device::cpu(2));
  auto ref = tree.ref(rounds * many_threads);
  std::vector<std::vector<int>> balance(many_threads, std::vector<int>(contested));
  std::atomic<unsigned> out_of_nodes{0};
  in_threads(many_threads, [&](unsigned t) {
    random_words random(t);
    for (unsigned i = 0; i < rounds; ++i) {
      const key k = static_cast<key>(random.below(contested));
      if (random.below(2) == 0) {
        const write_result outcome = ref.insert(scalar_team{}, k, value_of(k));
        if (outcome == write_result::inserted) ++balance[t][k];
        if (outcome == write_result::out_of_nodes) ++out_of_nodes;
      } else if (ref.erase(scalar_team{}, k) == write_result::erased) {
        --balance[t][k];
      }
    }
  });
  EXPECT_EQ(out_of_nodes.load(), 0u);
  const auto [keys, values] = content_of(tree);
  for (key k = 0; k < contested; ++k) {
    int left = 0;
    for (unsigned t = 0; t < many_threads; ++t) left += balance[t][k];
    const bool there = std::find(keys.begin(), keys.end(), k) != keys.end();
    EXPECT_EQ(left, there ? 1 : 0) << "key " << k;
  }
}

// Nodes run out while several threads want one: who is refused has changed nothing, and the tree grows from there as if
// nobody had asked.
TYPED_TEST(BlinkTreeInserts, WithoutRoomChangeNothing) {
  using key = typename TypeParam::key;
  constexpr key share = 800, sum = share * many_threads;
  array<key> order(sum);  // scattered, so that threads split different leaves at once
  for (key k = 0; k < sum; ++k) order[k] = k;
  random_words random(4);
  shuffle(order, random);
  for (unsigned round = 0; round < 60 / std::min(less_work, 6u); ++round) {
    typename TypeParam::tree tree(device::cpu(2));
    const auto narrow = tree.ref(0);
    std::vector<std::vector<key>> refused(many_threads);
    in_threads(many_threads, [&](unsigned t) {
      for (key i = 0; i < share; ++i) {
        const key k = order[t * share + i];
        if (narrow.insert(scalar_team{}, k, value_of(k)) == write_result::out_of_nodes) {
          refused[t].push_back(k);
          EXPECT_FALSE(narrow.contains(scalar_team{}, k)) << "key " << k << " was refused";
        }
      }
    });
    std::size_t left = 0;
    for (const auto& mine : refused) left += mine.size();
    EXPECT_GT(left, 0u) << "a new tree has no room for " << sum << " keys";
    ASSERT_EQ(content_of(tree).first.size(), sum - left) << "round " << round;
    const auto wide = tree.ref(left);
    in_threads(many_threads, [&](unsigned t) {
      for (const key k : refused[t]) EXPECT_EQ(wide.insert(scalar_team{}, k, value_of(k)), write_result::inserted) << k;
    });
    ASSERT_EQ(content_of(tree).first.size(), sum) << "round " << round;
    tree.maintain();
    ASSERT_EQ(content_of(tree).first.size(), sum) << "round " << round;
    if (this->HasFailure()) return;
  }
}

}  // namespace
}  // namespace espalier::test
