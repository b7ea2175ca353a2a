// write_test.cpp - batches of writes agree with std::map, equal keys in a batch included; a failed one changes nothing.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "radix_tree/model.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using subject = radix_subject<std::uint64_t>;
constexpr std::size_t few = less_work > 1 ? 60 : 250;

class RadixTreeWrites : public testing::TestWithParam<const setting*> {
 protected:
  static void step(subject& tree, radix_model& m, radix_op op, const strings& keys, std::uint64_t first_value,
                   radix_path path = radix_path::in_place) {
    std::vector<std::uint64_t> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = first_value + i;
    std::vector<std::uint8_t> done(keys.size(), 7);
    tree.write(op, keys, values, done, path);
    ASSERT_EQ(done, m.apply(op, keys, values)) << "operation " << static_cast<int>(op);
    ASSERT_EQ(difference(tree, m), "") << "operation " << static_cast<int>(op);
  }
};

TEST_P(RadixTreeWrites, SmallBatchesOfEveryFamilyAgree) {
  for (const byte_family f : all_byte_families)
    for (const radix_path path : all_paths) {
      SCOPED_TRACE(std::string(to_string(f)) + ", path " + std::to_string(static_cast<int>(path)));
      radix_model m;
      subject tree(*GetParam(), {}, {});
      std::uint64_t value = 1;
      for (std::uint64_t round = 0; round < (less_work > 1 ? 1u : 3u); ++round) {
        const strings keys = byte_keys_of(f, few, round + 1);
        const strings near = questions_about(keys, few / 2, round);
        for (const auto& [op, batch] : {std::pair{radix_op::insert, keys},
                                        {radix_op::update, near},
                                        {radix_op::erase, near},
                                        {radix_op::insert_or_assign, near},
                                        {radix_op::insert, near},
                                        {radix_op::erase, keys}}) {
          step(tree, m, op, batch, value, path);
          if (HasFatalFailure()) return;
          value += 1000;
        }
        step(tree, m, radix_op::insert, keys, value += 1000, path);
      }
      step(tree, m, radix_op::erase, tree.prefix({""}).keys, 0, path);
      EXPECT_TRUE(tree.tree().empty());
      step(tree, m, radix_op::insert, byte_keys_of(f, 50), 5, path);
      if (HasFatalFailure()) return;
    }
}

TEST_P(RadixTreeWrites, LargeBatchesOfAFewKeysHaveTheLastOneWin) {
  radix_model m;
  subject tree(*GetParam(), {}, {});
  random_words random(3);
  strings keys(50000);
  for (std::string& k : keys) k = "key" + std::to_string(random.below(7));
  step(tree, m, radix_op::insert_or_assign, keys, 1);
  for (std::uint64_t round = 0; round < 4; ++round) step(tree, m, radix_op::update, keys, 1000000 * round);
}

// A stamp has room for the numbers of 2^22 elements: the last of all of them wins all the same.
TEST_P(RadixTreeWrites, LargeBatchesAreUpdatedInPieces) {
  constexpr std::uint32_t keys = 1000, n = (1u << 22) + 12345;
  std::vector<char> bytes(n * 4u);
  std::vector<std::uint64_t> values(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t key = i % keys * 7919;
    for (unsigned b = 0; b < 4; ++b) bytes[i * 4u + b] = static_cast<char>(key >> (24 - 8 * b));
    values[i] = i;
  }
  const std::span<const char> all(bytes), first = all.first(keys * 4);
  auto tree = radix_tree<std::uint64_t>::build(byte_string_batch(first, 4), std::vector<std::uint64_t>(keys), {},
                                               GetParam()->dev);
  std::vector<std::uint8_t> done(n);
  tree.update(byte_string_batch(all, 4), values, done);
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), std::ptrdiff_t{n});
  std::vector<std::uint64_t> got(keys);
  tree.find(byte_string_batch(first, 4), got);
  for (std::uint32_t k = 0; k < keys; ++k) ASSERT_EQ(got[k], (n - 1 - k) / keys * keys + k) << "key " << k;
}

// And for the numbers of a thousand batches.
TEST_P(RadixTreeWrites, SmallBatchesInAnyNumberHaveTheLastOneWin) {
  radix_tree<std::uint64_t> tree(GetParam()->dev);
  EXPECT_TRUE(tree.empty());
  tree.insert({"a", "b", "c"}, std::vector<std::uint64_t>{1, 2, 3});
  for (std::uint64_t round = 0; round < 1100; ++round) {
    tree.update({"b", "a", "b", "x", "a", "b"}, std::vector<std::uint64_t>{round, 1, 2, 3, round + 5, round + 6});
    std::vector<std::uint64_t> got(3);
    tree.find({"a", "b", "c"}, got);
    ASSERT_EQ(got, (std::vector<std::uint64_t>{round + 5, round + 6, 3})) << "round " << round;
  }
}

// Leaves of every size have their stamps in different places, or none of their own; stamps are cleared in between.
template <class Value, class Make>
void last_update_wins(const device& dev, Make make) {
  strings keys;
  for (const std::size_t length : {3, 8, 12, 16, 24, 32, 33, 90})
    for (unsigned i = 0; i < 40; ++i) keys.push_back(std::string(length - 2, 'k') + std::to_string(10 + i));
  random_words random(11);
  shuffle(keys, random);
  radix_tree<Value> tree(dev);
  std::map<std::string, Value> model;
  std::size_t there = 0;
  for (std::uint64_t round = 0; round < 1100; ++round) {
    if (round % 100 == 0) {  // leaves come, and memory moves
      const std::size_t more = std::min<std::size_t>(keys.size(), there + 40);
      const strings added(keys.begin() + static_cast<std::ptrdiff_t>(there),
                          keys.begin() + static_cast<std::ptrdiff_t>(more));
      const std::vector<Value> values(added.size(), make(7));
      tree.insert(added, values);
      for (const std::string& k : added) model[k] = make(7);
      there = more;
    }
    strings asked(round % 50 == 0 ? 3000 : 12);
    std::vector<Value> values(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      asked[i] = keys[random.below(keys.size())];
      values[i] = make(random.below(~std::uint64_t{0}));
      if (const auto at = model.find(asked[i]); at != model.end()) at->second = values[i];
    }
    tree.update(asked, values);
  }
  std::vector<Value> got(keys.size());
  std::vector<std::uint8_t> found(keys.size());
  tree.find(keys, got, found);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(found[i] != 0, model.contains(keys[i]));
    if (found[i] != 0) {
      ASSERT_EQ(got[i], model[keys[i]]) << keys[i];
    }
  }
  EXPECT_TRUE(tree.validate().ok);
}
TEST_P(RadixTreeWrites, SmallUpdatesOfEveryValueSizeHaveTheLastOneWin) {
  const device& dev = GetParam()->dev;
  last_update_wins<std::uint8_t>(dev, [](std::uint64_t x) { return static_cast<std::uint8_t>(x); });
  last_update_wins<std::uint32_t>(dev, [](std::uint64_t x) { return static_cast<std::uint32_t>(x); });
  last_update_wins<std::uint64_t>(dev, [](std::uint64_t x) { return x; });
  last_update_wins<std::array<std::uint64_t, 2>>(dev, [](std::uint64_t x) {
    return std::array<std::uint64_t, 2>{x, ~x};
  });
}

// More elements meet others than there are threads that settle whose value stays.
template <class Value, class Make>
void last_of_many_wins(const device& dev, std::uint32_t keys, Make make) {
  constexpr std::uint32_t n = 400000, length = 12;
  random_words random(keys);
  std::vector<char> bytes(n * length, 'k'), there(keys * length, 'k');
  const auto name = [](std::vector<char>& of, std::size_t i, std::uint32_t key) {
    for (unsigned b = 0; b < 4; ++b) of[i * length + b] = static_cast<char>(key >> (24 - 8 * b));
  };
  for (std::uint32_t k = 0; k < keys; ++k) name(there, k, k * 7919);
  std::vector<Value> values(n), expected(keys), got(keys);
  auto tree = radix_tree<Value>::build(byte_string_batch(there, length), expected, {}, dev);
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::uint32_t>(random.below(keys));
      name(bytes, i, k * 7919);
      expected[k] = values[i] = make(random.below(~std::uint64_t{0}));
    }
    tree.update(byte_string_batch(bytes, length), values);
    tree.find(byte_string_batch(there, length), got);
    ASSERT_EQ(got, expected) << keys << " keys, round " << round;
  }
}
TEST_P(RadixTreeWrites, LargeBatchesOfEqualKeysOfEveryValueSizeHaveTheLastOneWin) {
  const device& dev = GetParam()->dev;
  for (const std::uint32_t keys : {1u, 33u, 20000u}) {
    last_of_many_wins<std::uint8_t>(dev, keys, [](std::uint64_t x) { return static_cast<std::uint8_t>(x); });
    last_of_many_wins<std::uint32_t>(dev, keys, [](std::uint64_t x) { return static_cast<std::uint32_t>(x); });
    last_of_many_wins<std::uint64_t>(dev, keys, [](std::uint64_t x) { return x; });
    last_of_many_wins<std::array<std::uint64_t, 2>>(dev, keys, [](std::uint64_t x) {
      return std::array<std::uint64_t, 2>{x, ~x};
    });
    if (HasFatalFailure() || less_work > 1) return;
  }
}

// Long keys that come and go leave their bytes behind in the heap, until they are half of all.
TEST_P(RadixTreeWrites, SmallNumbersOfLongKeysThatComeAndGoTakeNoMoreSpace) {
  strings keys;
  for (unsigned i = 0; i < 4000; ++i) keys.push_back("short" + std::to_string(i));
  auto tree = radix_tree<std::uint64_t>::build(keys, std::vector<std::uint64_t>(keys.size(), 1), {}, GetParam()->dev);
  const std::size_t before = tree.stats().bytes + tree.stats().host_bytes;
  std::size_t most = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const strings longer{std::string(20000, 'x') + std::to_string(round)};
    tree.insert(longer, std::vector<std::uint64_t>{round});
    tree.erase(longer);
    most = std::max(most, tree.stats().bytes + tree.stats().host_bytes);
  }
  EXPECT_LE(most, 4 * before);  // 2 MB came and went; room is made by a quarter more
  EXPECT_EQ(tree.size(), keys.size());
  EXPECT_TRUE(tree.validate().ok);
}

TEST_P(RadixTreeWrites, KeysOfFourGigabytesAreRefused) {
  constexpr std::size_t length = 0xffffffffu;  // addresses without memory: nobody looks at them
  void* const bytes = mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(bytes, MAP_FAILED);
  const std::span<const char> key(static_cast<const char*>(bytes), length);
  const std::vector<std::uint64_t> one{1}, offsets{0, length};
  radix_tree<std::uint64_t> tree(GetParam()->dev);
  EXPECT_THROW(tree.insert(byte_string_batch(key, length), one), error);
  if (GetParam()->dev.kind() == device_kind::cpu) {  // a GPU would take a copy to look at the offsets
    EXPECT_THROW(tree.insert(byte_string_batch(key, offsets), one), error);
  }
  EXPECT_TRUE(tree.empty());
  munmap(bytes, length);
}

TEST_P(RadixTreeWrites, SmallWritesWithoutMemoryChangeNothing) {
  const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
  const device dev = GetParam()->dev.with_pool(pool);
  const strings keys = byte_keys_of(byte_family::random_lengths, few), more = byte_keys_of(byte_family::urls, few);
  std::vector<std::uint64_t> values(keys.size(), 1), other(more.size(), 2), again(keys.size(), 3);
  radix_model m;
  m.apply(radix_op::insert_or_assign, keys, values);
  for (const radix_op op : {radix_op::insert, radix_op::insert_or_assign, radix_op::update, radix_op::erase})
    for (const radix_path path : {radix_path::in_place, radix_path::rebuild}) {
      const strings& batch = op == radix_op::update || op == radix_op::erase ? keys : more;
      const auto& brought = op == radix_op::update || op == radix_op::erase ? again : other;
      std::size_t failures = 0;
      for (std::size_t k = 1;; ++k) {
        ASSERT_LT(k, 5000u) << "never stops allocating";
        subject tree(*GetParam(), dev, keys, values);
        radix_model after = m;
        std::vector<std::uint8_t> done(batch.size());
        pool->fail_at(k);
        bool threw = false;
        try {
          tree.write(op, batch, brought, done, path);
        } catch (const out_of_memory&) {
          threw = true;
          ++failures;
        }
        pool->fail_at(0);
        if (!threw) after.apply(op, batch, brought);
        ASSERT_EQ(difference(tree, after), "") << "allocation " << k;
        if (!threw) break;
      }
      EXPECT_GT(failures, 0u);
    }
}

/// One node at the root, child by child up to all bytes, and back.
TEST_P(RadixTreeWrites, SmallNodesGrowAndShrinkThroughEveryKind) {
  for (const bool with_end : {false, true}) {
    radix_model m;
    subject tree(*GetParam(), {}, {});
    if (with_end) step(tree, m, radix_op::insert, {""}, 1);
    random_words random(5);
    std::vector<unsigned> bytes(256);
    for (unsigned b = 0; b < 256; ++b) bytes[b] = b;
    shuffle(bytes, random);
    const auto expect_kind = [&](unsigned children, const char* when, std::initializer_list<unsigned> allowed) {
      const radix_stats s = tree.tree().stats();
      for (unsigned k = 0; k < 4; ++k) {
        const bool may = std::find(allowed.begin(), allowed.end(), k) != allowed.end();
        ASSERT_TRUE(s.nodes[k] == 0 || may) << children << " children, " << when << ": node of kind " << k;
      }
      ASSERT_EQ(s.nodes[0] + s.nodes[1] + s.nodes[2] + s.nodes[3], children + (with_end ? 1 : 0) < 2 ? 0u : 1u);
    };
    for (unsigned n = 1; n <= 256; ++n) {
      step(tree, m, radix_op::insert, {std::string(1, static_cast<char>(bytes[n - 1]))}, n);
      expect_kind(n, "growing", {n <= 4 ? 0u : n <= 16 ? 1u : n <= 48 ? 2u : 3u});
      if (HasFatalFailure()) return;
    }
    shuffle(bytes, random);
    for (unsigned n = 256; n-- > 0;) {
      step(tree, m, radix_op::erase, {std::string(1, static_cast<char>(bytes[n]))}, n);
      // Kinds shrink a few children below where they grow.
      expect_kind(n, "shrinking", {n <= 3 ? 0u : n <= 12 ? 1u : n <= 37 ? 2u : 3u});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RadixTreeWrites, SmallPathsAreSplitAndJoined) {
  radix_model m;
  subject tree(*GetParam(), {}, {});
  const std::string path(700, 'p');
  for (const std::size_t at : {700u, 350u, 0u, 699u, 1u, 351u, 349u}) {
    step(tree, m, radix_op::insert, {path.substr(0, at) + "x"}, at);
    step(tree, m, radix_op::insert, {path.substr(0, at)}, at);
    if (HasFatalFailure()) return;
  }
  for (const std::size_t at : {350u, 0u, 700u, 349u, 699u, 351u, 1u}) {
    step(tree, m, radix_op::erase, {path.substr(0, at)}, at);
    step(tree, m, radix_op::erase, {path.substr(0, at) + "x"}, at);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(tree.tree().empty());
}

TEST_P(RadixTreeWrites, LargeBatchesInPlaceAgree) {
  for (const byte_family f :
       {byte_family::random_lengths, byte_family::few_bytes, byte_family::urls, byte_family::fixed16}) {
    SCOPED_TRACE(to_string(f));
    radix_model m;
    subject tree(*GetParam(), {}, {});
    const strings keys = byte_keys_of(f, 20000 / less_work), near = questions_about(keys, 10000 / less_work);
    step(tree, m, radix_op::insert, keys, 1, radix_path::rebuild);
    step(tree, m, radix_op::insert, near, 100000);
    step(tree, m, radix_op::erase, near, 0);
    step(tree, m, radix_op::insert_or_assign, keys, 300000);
    step(tree, m, radix_op::erase, keys, 0);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeWrites, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
