// ref_growth_gpu_test.cu - teams of one warp that meet at a leaf: of one tree, of two, and some of them elsewhere.
// Skipped where there is no GPU.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "blink_tree/gpu_kernels.cuh"

namespace espalier::test {
namespace {

/// Neighbouring teams write to different trees.
template <class Tree>
struct insert_by_turns {
  using key = typename Tree::key_type;
  typename Tree::ref_type even, odd;
  const key* keys;
  std::uint8_t* outcome;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const auto value = static_cast<key>(i + 1);
    const write_result r = i % 2 == 0 ? even.insert(team, keys[i], value) : odd.insert(team, keys[i], value);
    if (threadIdx.x % Team::lanes() == 0) outcome[i] = static_cast<std::uint8_t>(r);
  }
};

/// Of three neighbours one inserts, one assigns, and one is late.
template <class Tree>
struct insert_diverged {
  using key = typename Tree::key_type;
  typename Tree::ref_type ref;
  const key* keys;
  std::uint8_t* outcome;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const auto value = static_cast<key>(i + 1);
    write_result r = write_result::out_of_nodes;
    if (i % 3 == 0) {
      r = ref.insert(team, keys[i], value);
    } else if (i % 3 == 1) {
      r = ref.insert_or_assign(team, keys[i], value);
    } else {
      __nanosleep(static_cast<unsigned>(i % 7) * 500);
      r = ref.insert_or_assign(team, keys[i], value);
    }
    if (threadIdx.x % Team::lanes() == 0) outcome[i] = static_cast<std::uint8_t>(r);
  }
};

/// Neighbouring threads count with different counters.
struct take_tickets {
  static constexpr unsigned counters = 3;
  std::uint64_t* counter;
  std::uint64_t* ticket;

  template <class Team>
  __device__ void operator()(Team, std::size_t i) const {
    ticket[i] = atomic_word_ref{counter + i % counters}.fetch_increment_aggregated();
  }
};

class BlinkTreeRefGrowthGpu : public testing::TestWithParam<const setting*> {
 protected:
  static std::size_t few_keys() {
    const char* const asked = std::getenv("ESPALIER_GPU_TEST_KEYS");
    return std::max<std::size_t>(1000, asked == nullptr ? 20000 : std::strtoul(asked, nullptr, 10));
  }

  template <class Tree>
  static void expect(const Tree& tree, const std::map<typename Tree::key_type, typename Tree::key_type>& expected) {
    using key = typename Tree::key_type;
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    const array<key> ends{key{0}, static_cast<key>(~key{0})};
    const auto all = tree.range(ends.span().first(1), ends.span().last(1));
    const auto keys = all.keys.to_vector(), values = all.values.to_vector();
    ASSERT_EQ(keys.size(), expected.size());
    std::size_t i = 0;
    for (const auto& [k, value] : expected) {
      ASSERT_EQ(keys[i], k);
      ASSERT_EQ(values[i], value) << "of key " << k;
      ++i;
    }
  }

  template <unsigned Lanes, class Tree>
  static void two_trees(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    const setting& here = *GetParam();
    gpu_runner runner(here);
    Tree trees[2] = {Tree(here.dev), Tree(here.dev)};
    std::map<key, key> expected[2];
    const array<key> keys = arriving<key>(a, n, 1);
    lent<key> k(here, keys);
    lent<std::uint8_t> outcome(here, n);
    const insert_by_turns<Tree> body{trees[0].ref(n), trees[1].ref(n), k.in().data(), outcome.span().data()};
    runner.template launch<tile<Lanes>>(n, body);
    const auto& got = outcome.get();
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NE(got[i], static_cast<std::uint8_t>(write_result::out_of_nodes)) << "no room for element " << i;
      if (got[i] == static_cast<std::uint8_t>(write_result::inserted)) {
        ASSERT_TRUE(expected[i % 2].emplace(keys[i], static_cast<key>(i + 1)).second) << "two winners of " << keys[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(expected[i % 2].count(keys[i]), 1u) << "nobody won " << keys[i];
    expect(trees[0], expected[0]);
    expect(trees[1], expected[1]);
  }

  template <unsigned Lanes, class Tree>
  static void diverged(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    const setting& here = *GetParam();
    gpu_runner runner(here);
    Tree tree(here.dev);
    const array<key> keys = arriving<key>(a, n, 2);
    std::map<key, unsigned> winners;
    lent<key> k(here, keys);
    lent<std::uint8_t> outcome(here, n);
    const insert_diverged<Tree> body{tree.ref(n), k.in().data(), outcome.span().data()};
    runner.template launch<tile<Lanes>>(n, body);
    const auto& got = outcome.get();
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NE(got[i], static_cast<std::uint8_t>(write_result::out_of_nodes)) << "no room for element " << i;
      winners[keys[i]] += got[i] == static_cast<std::uint8_t>(write_result::inserted) ? 1 : 0;
    }
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(tree.size(), winners.size());
    array<key> asked(winners.size());
    std::size_t at = 0;
    for (const auto& [one, count] : winners) {
      ASSERT_EQ(count, 1u) << "winners of key " << one;
      asked[at++] = one;
    }
    lent<key> q(here, asked), values(here, winners.size());
    tree.find(q.in(), values.span());
    const auto& found = values.get();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto writer = static_cast<std::size_t>(found[i]) - 1;
      ASSERT_LT(writer, n);
      ASSERT_EQ(keys[writer], asked[i]) << "a value that was written for another key";
      const bool by_insert = writer % 3 == 0;
      ASSERT_TRUE(!by_insert || got[writer] == 0) << "an insert that changed nothing left its value";
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlinkTreeRefGrowthGpu);

using growth_u32 = blink_tree<std::uint32_t, std::uint32_t>;
using growth_u64 = blink_tree<std::uint64_t, std::uint64_t>;
using growth_classic =
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::inner_nodes>>;
using growth_wide =
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 32>>;

TEST_P(BlinkTreeRefGrowthGpu, SmallTeamsOfOneWarpWriteToTwoTrees) {
  for (const arrival a : all_arrivals) {
    for_every_width([&]<unsigned Lanes>() { two_trees<Lanes, growth_u32>(a, few_keys()); });
    two_trees<4, growth_u64>(a, few_keys());
    two_trees<4, growth_classic>(a, few_keys());
  }
}

TEST_P(BlinkTreeRefGrowthGpu, SmallTeamsThatInsertMeetOthersThatAssign) {
  for (const arrival a : all_arrivals) {
    for_every_width([&]<unsigned Lanes>() { diverged<Lanes, growth_u32>(a, few_keys()); });
    diverged<1, growth_u64>(a, few_keys());
    diverged<8, growth_u64>(a, few_keys());
    diverged<4, growth_classic>(a, few_keys());
    diverged<4, growth_wide>(a, few_keys());
  }
}

/// Team i adds 1 to the counter of key i % keys.
template <class Tree>
struct count_up {
  using key = typename Tree::key_type;
  typename Tree::ref_type ref;
  std::size_t keys;
  std::uint8_t* outcome;

  template <class Team>
  __device__ void operator()(Team team, std::size_t i) const {
    const write_result r =
        ref.insert_or_apply(team, static_cast<key>(i % keys), key{1}, [](key sum, key more) { return sum + more; });
    if (threadIdx.x % Team::lanes() == 0) outcome[i] = static_cast<std::uint8_t>(r);
  }
};
template <unsigned Lanes, class Tree>
void count_together(const setting& here, std::size_t n, std::size_t keys) {
  using key = typename Tree::key_type;
  SCOPED_TRACE(std::to_string(n) + " additions to " + std::to_string(keys) + " keys");
  gpu_runner runner(here);
  Tree tree(here.dev);
  lent<std::uint8_t> outcome(here, n);
  runner.template launch<tile<Lanes>>(n, count_up<Tree>{tree.ref(n), keys, outcome.span().data()});
  const auto& got = outcome.get();
  std::size_t inserted = 0, assigned = 0;
  for (std::size_t i = 0; i < n; ++i) {
    inserted += got[i] == static_cast<std::uint8_t>(write_result::inserted) ? 1 : 0;
    assigned += got[i] == static_cast<std::uint8_t>(write_result::assigned) ? 1 : 0;
  }
  EXPECT_EQ(inserted, std::min(n, keys));
  EXPECT_EQ(inserted + assigned, n);
  array<key> asked(std::min(n, keys));
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i] = static_cast<key>(i);
  lent<key> q(here, asked), values(here, asked.size());
  tree.find(q.in(), values.span());
  const auto& sums = values.get();
  for (std::size_t i = 0; i < asked.size(); ++i)
    ASSERT_EQ(sums[i], static_cast<key>(n / keys + (i < n % keys ? 1 : 0))) << "additions to key " << i;
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
}

TEST_P(BlinkTreeRefGrowthGpu, SmallAdditionsUnderTheLatchLoseNothing) {
  for (const std::size_t keys : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
    for_every_width([&]<unsigned Lanes>() { count_together<Lanes, growth_u32>(*GetParam(), few_keys(), keys); });
    count_together<4, growth_u64>(*GetParam(), few_keys(), keys);
    count_together<4, growth_classic>(*GetParam(), few_keys(), keys);
    count_together<4, growth_wide>(*GetParam(), few_keys(), keys);
  }
}

TEST_P(BlinkTreeRefGrowthGpu, SmallTicketsOfSeveralCountersAreEachTheirOwn) {
  const setting& here = *GetParam();
  const std::size_t n = few_keys();
  gpu_runner runner(here);
  lent<std::uint64_t> counter(here, array<std::uint64_t>{0, 0, 0}), ticket(here, n);
  runner.launch<tile<1>>(n, take_tickets{counter.span().data(), ticket.span().data()});
  const auto& got = ticket.get();
  std::vector<std::uint64_t> by_counter[take_tickets::counters];
  for (std::size_t i = 0; i < n; ++i) by_counter[i % take_tickets::counters].push_back(got[i]);
  for (auto& tickets : by_counter) {
    std::sort(tickets.begin(), tickets.end());
    for (std::size_t i = 0; i < tickets.size(); ++i) ASSERT_EQ(tickets[i], i);
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeRefGrowthGpu, testing::ValuesIn(gpu_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
