// value_test.cpp - a value is read as it was written: never half of one and half of another, never that of a neighbour.
#include "blink_concurrency/common.hpp"

namespace espalier::test {
namespace {

struct tagged {
  std::uint64_t key_and_version, check;
};
tagged make_tagged(std::uint64_t key, std::uint64_t version) {
  const std::uint64_t word = key << 32 | version;
  return {word, random_words::mix(word)};
}
bool is_whole(const tagged& t, std::uint64_t key) {
  return t.key_and_version >> 32 == key && t.check == random_words::mix(t.key_and_version);
}

/// Writers assign new versions, and move elements about by inserting and erasing their neighbours.
template <class Key>
void read_while_writing() {
  constexpr std::uint64_t keys = 200;
  constexpr unsigned rounds = 120000 / less_work;
  blink_tree<Key, tagged> tree(device::cpu(2));
  auto ref = tree.ref(2 * rounds + keys);
  for (std::uint64_t k = 0; k < keys; ++k)
    (void)ref.insert(scalar_team{}, static_cast<Key>(2 * k), make_tagged(2 * k, 0));
  std::atomic<unsigned> torn{0}, lost{0}, back{0}, writers{2};
  in_threads(4, [&](unsigned t) {
    random_words random(t);
    if (t < 2) {
      for (unsigned i = 1; i <= rounds; ++i) {
        const std::uint64_t k = 2 * random.below(keys);
        const tagged next = make_tagged(k, i);
        const auto assigned = i % 2 == 0 ? ref.update(scalar_team{}, static_cast<Key>(k), next)
                                         : ref.insert_or_assign(scalar_team{}, static_cast<Key>(k), next);
        if (assigned != write_result::assigned) ++lost;
        if (random.below(2) == 0) {
          (void)ref.insert(scalar_team{}, static_cast<Key>(k + 1), make_tagged(k + 1, i));
        } else {
          (void)ref.erase(scalar_team{}, static_cast<Key>(k + 1));
        }
      }
      --writers;
      return;
    }
    do {
      const std::uint64_t k = random.below(2 * keys);
      tagged seen{};
      const bool found = ref.find(scalar_team{}, static_cast<Key>(k), seen);
      if (!found && k % 2 == 0) ++lost;
      if (found && !is_whole(seen, k)) ++torn;
      if (k % 64 == 0) {
        ref.range(scalar_team{}, static_cast<Key>(k), static_cast<Key>(k + 40), [&](Key at, const tagged& value) {
          if (!is_whole(value, static_cast<std::uint64_t>(at))) ++torn;
          return true;
        });
      }
    } while (writers.load() != 0);
  });
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(lost.load(), 0u);
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
}

TEST(BlinkTreeValues, SixteenBytesBesideU32KeysAreNeverTorn) { read_while_writing<std::uint32_t>(); }
TEST(BlinkTreeValues, SixteenBytesBesideU64KeysAreNeverTorn) { read_while_writing<std::uint64_t>(); }

// One writer counts a key up; a reader that has seen a number never sees a smaller one.
TEST(BlinkTreeValues, UpdatesAreSeenInTheOrderInWhichTheyWereMade) {
  constexpr std::uint64_t last = 200000 / less_work;
  blink_tree<std::uint64_t, std::uint64_t> tree(device::cpu(2));
  auto ref = tree.ref(100);
  for (std::uint64_t k = 0; k < 20; ++k) (void)ref.insert(scalar_team{}, k, std::uint64_t{0});
  std::atomic<unsigned> wrong{0};
  in_threads(3, [&](unsigned t) {
    for (std::uint64_t i = 1; t == 0 && i <= last; ++i) {
      for (const std::uint64_t k : {3u, 14u}) {
        if (ref.update(scalar_team{}, k, i) != write_result::assigned) ++wrong;
      }
    }
    for (std::uint64_t seen = 0; t != 0 && seen < last;) {
      std::uint64_t first = 0, second = 0;
      if (!ref.find(scalar_team{}, std::uint64_t{14}, second) || !ref.find(scalar_team{}, std::uint64_t{3}, first))
        ++wrong;
      if (second < seen || first < second) ++wrong;  // 3 is written before 14 and read after it
      seen = second;
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
}

/// Threads add to counters of a tree that begins empty, so that inserts split leaves under the additions.
template <class Policy>
void count_together(std::uint64_t keys) {
  constexpr unsigned threads = 4;
  const unsigned rounds = 40000 / less_work;
  blink_tree<std::uint64_t, std::uint64_t, Policy> tree(device::cpu(2));
  auto ref = tree.ref(keys);
  std::atomic<std::uint64_t> inserted{0}, assigned{0};
  in_threads(threads, [&](unsigned t) {
    random_words random(t + 7);
    for (unsigned i = 0; i < rounds; ++i) {
      const std::uint64_t k = random.below(keys) * 3;
      const write_result r = ref.insert_or_apply(scalar_team{}, k, std::uint64_t{1} << (8 * t),
                                                 [](std::uint64_t sum, std::uint64_t more) { return sum + more; });
      if (r == write_result::inserted) ++inserted;
      if (r == write_result::assigned) ++assigned;
    }
  });
  EXPECT_EQ(inserted + assigned, std::uint64_t{threads} * rounds);
  std::vector<std::uint64_t> expected(keys);
  for (unsigned t = 0; t < threads; ++t) {
    random_words random(t + 7);
    for (unsigned i = 0; i < rounds; ++i) expected[random.below(keys)] += std::uint64_t{1} << (8 * t);
  }
  for (std::uint64_t k = 0; k < keys; ++k) {
    std::uint64_t sum = 0;
    EXPECT_EQ(ref.find(scalar_team{}, 3 * k, sum), expected[k] != 0);
    EXPECT_EQ(sum, expected[k]) << "an addition to key " << 3 * k << " was lost";
  }
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
}

TEST(BlinkTreeValues, AdditionsUnderTheLatchLoseNothing) {
  for (const std::uint64_t keys : {1u, 7u, 5000u}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    count_together<blink_policy<>>(keys);
    count_together<blink_policy<protocol::blink, inner_index::inner_nodes>>(keys);
    count_together<blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>(keys);
  }
}

}  // namespace
}  // namespace espalier::test
