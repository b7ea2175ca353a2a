// reader_test.cpp - what was there before a reader asked, and stays, is always found: under splits, merges and updates.
#include "blink_concurrency/common.hpp"

namespace espalier::test {
namespace {

template <class Kind>
class BlinkTreeReaders : public testing::Test {
 protected:
  using key_type = typename Kind::key;
  using tree_type = typename Kind::tree;
  using ref_type = typename tree_type::ref_type;
};
TYPED_TEST_SUITE(BlinkTreeReaders, shared_trees, tree_kind_name);

// Writers insert along a shared order and say how far they are; readers ask for what lies behind.
TYPED_TEST(BlinkTreeReaders, FindWhatWasInsertedBeforeWhileLeavesSplit) {
  using key = typename TypeParam::key;
  constexpr key n = 60000 / less_work;
  for (const family f : {family::ascending, family::descending, family::shuffled}) {
    array<key> order(n);
    for (key i = 0; i < n; ++i) order[i] = f == family::descending ? n - i : i + 1;
    random_words random(1);
    if (f == family::shuffled) shuffle(order, random);
    typename TypeParam::tree tree(device::cpu(2));
    auto ref = tree.ref(n);
    std::atomic<key> written[2] = {0, 0};  // writer w inserts order[2 i + w]
    std::atomic<unsigned> lost{0}, invented{0};
    in_threads(4, [&](unsigned t) {
      if (t < 2) {
        for (key i = 0; 2 * i + t < n; ++i) {
          const key k = order[2 * i + t];
          (void)ref.insert(scalar_team{}, k, value_of(k));
          written[t].store(i + 1, std::memory_order_release);
        }
        return;
      }
      random_words mine(t);
      for (bool more = true; more;) {
        const unsigned w = static_cast<unsigned>(mine.below(2));
        const key done = written[w].load(std::memory_order_acquire);
        more = written[0].load() + written[1].load() < n;
        if (done == 0) continue;
        const key k = order[2 * static_cast<key>(mine.below(4) == 0 ? done - 1 : mine.below(done)) + w];
        key value{};
        if (!ref.find(scalar_team{}, k, value) || value != value_of(k)) ++lost;
        if (ref.contains(scalar_team{}, key{n + 1 + k})) ++invented;
      }
    });
    EXPECT_EQ(lost.load(), 0u) << to_string(f);
    EXPECT_EQ(invented.load(), 0u) << to_string(f);
    EXPECT_EQ(content_of(tree).first.size(), n);
  }
}

/// Every `stride`-th key stays. Writers erase and bring back all others, each in a share of its own, so that leaves run
/// empty, merge and split again; readers look at what stays.
template <class Kind>
class BlinkTreeMerges : public BlinkTreeReaders<Kind> {
 protected:
  using typename BlinkTreeReaders<Kind>::key_type;
  static constexpr key_type stride = 40, stays = 300, all = stride * stays;
  static constexpr unsigned rounds = 6;

  /// look(ref, random): what a reader does until the writers are done. Gives how many looks were wrong.
  static unsigned under_churn(
      const std::function<bool(typename BlinkTreeReaders<Kind>::ref_type&, random_words&)>& look) {
    typename Kind::tree tree(device::cpu(2));
    array<key_type> keys(all), values(all);
    for (key_type k = 0; k < all; ++k) {
      keys[k] = k;
      values[k] = value_of(k);
    }
    tree.insert(keys.span(), values.span());
    auto ref = tree.ref(all * (rounds + 1));
    std::atomic<unsigned> wrong{0}, writers{2};
    in_threads(4, [&](unsigned t) {
      random_words random(t);
      auto mine = ref;
      if (t < 2) {
        for (unsigned round = 0; round < std::max(1u, rounds / (less_work > 1 ? 3 : 1)); ++round) {
          if (!erase_and_insert(mine, t, round)) ++wrong;
        }
        --writers;
      } else {
        do {
          if (!look(mine, random)) ++wrong;
        } while (writers.load() != 0);
      }
    });
    EXPECT_EQ(content_of(tree).first.size(), all);
    return wrong;
  }

 private:
  template <class Ref>
  static bool erase_and_insert(Ref& ref, unsigned t, unsigned round) {
    bool right = true;
    for (key_type i = 0; i < all; ++i) {
      const key_type k = round % 2 == 0 ? i : all - 1 - i;
      if (k % stride == 0 || k % 2 != t) continue;
      right &= ref.erase(scalar_team{}, k) == write_result::erased;
      right &= !ref.contains(scalar_team{}, k);
    }
    for (key_type i = 0; i < all; ++i) {
      const key_type k = round % 3 == 0 ? all - 1 - i : i;
      if (k % stride == 0 || k % 2 != t) continue;
      right &= ref.insert(scalar_team{}, k, value_of(k)) == write_result::inserted;
    }
    return right;
  }
};
TYPED_TEST_SUITE(BlinkTreeMerges, shared_trees, tree_kind_name);

TYPED_TEST(BlinkTreeMerges, KeysThatStayAreFound) {
  using key = typename TypeParam::key;
  const unsigned wrong = this->under_churn([](auto& ref, random_words& random) {
    const key k = TestFixture::stride * static_cast<key>(random.below(TestFixture::stays));
    key value{};
    return ref.find(scalar_team{}, k, value) && value == value_of(k) &&
           !ref.contains(scalar_team{}, key{TestFixture::all + k});
  });
  EXPECT_EQ(wrong, 0u);
}

TYPED_TEST(BlinkTreeMerges, NeighboursNeverSkipAKeyThatStays) {
  using key = typename TypeParam::key;
  const unsigned wrong = this->under_churn([](auto& ref, random_words& random) {
    constexpr key gap = TestFixture::stride;
    const key k = gap * static_cast<key>(random.below(TestFixture::stays - 1));
    key at{}, value{};
    bool right = ref.lower_bound(scalar_team{}, k, at, value) && at == k && value == value_of(k);
    right &= ref.lower_bound(scalar_team{}, key{k + 1}, at, value) && at > k && at <= k + gap && value == value_of(at);
    right &= ref.successor(scalar_team{}, k, at, value) && at > k && at <= k + gap && value == value_of(at);
    right &=
        ref.predecessor(scalar_team{}, key{k + gap}, at, value) && at >= k && at < k + gap && value == value_of(at);
    return right;
  });
  EXPECT_EQ(wrong, 0u);
}

// A scan sees every key that stays exactly once, all keys in order, and no key outside its interval.
TYPED_TEST(BlinkTreeMerges, ScansSeeEachKeyThatStaysOnceAndInOrder) {
  using key = typename TypeParam::key;
  const unsigned wrong = this->under_churn([](auto& ref, random_words& random) {
    constexpr key gap = TestFixture::stride;
    const key lo = static_cast<key>(random.below(TestFixture::all));
    const key hi = lo + static_cast<key>(random.below(TestFixture::all - lo));
    key next = (lo + gap - 1) / gap * gap, last{};  // the next one that stays; the last one seen
    bool right = true, first = true;
    ref.range(scalar_team{}, lo, hi, [&](key k, key value) {
      right &= (first || k > last) && k >= lo && k <= hi && k <= next && value == value_of(k);
      if (k == next) next += gap;
      last = k;
      first = false;
      return true;
    });
    return right && next > hi;
  });
  EXPECT_EQ(wrong, 0u);
}

TYPED_TEST(BlinkTreeMerges, AScanEndsWhereItIsTold) {
  using key = typename TypeParam::key;
  const unsigned wrong = this->under_churn([](auto& ref, random_words& random) {
    const unsigned most = static_cast<unsigned>(1 + random.below(30));
    unsigned seen = 0;
    ref.range(scalar_team{}, key{0}, key{TestFixture::all}, [&](key, key) { return ++seen < most; });
    return seen == most;
  });
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace espalier::test
