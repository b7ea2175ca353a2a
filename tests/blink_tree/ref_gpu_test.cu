// ref_gpu_test.cu - refs in user kernels: many teams of every width insert, find and erase at once. Skipped where there
// is no GPU.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "blink_tree/gpu_kernels.cuh"

namespace espalier::test {
namespace {

template <class Key>
using content = std::map<Key, Key>;

class BlinkTreeRefGpu : public testing::TestWithParam<const setting*> {
 protected:
  template <class Tree>
  static void expect_content(const Tree& tree, const content<typename Tree::key_type>& expected) {
    using key = typename Tree::key_type;
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(tree.size(), expected.size());
    const array<key> ends{key{0}, static_cast<key>(~key{0})};
    const auto all = tree.range(ends.span().first(1), ends.span().last(1));
    const auto keys = all.keys.to_vector();
    const auto values = all.values.to_vector();
    ASSERT_EQ(keys.size(), expected.size());
    std::size_t i = 0;
    for (const auto& [k, value] : expected) {
      ASSERT_EQ(keys[i], k) << "element " << i;
      ASSERT_EQ(values[i], value) << "value of key " << k;
      ++i;
    }
  }

  /// Each key has one winner; its value is the one that the tree must hold.
  template <class Key>
  static void follow_inserts(const std::vector<recorded_op>& log, content<Key>& expected) {
    for (const recorded_op& r : log) {
      ASSERT_LE(r.done, 1) << "no room for key " << r.key;
      const bool won = r.done == 1;
      const auto key = static_cast<Key>(r.key);
      if (won) {
        ASSERT_TRUE(expected.emplace(key, static_cast<Key>(r.argument)).second) << "two winners of key " << r.key;
      }
    }
    for (const recorded_op& r : log) ASSERT_EQ(expected.count(static_cast<Key>(r.key)), 1u) << "nobody won " << r.key;
  }

  template <unsigned Lanes, class Tree>
  static void insert_all(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    array<blink_op> ops(n);
    std::fill(ops.begin(), ops.end(), blink_op::insert);
    content<key> expected;
    for (const std::uint64_t seed : {1u, 2u}) {  // into an empty tree, then into a full one
      const auto log = runner.template run<Lanes>(tree, ops, arriving<key>(a, n, seed));
      follow_inserts(log, expected);
      if (HasFatalFailure()) return;
      expect_content(tree, expected);
      tree.maintain();
    }
    expect_content(tree, expected);
  }

  /// Nodes run out under thousands of teams: who is refused has changed nothing, and is welcome once there is room.
  template <unsigned Lanes, class Tree>
  static void insert_without_room(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    array<key> keys = arriving<key>(a, n, 1);
    content<key> expected;
    for (const std::size_t room : {std::size_t{0}, n}) {
      array<blink_op> ops(keys.size());
      std::fill(ops.begin(), ops.end(), blink_op::insert);
      std::vector<key> left;
      for (const recorded_op& r : runner.template run_with_room<Lanes>(tree, room, ops, keys)) {
        if (r.done == 1) expected.emplace(static_cast<key>(r.key), static_cast<key>(r.argument));
        if (r.done == refused) left.push_back(static_cast<key>(r.key));
      }
      EXPECT_EQ(left.empty(), room != 0) << left.size() << " were refused";
      expect_content(tree, expected);
      if (HasFatalFailure()) return;
      keys = array<key>(std::span<const key>(left));
    }
    EXPECT_EQ(expected.size(), n);
    tree.maintain();
    expect_content(tree, expected);
  }

  /// Every other team inserts a new key while its neighbour looks for one that has been there for long.
  template <unsigned Lanes, class Tree>
  static void find_while_inserting(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    const array<key> known = arriving<key>(arrival::shuffled, n, 3);  // multiples of three
    array<blink_op> ops(n);
    std::fill(ops.begin(), ops.end(), blink_op::insert);
    content<key> expected;
    follow_inserts(runner.template run<Lanes>(tree, ops, known), expected);
    const content<key> before = expected;
    const array<key> fresh = arriving<key>(a, n / 2, 4);
    array<key> keys(n);
    for (std::size_t i = 0; i < n; ++i) {
      ops[i] = i % 2 == 0 ? blink_op::insert : blink_op::find;
      keys[i] = i % 2 == 0 ? static_cast<key>(fresh[i / 2] * 3 + 1) : known[i];
    }
    const auto log = runner.template run<Lanes>(tree, ops, keys);
    std::vector<recorded_op> inserts;
    for (const recorded_op& r : log) {
      if (r.what == blink_op::insert) {
        inserts.push_back(r);
      } else {
        ASSERT_EQ(r.done, 1) << "key " << r.key << " was not found while others were inserted";
        ASSERT_EQ(r.answer, before.at(static_cast<key>(r.key))) << "value of key " << r.key;
      }
    }
    follow_inserts(inserts, expected);
    expect_content(tree, expected);
  }

  /// Three of four keys are erased, by the team next to one that looks for a key that stays; then all are back.
  template <unsigned Lanes, class Tree>
  static void erase_while_finding(arrival a, std::size_t n) {
    using key = typename Tree::key_type;
    SCOPED_TRACE(to_string(a) + " x " + std::to_string(n));
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    const array<key> keys = arriving<key>(a, n, 5);
    array<blink_op> ops(n);
    content<key> expected;
    for (unsigned round = 0; round < 2; ++round) {
      std::fill(ops.begin(), ops.end(), blink_op::insert);
      follow_inserts(runner.template run<Lanes>(tree, ops, keys), expected);
      for (std::size_t i = 0; i < n; ++i) ops[i] = keys[i] % 4 == 0 ? blink_op::find : blink_op::erase;
      for (const recorded_op& r : runner.template run<Lanes>(tree, ops, keys)) {
        ASSERT_EQ(r.done, 1) << "key " << r.key;
        if (r.what == blink_op::find) {
          ASSERT_EQ(r.answer, expected.at(static_cast<key>(r.key)));
        }
        if (r.what == blink_op::erase) {
          ASSERT_EQ(expected.erase(static_cast<key>(r.key)), 1u) << "erased twice";
        }
      }
      expect_content(tree, expected);
      if (round == 0) tree.maintain();
      for (const recorded_op& r : runner.template run<Lanes>(tree, ops, keys)) {
        ASSERT_EQ(r.done != 0, r.what == blink_op::find) << "key " << r.key << " after it was erased";
      }
    }
  }

  template <unsigned Lanes, class Tree>
  static void neighbours(std::size_t n) {
    using key = typename Tree::key_type;
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    array<blink_op> ops(n);
    std::fill(ops.begin(), ops.end(), blink_op::insert);
    content<key> expected;
    follow_inserts(runner.template run<Lanes>(tree, ops, arriving<key>(arrival::shuffled, n, 6)), expected);
    constexpr std::size_t queries = 2000;
    array<key> from(queries), to(queries);
    random_words random(7);
    for (std::size_t i = 0; i < queries; ++i) {
      from[i] = i == 0 ? key{0} : i == 1 ? static_cast<key>(~key{0}) : static_cast<key>(random.below(3 * n + 9));
      to[i] = i == 2 ? static_cast<key>(~key{0}) : static_cast<key>(from[i] + random.below(300));
      if (i == 1) to[i] = from[i];
    }
    lent<key> lo(*GetParam(), from), hi(*GetParam(), to);
    lent<surroundings<key>> out(*GetParam(), queries);
    const look_around<Tree> body{tree.ref(), lo.in().data(), hi.in().data(), out.span().data()};
    runner.template launch<tile<Lanes>>(queries, body);
    const auto& got = out.get();
    for (std::size_t i = 0; i < queries; ++i) {
      SCOPED_TRACE("query " + std::to_string(i) + " for key " + std::to_string(from[i]));
      expect_surroundings(got[i], expected, from[i], to[i]);
      if (HasFatalFailure()) return;
    }
  }
  template <class Key>
  static void expect_surroundings(const surroundings<Key>& got, const content<Key>& expected, Key from, Key to) {
    const auto first = expected.lower_bound(from), next = expected.upper_bound(from);
    ASSERT_EQ(got.has_first != 0, first != expected.end());
    if (got.has_first != 0) {
      ASSERT_TRUE(got.first == first->first && got.first_value == first->second);
    }
    ASSERT_EQ(got.has_next != 0, next != expected.end());
    if (got.has_next != 0) {
      ASSERT_TRUE(got.next == next->first && got.next_value == next->second);
    }
    ASSERT_EQ(got.has_last != 0, first != expected.begin());
    if (got.has_last != 0) {
      const auto last = std::prev(first);
      ASSERT_TRUE(got.last == last->first && got.last_value == last->second);
    }
    std::uint32_t n = 0;
    std::uint64_t sum = 0, values = 0;
    for (auto at = first; at != expected.end() && at->first <= to; ++at, ++n) {
      sum += at->first;
      values += at->second;
    }
    ASSERT_EQ(got.in_range, n);
    ASSERT_EQ(got.sum, sum);
    ASSERT_EQ(got.values, values);
    ASSERT_EQ(got.ascending, 1u);
    ASSERT_EQ(got.until_told, std::min(n, 3u));
  }

  /// Scans in one stream while keys are erased and inserted in another: those that stay show exactly once.
  template <unsigned Lanes, class Tree>
  static void scan_while_writing(std::size_t n) {
    using key = typename Tree::key_type;
    constexpr key stride = 30;
    const setting& here = *GetParam();
    gpu_runner runner(here);
    Tree tree(here.dev);
    array<key> keys(n), from(n / 8);
    array<blink_op> insert(n), disturb(4 * n);
    array<key> disturbed(4 * n);
    random_words random(8);
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = static_cast<key>(i);
      insert[i] = blink_op::insert;
    }
    for (std::size_t i = 0; i < disturbed.size(); ++i) {
      const auto k = static_cast<key>(random.below(n));
      disturbed[i] = k % stride == 0 ? static_cast<key>(k + 1) : k;
      disturb[i] = random.below(5) < 3 ? blink_op::erase : blink_op::insert;
    }
    for (key& k : from) k = static_cast<key>(random.below(n - 2 * stride));
    static_cast<void>(runner.template run<Lanes>(tree, insert, keys));
    lent<blink_op> ops(here, disturb);
    lent<key> writes(here, disturbed), starts(here, from);
    lent<recorded_op> log(here, disturbed.size());
    lent<unsigned> wrong(here, array<unsigned>{0});
    const stream other = here.dev.make_stream();
    const auto ref = tree.ref(disturbed.size());
    const run_ops<Tree> write{ref, ops.in().data(), writes.in().data(), log.span().data(), gpu_clock::none, nullptr};
    const auto length = static_cast<key>(2 * stride);
    const scan_for_staying<Tree> scan{ref, starts.in().data(), length, stride, wrong.span().data()};
    here.dev.default_stream().synchronize();
    runner.template enqueue<tile<Lanes>>(here.own, disturbed.size(), write);
    runner.template enqueue<tile<Lanes>>(other, from.size(), scan);
    within(std::chrono::seconds(120), [&] {
      here.own.synchronize();
      other.synchronize();
    });
    EXPECT_EQ(wrong.get()[0], 0u) << "scans that missed or repeated a key";
    const validation v = tree.validate();
    EXPECT_TRUE(v.ok) << v.problem;
  }

  /// Short histories of many keys; all operations of a launch may overlap.
  template <unsigned Lanes, class Tree>
  static void history(gpu_clock clock, std::size_t keys_recorded, std::size_t per_key) {
    using key = typename Tree::key_type;
    gpu_runner runner(*GetParam());
    Tree tree(GetParam()->dev);
    std::map<std::uint64_t, map_register> before;
    random_words random(Lanes);
    const std::size_t n = keys_recorded * per_key;
    for (unsigned round = 0; round < 4; ++round) {
      array<key> keys(n);
      array<blink_op> ops(n);
      for (std::size_t i = 0; i < n; ++i) {
        keys[i] = static_cast<key>(i % keys_recorded * 3);
        ops[i] = static_cast<blink_op>(random.below(5));
      }
      shuffle(keys, random);
      std::vector<recorded_op> log = runner.template run<Lanes>(tree, ops, keys, clock);
      for (const recorded_op& r : log) ASSERT_LE(r.done, 1) << "no room";
      std::map<std::uint64_t, map_register> after;
      append_what_is_left(tree, keys_recorded, log, after);
      const std::string problem = first_violation(log, [&](std::uint64_t k) { return before[k]; });
      ASSERT_EQ(problem, "") << "round " << round;
      const validation v = tree.validate();
      ASSERT_TRUE(v.ok) << v.problem;
      before = after;
      if (round == 1) tree.maintain();
    }
  }
  template <class Tree>
  static void append_what_is_left(const Tree& tree, std::size_t keys_recorded, std::vector<recorded_op>& log,
                                  std::map<std::uint64_t, map_register>& after) {
    using key = typename Tree::key_type;
    array<key> keys(keys_recorded), values(keys_recorded);
    array<std::uint8_t> found(keys_recorded);
    for (std::size_t i = 0; i < keys_recorded; ++i) keys[i] = static_cast<key>(3 * i);
    tree.find(keys.span(), values.span(), found.span());
    constexpr std::uint64_t end = ~std::uint64_t{0};
    for (std::size_t i = 0; i < keys_recorded; ++i) {
      log.push_back({keys[i], 0, found[i] != 0 ? values[i] : 0, end - 1, end, blink_op::find, found[i]});
      after[keys[i]] = found[i] != 0 ? map_register::holding(values[i]) : map_register{};
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlinkTreeRefGpu);

using u32_tree = blink_tree<std::uint32_t, std::uint32_t>;
using u64_tree = blink_tree<std::uint64_t, std::uint64_t>;
using classic_tree = blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::inner_nodes>>;
using couple_tree =
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>;

[[nodiscard]] unsigned from_environment(const char* name, unsigned otherwise) {
  const char* const asked = std::getenv(name);
  return asked == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
}
/// Keys of small tests. compute-sanitizer takes a hundred times as long for each: scripts/test-gpu asks for fewer then.
/// Not so few that they fit into the nodes of a new tree: some tests want to be refused.
[[nodiscard]] std::size_t few() {
  return std::max<std::size_t>(1000, from_environment("ESPALIER_GPU_TEST_KEYS", 20000));
}

TEST_P(BlinkTreeRefGpu, SmallInsertsInEveryOrderLoseNothing) {
  for (const arrival a : all_arrivals) {
    for_every_width([&]<unsigned Lanes>() {
      insert_all<Lanes, u32_tree>(a, 1);
      insert_all<Lanes, u32_tree>(a, few() / 10);
      insert_all<Lanes, u32_tree>(a, few());
    });
    insert_all<1, u64_tree>(a, few());
    insert_all<4, u64_tree>(a, few());
    insert_all<16, u64_tree>(a, few());
    insert_all<8, classic_tree>(a, few());
    insert_all<8, couple_tree>(a, few());
  }
}

TEST_P(BlinkTreeRefGpu, SmallInsertsWithoutRoomChangeNothing) {
  for (const arrival a : {arrival::shuffled, arrival::sorted, arrival::reversed}) {
    for_every_width([&]<unsigned Lanes>() { insert_without_room<Lanes, u32_tree>(a, few()); });
    insert_without_room<4, u64_tree>(a, few());
    insert_without_room<8, classic_tree>(a, few());
    insert_without_room<8, couple_tree>(a, few());
  }
}

TEST_P(BlinkTreeRefGpu, SmallFindsSeeWhatWasThereWhileOthersInsert) {
  for (const arrival a : all_arrivals) {
    for_every_width([&]<unsigned Lanes>() { find_while_inserting<Lanes, u32_tree>(a, few()); });
    find_while_inserting<4, u64_tree>(a, few());
    find_while_inserting<8, classic_tree>(a, few());
    find_while_inserting<8, couple_tree>(a, few());
  }
}

TEST_P(BlinkTreeRefGpu, SmallErasesMergeLeavesUnderReaders) {
  for (const arrival a : {arrival::shuffled, arrival::sorted, arrival::reversed}) {
    for_every_width([&]<unsigned Lanes>() { erase_while_finding<Lanes, u32_tree>(a, few()); });
    erase_while_finding<4, u64_tree>(a, few());
    erase_while_finding<8, classic_tree>(a, few());
    erase_while_finding<8, couple_tree>(a, few());
  }
}

TEST_P(BlinkTreeRefGpu, SmallNeighboursAndRangesAgree) {
  for_every_width([&]<unsigned Lanes>() { neighbours<Lanes, u32_tree>(few() / 4); });
  neighbours<4, u64_tree>(few() / 4);
  neighbours<8, classic_tree>(few() / 4);
  neighbours<8, couple_tree>(few() / 4);
}

TEST_P(BlinkTreeRefGpu, LargeScansSeeEachKeyThatStaysOnce) {
  scan_while_writing<1, u32_tree>(1u << 17);
  scan_while_writing<4, u32_tree>(1u << 17);
  scan_while_writing<32, u32_tree>(1u << 17);
  scan_while_writing<8, couple_tree>(1u << 17);
}

TEST_P(BlinkTreeRefGpu, SmallHistoriesOfOverlappingOperationsAreLinearizable) {
  for_every_width([&]<unsigned Lanes>() { history<Lanes, u32_tree>(gpu_clock::none, few() / 10, 5); });
  history<4, u64_tree>(gpu_clock::none, few() / 10, 5);
  history<8, classic_tree>(gpu_clock::none, few() / 10, 5);
  history<8, couple_tree>(gpu_clock::none, few() / 10, 5);
}

TEST_P(BlinkTreeRefGpu, SmallHistoriesWithTheTimersOrderAreLinearizable) {
  for_every_width([&]<unsigned Lanes>() { history<Lanes, u32_tree>(gpu_clock::timer, few() / 5, 8); });
  history<4, u64_tree>(gpu_clock::timer, few() / 5, 8);
  history<8, classic_tree>(gpu_clock::timer, few() / 5, 8);
  history<8, couple_tree>(gpu_clock::timer, few() / 5, 8);
}

TEST_P(BlinkTreeRefGpu, SmallHistoriesWithACountersOrderAreLinearizable) {
  for_every_width([&]<unsigned Lanes>() { history<Lanes, u32_tree>(gpu_clock::counter, few() / 5, 8); });
  history<8, classic_tree>(gpu_clock::counter, few() / 5, 8);
  history<8, couple_tree>(gpu_clock::counter, few() / 5, 8);
}

/// Round by round another order, size and width of teams; ESPALIER_SOAK_ROUNDS says how many.
TEST_P(BlinkTreeRefGpu, LargeSoakNeitherHangsNorLosesKeys) {
  const unsigned rounds = from_environment("ESPALIER_SOAK_ROUNDS", 3);
  for (unsigned round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const arrival a = all_arrivals[round % 5];
    const std::size_t n = std::size_t{1} << (20 - round % 5);
    switch (round % 7) {
      case 0:
        insert_all<2, u32_tree>(a, n);
        break;
      case 1:
        insert_all<4, u32_tree>(a, n);
        break;
      case 2:
        insert_all<32, u32_tree>(a, n);
        break;
      case 3:
        insert_all<8, u32_tree>(a, n);
        break;
      case 4:
        insert_all<16, u32_tree>(a, n);
        break;
      case 5:
        insert_all<1, u32_tree>(a, n);
        break;
      default:
        insert_all<16, u64_tree>(a, n);
    }
    if (a == arrival::shuffled || a == arrival::sorted || a == arrival::reversed)
      erase_while_finding<4, u32_tree>(a, n);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeRefGpu, testing::ValuesIn(gpu_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
