// long_keys_test.cpp - the three ways of long keys give the answers of std::map, between writes of every kind, and lose
// nothing when memory runs out. On a CPU the ways of a GPU are asked for, and run there on the same text.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <numeric>

#include "espalier/radix_tree/radix_tree.hpp"
#include "radix_tree/families.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"
#include "support/setting.hpp"

namespace espalier::test::long_keys {
namespace {

/// Not of the size of any slot.
struct odd_value {
  std::uint32_t words[3];
  friend bool operator==(const odd_value&, const odd_value&) = default;
};
odd_value value_of(std::uint64_t x) {
  return {{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32), ~static_cast<std::uint32_t>(x)}};
}
using tree = radix_tree<odd_value>;
using oracle = std::map<std::string, odd_value>;

constexpr long_key_mode all_ways[] = {long_key_mode::on_device, long_key_mode::in_host_memory,
                                      long_key_mode::host_replica};
const char* name_of(long_key_mode way) {
  static constexpr const char* names[] = {"on_device", "in_host_memory", "host_replica"};
  return names[static_cast<unsigned>(way)];
}
radix_options going(long_key_mode way) {
  radix_options options;
  options.long_keys = way;
  options.long_keys_on_cpu = true;
  return options;
}

/// Lengths around the longest leaf; many keys differ in one byte that may be anywhere.
strings around_32(std::size_t n, std::uint64_t seed = 1) {
  random_words random(seed);
  const std::string base = random_bytes(random, 40);
  strings keys;
  for (std::size_t i = 0; i < n; ++i) {
    std::string s = base.substr(0, 30 + random.below(6));
    s[random.below(s.size())] = static_cast<char>(random.below(4));
    s[random.below(s.size())] = static_cast<char>(random.below(256));
    keys.push_back(s);
  }
  return keys;
}
strings long_set(unsigned which, std::size_t n, std::uint64_t seed = 1) {
  static constexpr byte_family families[] = {byte_family::urls, byte_family::common_prefix, byte_family::long_keys,
                                             byte_family::random_lengths, byte_family::fixed16};
  return which == 0 ? around_32(n, seed) : byte_keys_of(families[which - 1], n, seed);
}
constexpr unsigned long_sets = 6;

struct packed {
  array<char> bytes;
  array<std::uint64_t> offsets;
  explicit packed(const strings& keys)
      : bytes(std::accumulate(keys.begin(), keys.end(), std::size_t{0},
                              [](std::size_t n, const std::string& s) { return n + s.size(); })),
        offsets(keys.size() + 1) {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      offsets[i] = at;
      std::copy(keys[i].begin(), keys[i].end(), bytes.data() + at);
      at += keys[i].size();
    }
    offsets[keys.size()] = at;
  }
};

std::vector<odd_value> values_from(std::uint64_t first, std::size_t n) {
  std::vector<odd_value> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of(first + 0x100000001u * i);
  return values;
}

void expect_answers(const setting& at, const tree& t, const oracle& all, const strings& asked, bool async = false) {
  const packed p(asked);
  lent<char> bytes(at, p.bytes);
  lent<std::uint64_t> offsets(at, p.offsets);
  const byte_string_batch keys(bytes.in(), offsets.in());
  lent<odd_value> values(at, asked.size()), only_values(at, asked.size());
  lent<std::uint8_t> found(at, asked.size()), there(at, asked.size());
  if (async) {
    t.find_async(keys, values.span(), found.span(), at.own);
    t.find_async(keys, only_values.span(), {}, at.own);
    t.contains_async(keys, there.span(), at.own);
    at.own.synchronize();
  } else {
    t.find(keys, values.span(), found.span());
    t.find(keys, only_values.span());
    t.contains(keys, there.span());
  }
  const auto &v = values.get(), &w = only_values.get();
  const auto &f = found.get(), &c = there.get();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto expected = all.find(asked[i]);
    ASSERT_EQ(f[i], expected != all.end() ? 1 : 0) << "question " << i << ": " << testing::PrintToString(asked[i]);
    ASSERT_EQ(c[i], f[i]) << "question " << i;
    ASSERT_TRUE(v[i] == (expected == all.end() ? odd_value{} : expected->second)) << "question " << i;
    ASSERT_TRUE(w[i] == v[i]) << "question " << i;
  }
}
/// All elements, by the calls that do not care about the way, and what is asked about them.
void expect_same(const setting& at, const tree& t, const oracle& all, std::uint64_t seed = 9) {
  const validation v = t.validate();
  ASSERT_TRUE(v.ok) << v.problem;
  const auto listed = t.prefix(strings{""});
  const strings keys = listed.keys();
  const auto values = listed.values.to_vector();
  ASSERT_EQ(keys.size(), all.size());
  std::size_t e = 0;
  for (const auto& [key, value] : all) {
    ASSERT_EQ(keys[e], key);
    ASSERT_TRUE(values[e] == value) << "element " << e;
    ++e;
  }
  expect_answers(at, t, all, questions_about(keys, keys.size() + 50, seed));
}

enum class write : std::uint8_t { insert, insert_or_assign, update, erase };
void apply(tree& t, write op, const strings& keys, const std::vector<odd_value>& values, radix_path path) {
  if (op == write::insert) t.insert(keys, values, {}, path);
  if (op == write::insert_or_assign) t.insert_or_assign(keys, values, {}, path);
  if (op == write::update) t.update(keys, values);
  if (op == write::erase) t.erase(keys, {}, path);
}
void apply(oracle& all, write op, const strings& keys, const std::vector<odd_value>& values) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (op == write::insert) all.emplace(keys[i], values[i]);
    if (op == write::insert_or_assign || (op == write::update && all.count(keys[i]) != 0)) all[keys[i]] = values[i];
    if (op == write::erase) all.erase(keys[i]);
  }
}

/// A pool that refuses the k-th request, and all that follow it if it ends there.
class refusing_pool final : public memory_resource {
 public:
  explicit refusing_pool(std::shared_ptr<memory_resource> upstream) : upstream_(std::move(upstream)) {}
  void refuse(std::size_t k, bool all_that_follow) {
    requests_ = 0;
    first_ = k;
    last_ = all_that_follow ? ~std::size_t{0} : k;
  }
  void refuse_nothing() { refuse(0, false); }
  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    const std::size_t k = ++requests_;
    if (k >= first_ && k <= last_) throw out_of_memory("refusing_pool", bytes, 0);
    return upstream_->allocate(bytes, s);
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override { upstream_->deallocate(p, bytes, s); }
  [[nodiscard]] memory_info info() const override { return upstream_->info(); }

 private:
  std::shared_ptr<memory_resource> upstream_;
  std::atomic<std::size_t> requests_{0}, first_{0}, last_{0};
};

class RadixTreeLongKeys : public testing::TestWithParam<const setting*> {
 protected:
  static constexpr std::size_t few = less_work > 1 ? 60 : 250;
  static const setting& at() { return *GetParam(); }
  static tree make(const strings& keys, long_key_mode way, oracle& all) {
    const auto values = values_from(1, keys.size());
    apply(all, write::insert_or_assign, keys, values);
    return tree::build(keys, values, going(way), at().dev);
  }
};

TEST_P(RadixTreeLongKeys, SmallSetsAgreeEveryWay) {
  for (const long_key_mode way : all_ways) {
    for (unsigned set = 0; set < long_sets; ++set) {
      for (const std::size_t n : {0u, 1u, 40u, 3000u}) {
        SCOPED_TRACE(std::string(name_of(way)) + ", set " + std::to_string(set) + " x " + std::to_string(n));
        oracle all;
        strings keys = long_set(set, n);
        if (keys.size() > n) keys.resize(n);
        const tree t = make(keys, way, all);
        expect_same(at(), t, all);
        expect_answers(at(), t, all, questions_about(keys, 200), true);
        expect_answers(at(), t, all, strings{});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(RadixTreeLongKeys, SmallWritesInBetweenAgree) {
  for (const long_key_mode way : all_ways) {
    for (unsigned set = 0; set < long_sets; ++set) {
      for (const radix_path path : {radix_path::in_place, radix_path::rebuild, radix_path::automatic}) {
        SCOPED_TRACE(std::string(name_of(way)) + ", set " + std::to_string(set) + ", path " +
                     std::to_string(static_cast<int>(path)));
        oracle all;
        tree t = make(strings{}, way, all);
        random_words random(set + 1);
        const strings keys = long_set(set, few);
        for (std::uint64_t round = 0; round < 12; ++round) {
          const auto op = round == 0 ? write::insert : static_cast<write>(random.below(4));
          strings batch = random.below(2) == 0 ? keys : questions_about(keys, few / 2, round);
          if (random.below(3) == 0) batch.insert(batch.end(), batch.begin(), batch.end());  // the last one counts
          const auto values = values_from(1000 * round, batch.size());
          apply(t, op, batch, values, path);
          apply(all, op, batch, values);
          expect_same(at(), t, all, round);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(RadixTreeLongKeys, SmallSetsOfKeysAloneAgree) {
  for (const long_key_mode way : all_ways) {
    SCOPED_TRACE(name_of(way));
    const strings keys = around_32(500);
    auto t = radix_tree<>::build(keys, going(way), at().dev);
    strings half(keys.begin(), keys.begin() + 250);
    t.erase(half);
    std::map<std::string, int> all;
    for (const std::string& s : keys) all[s] = 1;
    for (const std::string& s : half) all.erase(s);
    const strings asked = questions_about(keys, 800);
    std::vector<std::uint8_t> found(asked.size());
    t.contains(asked, found);
    for (std::size_t i = 0; i < asked.size(); ++i) ASSERT_EQ(found[i], all.count(asked[i])) << "question " << i;
    ASSERT_TRUE(t.validate().ok) << t.validate().problem;
  }
}

/// More questions than one piece, of one length and of several.
TEST_P(RadixTreeLongKeys, LargeBatchesAgreeEveryWay) {
  constexpr std::size_t length = 41, n = 5000, questions = 600000 / less_work;
  random_words random(4);
  const std::string bytes = random_bytes(random, n * length);
  strings keys;
  for (std::size_t i = 0; i < n; ++i) keys.push_back(bytes.substr(i * length, length));
  for (const long_key_mode way : all_ways) {
    SCOPED_TRACE(name_of(way));
    oracle all;
    const tree t = make(keys, way, all);
    std::string asked;
    std::vector<std::uint32_t> which;
    for (std::size_t i = 0; i < questions; ++i) {
      const auto k = static_cast<std::uint32_t>(random.below(n));
      which.push_back(k);
      asked += keys[k];
      if (i % 3 == 0) asked.back() = static_cast<char>(asked.back() ^ 1);
    }
    std::vector<std::uint64_t> offsets(questions + 1);
    for (std::size_t i = 0; i <= questions; ++i) offsets[i] = i * length;
    lent<char> given(at(), std::span<const char>(asked.data(), asked.size()));
    lent<std::uint64_t> given_offsets(at(), std::span<const std::uint64_t>(offsets));
    for (const bool one_length : {true, false}) {
      const byte_string_batch batch =
          one_length ? byte_string_batch(given.in(), length) : byte_string_batch(given.in(), given_offsets.in());
      lent<odd_value> values(at(), questions);
      lent<std::uint8_t> found(at(), questions);
      t.find(batch, values.span(), found.span());
      const auto& v = values.get();
      const auto& f = found.get();
      for (std::size_t i = 0; i < questions; ++i) {
        ASSERT_EQ(f[i], i % 3 == 0 ? 0 : 1) << "question " << i;
        ASSERT_TRUE(v[i] == (f[i] == 0 ? odd_value{} : value_of(1 + 0x100000001u * std::uint64_t{which[i]})));
      }
    }
  }
}

TEST_P(RadixTreeLongKeys, StatsTellWhatIsInHostMemory) {
  const strings keys = long_set(2, 400);
  for (const long_key_mode way : all_ways) {
    oracle all;
    const tree t = make(keys, way, all);
    const radix_stats s = t.stats();
    EXPECT_EQ(s.size, s.leaves[3]);
    const std::size_t least = way == long_key_mode::on_device ? 0 : s.heap_bytes;
    EXPECT_GE(s.host_bytes, least) << name_of(way);
    EXPECT_EQ(s.host_bytes > least, way == long_key_mode::host_replica)
        << name_of(way) << ": a tree is more than its keys";
    if (at().dev.kind() == device_kind::cpu) {
      radix_options plain = going(way);
      plain.long_keys_on_cpu = false;
      EXPECT_EQ(tree::build(keys, values_from(1, keys.size()), plain, at().dev).stats().host_bytes, 0u)
          << "a CPU has nothing beside its memory";
    }
  }
}

/// Every allocation fails in turn, of the device's memory and of the host's; or memory ends there and then, so that
/// nothing can be undone that takes any.
TEST_P(RadixTreeLongKeys, SmallWritesWithoutMemoryChangeNothing) {
  constexpr std::size_t keys_of_tree = less_work > 1 ? 40 : 120;
  const auto device_memory = std::make_shared<refusing_pool>(at().dev.pool());
  const auto host_memory = std::make_shared<refusing_pool>(at().dev.host_pool());
  const device dev = at().dev.with_pool(device_memory);
  setting here = at();
  here.dev = dev;
  const strings keys = around_32(keys_of_tree), more = byte_keys_of(byte_family::long_keys, keys_of_tree);
  oracle all;
  const auto values = values_from(1, keys.size());
  apply(all, write::insert_or_assign, keys, values);
  const auto sweep = [&](long_key_mode way, write op, refusing_pool& pool, bool all_that_follow) {
    const strings& batch = op == write::update || op == write::erase ? keys : more;
    const auto brought = values_from(77, batch.size()), other = values_from(99, more.size());
    radix_options options = going(way);
    options.host_pool = host_memory;
    std::size_t lost = 0;
    // Each of them; where that takes long, on a GPU and under sanitizers, every fifth, beginning with another one each
    // time.
    const std::size_t step = at().dev.kind() == device_kind::cpu && less_work == 1 ? 1 : 5;
    for (std::size_t k = 1 + static_cast<std::size_t>(op) % step;; k += step) {
      SCOPED_TRACE("allocation " + std::to_string(k));
      EXPECT_LT(k, 5000u) << "never stops allocating";
      tree t = tree::build(keys, values, options, dev);
      bool threw = false;
      pool.refuse(k, all_that_follow);
      try {
        apply(t, op, batch, brought, radix_path::in_place);
      } catch (const out_of_memory&) {
        threw = true;
      }
      pool.refuse_nothing();
      oracle after = all;
      if (!threw) apply(after, op, batch, brought);
      expect_same(here, t, after);
      if (t.stats().host_bytes == 0) ++lost;
      apply(t, write::insert_or_assign, more, other, radix_path::automatic);
      apply(after, write::insert_or_assign, more, other);
      expect_same(here, t, after);
      EXPECT_GT(t.stats().host_bytes, 0u) << "what was lost is back";
      if (testing::Test::HasFailure() || !threw) break;
    }
    return lost;
  };
  std::size_t lost = 0;
  for (const long_key_mode way : {long_key_mode::in_host_memory, long_key_mode::host_replica})
    for (const write op : {write::insert, write::insert_or_assign, write::update, write::erase})
      for (const bool all_that_follow : {false, true}) {
        SCOPED_TRACE(std::string(name_of(way)) + ", operation " + std::to_string(static_cast<int>(op)));
        lost += sweep(way, op, *device_memory, all_that_follow);
        lost += sweep(way, op, *host_memory, all_that_follow);
        if (HasFailure()) return;
      }
  if (at().dev.kind() == device_kind::cpu) {
    EXPECT_GT(lost, 0u) << "a tree beside could not be put right, and was dropped";
  }
}

/// Pinned memory is refused: the sentence says so, and neither a find nor a build loses anything.
TEST_P(RadixTreeLongKeys, SmallFindsAndBuildsWithoutHostMemorySaySo) {
  const strings keys = long_set(3, 300);
  for (const long_key_mode way : {long_key_mode::in_host_memory, long_key_mode::host_replica}) {
    SCOPED_TRACE(name_of(way));
    const auto pool = std::make_shared<failing_pool>(at().dev.host_pool());
    radix_options options = going(way);
    options.host_pool = pool;
    const auto values = values_from(1, keys.size());
    oracle all;
    apply(all, write::insert_or_assign, keys, values);
    {
      const tree t = tree::build(keys, values, options, at().dev);
      std::size_t failures = 0;
      for (std::size_t k = 1;; ++k) {
        std::vector<odd_value> out(keys.size());
        pool->fail_at(k);
        bool threw = false;
        try {
          t.find(keys, out);
        } catch (const out_of_memory&) {
          threw = true;
          ++failures;
        }
        pool->fail_at(0);
        if (!threw) break;
      }
      EXPECT_GT(failures, 0u);
      expect_same(at(), t, all);
      if (way == long_key_mode::in_host_memory) {
        pool->fail_at(1);
        EXPECT_THROW((void)tree::build(keys, values, options, at().dev), out_of_memory);
        pool->fail_at(0);
      }
    }
    EXPECT_EQ(pool->live_blocks(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeLongKeys, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test::long_keys
