// visit_test.cpp - visits of CPU trees, also while others write to them.
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "blink_concurrency/common.hpp"
#include "blink_tree/visit_suite.hpp"

namespace espalier::test {
namespace {

[[nodiscard]] std::vector<const setting*> cpu_settings() {
  std::vector<const setting*> all = all_settings();
  std::erase_if(all, [](const setting* s) { return s->dev.kind() != device_kind::cpu; });
  return all;
}

using link_classic = blink_policy<protocol::blink, inner_index::inner_nodes>;
using couple_classic = blink_policy<protocol::latch_coupling, inner_index::inner_nodes>;
using none_express = blink_policy<protocol::single_writer, inner_index::express_lane>;
using none_classic = blink_policy<protocol::single_writer, inner_index::inner_nodes>;
template <unsigned Slots>
using link_of = blink_policy<protocol::blink, inner_index::express_lane, Slots>;

using visited_kinds = testing::Types<
    visited_kind<std::uint32_t, std::uint32_t>, visited_kind<std::int64_t, double>, visited_kind<double, pair_value>,
    visited_kind<std::uint8_t, void>, visited_kind<std::uint64_t, std::uint64_t, link_classic>,
    visited_kind<std::uint32_t, std::uint32_t, couple_classic>,
    visited_kind<std::uint32_t, std::uint32_t, none_express>, visited_kind<std::uint64_t, std::uint64_t, none_classic>,
    visited_kind<std::uint32_t, std::uint32_t, link_of<8>>, visited_kind<std::uint64_t, std::uint64_t, link_of<128>>>;
struct visited_name {
  template <class Kind>
  static std::string GetName(int i) {
    static constexpr const char* names[] = {"u32",        "i64_double",   "f64_pair",     "u8_set",     "u64_classic",
                                            "u32_couple", "u32_unshared", "u64_unshared", "u32_narrow", "u64_wide"};
    return names[i];
  }
};

const std::vector<std::size_t> small_sizes{0, 1, 2, 13, 200, 1500};
const std::vector<std::size_t> several_pieces{30000};  // more than two of them, at the least

template <class Kind>
class BlinkTreeVisit : public blink_visit_suite<Kind> {};
TYPED_TEST_SUITE(BlinkTreeVisit, visited_kinds, visited_name);

TYPED_TEST(BlinkTreeVisit, SmallReduceMeetsEveryElementOnce) {
  TestFixture::for_trees(cpu_settings(), small_sizes, TestFixture::check_reduce);
}
TYPED_TEST(BlinkTreeVisit, SmallTransformWritesEachElementAtItsRank) {
  TestFixture::for_trees(cpu_settings(), small_sizes, TestFixture::check_transform);
}
TYPED_TEST(BlinkTreeVisit, LargeTreesAreVisitedInPieces) {
  TestFixture::for_trees(cpu_settings(), several_pieces, [](const auto& here, const auto& tree, const auto& marks) {
    using pieces =
        visiting::leaf_pieces<typename TypeParam::key, typename TypeParam::value, typename TypeParam::policy>;
    tree.untyped().visit(
        detail::visit_concurrency::writers,
        [&](const detail::leaf_table& leaves) {
          EXPECT_EQ(pieces(leaves, visit_order::by_key).size(), 1u);
          EXPECT_GE(pieces(leaves, visit_order::any).size(), marks.size() > 15000 ? 2u : 1u);
        },
        here.own);
    TestFixture::check_reduce(here, tree, marks);
    TestFixture::check_transform(here, tree, marks);
    TestFixture::check_async(here, tree, marks);
  });
}

TYPED_TEST(BlinkTreeVisit, ForEachByKeyCallsInKeyOrderAndNeedsNoLock) {
  TestFixture::for_trees(
      cpu_settings(), {0, 1, 200, 9000}, [](const setting& here, const auto& tree, const auto& marks) {
        std::vector<std::uint64_t> seen;
        const auto see = [&](const auto&... element) { seen.push_back(mark_of_element{}(element...)); };
        for_each(tree, see, visit_order::by_key);
        ASSERT_EQ(seen, marks);
        seen.clear();
        for_each_async(tree, see, visit_order::by_key, here.own);
        here.own.synchronize();
        ASSERT_EQ(seen, marks);
      });
}

TYPED_TEST(BlinkTreeVisit, ForEachInAnyOrderMeetsEveryElementOnce) {
  TestFixture::for_trees(cpu_settings(), {0, 1, 200, 30000}, [](const setting&, const auto& tree, auto marks) {
    std::mutex mutex;
    std::vector<std::uint64_t> seen;
    for_each(tree, [&](const auto&... element) {
      const std::lock_guard lock(mutex);
      seen.push_back(mark_of_element{}(element...));
    });
    std::sort(seen.begin(), seen.end());
    std::sort(marks.begin(), marks.end());
    ASSERT_EQ(seen, marks);
  });
}

using tree_u32 = blink_tree<std::uint32_t, std::uint32_t>;

// Writes through a ref are not tidied up after: the lane is as old as can be, and long chains hang on its leaves.
TEST(BlinkTreeVisitChains, AVisitFollowsWhatTheLaneDoesNotKnow) {
  constexpr std::uint32_t n = 20000;
  array<std::uint32_t> keys(n);
  for (std::uint32_t i = 0; i < n; ++i) keys[i] = 64 * i;
  tree_u32 tree = tree_u32::build(keys.span(), keys.span(), {}, device::cpu(2));
  auto ref = tree.ref(n);
  std::uint64_t sum = 0;
  for (const std::uint32_t k : keys) sum += k;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t k = 64 * (n / 2) + 64 * (i / 16) + 1 + i % 16;  // sixteen between two, in part of the tree
    ASSERT_EQ(ref.insert(scalar_team{}, k, k), write_result::inserted);
    sum += k;
  }
  for (std::uint32_t i = 0; i < n / 4; ++i) {  // and some leaves die
    ASSERT_EQ(ref.erase(scalar_team{}, 64 * i), write_result::erased);
    sum -= 64 * i;
  }
  const auto value = [](std::uint32_t, std::uint32_t v) { return std::uint64_t{v}; };
  EXPECT_EQ(reduce(tree, std::uint64_t{0}, value, plus_u64{}), sum);
  EXPECT_EQ(transform(tree, std::span<std::uint64_t>(), value), n + n - n / 4);
}

TEST(BlinkTreeVisitErrors, WhatAFunctorThrowsArrives) {
  array<std::uint32_t> keys(50000);
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = i;
  tree_u32 tree = tree_u32::build(keys.span(), keys.span(), {}, device::cpu(2));
  const auto throws = [](std::uint32_t key, std::uint32_t) {
    if (key == 31234) throw std::runtime_error("here");
  };
  EXPECT_THROW(for_each(tree, throws), std::runtime_error);
  // Nothing is left locked.
  EXPECT_EQ(tree.size(), keys.size());
  const array<std::uint32_t> more{1u << 20};
  tree.insert(more.span(), more.span());
  EXPECT_TRUE(tree.validate().ok);
}

// ---- beside writers ----------------------------------------------------------------------------------------------
/// Every `stride`-th key stays; two writers erase and bring back all others, through a ref and through the owner, so
/// that leaves run empty, merge and split again.
template <class Kind>
class BlinkTreeVisitBesideWriters : public testing::Test {
 protected:
  using key_type = typename Kind::key;
  using tree_type = typename Kind::tree;
  static constexpr key_type stride = 40, stays = 1000 / less_work, all = stride * stays;

  /// look(tree) until the writers are done.
  template <class Look>
  static void under_churn(bool with_ref, Look look) {
    tree_type tree(device::cpu(2));
    array<key_type> keys(all), values(all);
    for (key_type k = 0; k < all; ++k) {
      keys[k] = k;
      values[k] = value_of(k);
    }
    tree.insert(keys.span(), values.span());
    std::atomic<unsigned> writers{2};
    const auto ref = with_ref ? tree.ref(all * 4) : tree.ref();
    if (!with_ref) tree.maintain();  // and with it goes the ref
    in_threads(3, [&](unsigned t) {
      if (t == 2) {
        do {
          look(tree);
        } while (writers.load() != 0);
        return;
      }
      for (unsigned round = 0; round < 2; ++round) {
        if (with_ref) {
          churn_by_ref(ref, t);
        } else {
          churn_by_owner(tree, t);
        }
      }
      --writers;
    });
    EXPECT_EQ(content_of(tree).first.size(), all);
  }

  /// Each key at most once and with its value, and those that stay exactly once.
  class tally_type {
   public:
    void add(key_type k, key_type value) {
      if (k >= all || value != value_of(k)) {
        ++wrong_;
      } else if (seen_[k].fetch_add(1, std::memory_order_relaxed) != 0) {
        ++wrong_;
      } else if (k % stride == 0) {
        ++stayed_;
      }
    }
    [[nodiscard]] bool right() const { return wrong_ == 0 && stayed_ == stays; }

   private:
    std::vector<std::atomic<std::uint8_t>> seen_ = std::vector<std::atomic<std::uint8_t>>(all);
    std::atomic<key_type> stayed_{0};
    std::atomic<unsigned> wrong_{0};
  };

 private:
  template <class Ref>
  static void churn_by_ref(const Ref& ref, unsigned t) {
    for (key_type k = 0; k < all; ++k) {
      if (k % stride == 0 || k % 2 != t) continue;
      EXPECT_EQ(ref.erase(scalar_team{}, k), write_result::erased);
    }
    for (key_type k = all; k-- > 0;) {
      if (k % stride == 0 || k % 2 != t) continue;
      EXPECT_EQ(ref.insert(scalar_team{}, k, value_of(k)), write_result::inserted);
    }
  }
  static void churn_by_owner(tree_type& tree, unsigned t) {
    std::vector<key_type> keys, values;
    for (key_type k = 0; k < all; ++k) {
      if (k % stride == 0 || k % 2 != t) continue;
      keys.push_back(k);
      values.push_back(value_of(k));
    }
    const stream own = tree.get_device().make_stream();
    constexpr std::size_t batch = 1000;
    constexpr write_options one_by_one{batch_semantics::concurrent, write_path::per_key};
    const auto of = [&](const std::vector<key_type>& v, std::size_t at) {
      return std::span<const key_type>(v).subspan(at, std::min(batch, v.size() - at));
    };
    for (std::size_t at = 0; at < keys.size(); at += batch) tree.erase(of(keys, at), {}, one_by_one, own);
    for (std::size_t at = 0; at < keys.size(); at += batch)
      tree.insert(of(keys, at), of(values, at), {}, one_by_one, own);
  }
};
TYPED_TEST_SUITE(BlinkTreeVisitBesideWriters, shared_trees, tree_kind_name);

TYPED_TEST(BlinkTreeVisitBesideWriters, ForEachMeetsWhatStaysOnce) {
  using key = typename TypeParam::key;
  for (const bool with_ref : {true, false}) {
    TestFixture::under_churn(with_ref, [](const auto& tree) {
      typename TestFixture::tally_type tally;
      for_each(tree, [&](key k, key value) { tally.add(k, value); });
      EXPECT_TRUE(tally.right());
    });
  }
}

TYPED_TEST(BlinkTreeVisitBesideWriters, ForEachByKeyAscends) {
  using key = typename TypeParam::key;
  for (const bool with_ref : {true, false}) {
    TestFixture::under_churn(with_ref, [](const auto& tree) {
      typename TestFixture::tally_type tally;
      key last = 0;
      bool ascends = true;
      for_each(
          tree,
          [&](key k, key value) {
            tally.add(k, value);
            ascends = ascends && (k == 0 || k > last);
            last = k;
          },
          visit_order::by_key);
      EXPECT_TRUE(tally.right());
      EXPECT_TRUE(ascends);
    });
  }
}

TYPED_TEST(BlinkTreeVisitBesideWriters, ReduceMeetsWhatStaysOnce) {
  using key = typename TypeParam::key;
  const auto staying = [](key k, key value) {
    return k % TestFixture::stride == 0 && value == value_of(k) ? std::uint64_t{k} + 1 : 0;
  };
  std::uint64_t want = 0;
  for (key k = 0; k < TestFixture::all; k += TestFixture::stride) want += std::uint64_t{k} + 1;
  for (const bool with_ref : {true, false}) {
    TestFixture::under_churn(
        with_ref, [&](const auto& tree) { EXPECT_EQ(reduce(tree, std::uint64_t{0}, staying, plus_u64{}), want); });
  }
}

// The owner's writes wait for it: what it sees is one moment.
TYPED_TEST(BlinkTreeVisitBesideWriters, TransformOfTheOwnersTreeSeesOneMoment) {
  using key = typename TypeParam::key;
  TestFixture::under_churn(false, [](const auto& tree) {
    array<key> keys(TestFixture::all);
    const std::size_t n = transform(tree, keys.span(), [](key k, key) { return k; });
    ASSERT_LE(n, std::size_t{TestFixture::all});
    key staying = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(i == 0 || keys[i - 1] < keys[i]) << "rank " << i;
      if (keys[i] % TestFixture::stride == 0) ++staying;
    }
    EXPECT_EQ(staying, key{TestFixture::stays});
  });
}

}  // namespace
}  // namespace espalier::test
