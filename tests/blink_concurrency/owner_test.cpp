// owner_test.cpp - the owner's calls may come from several threads, and a snapshot is the tree of one moment.
#include <optional>

#include "blink_concurrency/common.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using tree_type = blink_tree<std::uint32_t, std::uint32_t>;
constexpr write_options per_key{batch_semantics::concurrent, write_path::per_key};
constexpr write_options bulk{batch_semantics::concurrent, write_path::bulk};

class BlinkTreeOwner : public testing::TestWithParam<const setting*> {};

/// Keys first, first + step, ... : the share of one thread.
array<std::uint32_t> keys_from(std::uint32_t first, std::uint32_t step, std::size_t n) {
  array<std::uint32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = first + step * static_cast<std::uint32_t>(i);
  return keys;
}
array<std::uint32_t> values_for(const array<std::uint32_t>& keys) {
  array<std::uint32_t> values(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value_of(keys[i]);
  return values;
}

/// Each thread writes a share of the keys on a path of its own, reads what nobody touches, and maintains now and then.
template <class Tree>
void every_call_from_several_threads(const device& dev) {
  constexpr std::uint32_t shares = 5;
  constexpr std::size_t n = 3000 / less_work;
  Tree tree(dev);
  const array<std::uint32_t> staying = keys_from(shares - 1, shares, n);
  tree.insert(staying.span(), values_for(staying).span());
  in_threads(many_threads, [&](unsigned t) {
    const stream order = dev.make_stream();
    const array<std::uint32_t> keys = keys_from(t, shares, n), values = values_for(keys);
    array<std::uint8_t> done(n);
    array<std::uint32_t> found_values(n);
    const auto expect_all = [&](const char* what, unsigned round) {
      const auto missing = std::count(done.begin(), done.end(), 0);
      EXPECT_EQ(missing, 0) << what << ", thread " << t << ", round " << round;
    };
    for (unsigned round = 0; round < 6; ++round) {
      const write_options how = (round + t) % 2 == 0 ? per_key : bulk;
      tree.insert(keys.span(), values.span(), done.span(), how, order);
      expect_all("insert", round);
      if (round == t) tree.maintain(order);
      tree.find(staying.span(), found_values.span(), done.span(), order);
      expect_all("find of what stays", round);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found_values[i], value_of(staying[i])) << "round " << round;
      tree.find(keys.span(), found_values.span(), done.span(), order);
      expect_all("find", round);
      const std::uint32_t lo = 0, hi = shares * static_cast<std::uint32_t>(n);
      EXPECT_GE(tree.range({&lo, 1}, {&hi, 1}, {}, order).keys.size(), 2 * n) << "thread " << t << ", round " << round;
      if (round == 5) break;
      tree.erase(keys.span(), done.span(), how, order);
      expect_all("erase", round);
    }
  });
  const auto [keys, values] = content_of(tree);
  ASSERT_EQ(keys.size(), shares * n);
  for (std::uint32_t k = 0; k < keys.size(); ++k) {
    ASSERT_EQ(keys[k], k);
    ASSERT_EQ(values[k], value_of(k));
  }
}
TEST_P(BlinkTreeOwner, TakesEveryCallFromSeveralThreads) {
  every_call_from_several_threads<tree_type>(GetParam()->dev);
}
// Nothing in the tree keeps writers apart: the owner does.
TEST_P(BlinkTreeOwner, TakesEveryCallFromSeveralThreadsForOneWriter) {
  using one_writer = blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::single_writer>>;
  every_call_from_several_threads<one_writer>(GetParam()->dev);
}

// Threads append blocks of a log, each block behind all that were handed out before it, so that they meet at the last
// leaf; a key that was appended is found from then on.
TEST_P(BlinkTreeOwner, LosesNothingOfALogThatSeveralThreadsAppendTo) {
  const device& dev = GetParam()->dev;
  constexpr std::uint32_t block = 300, blocks = 120 / less_work, before = 3000;
  const array<std::uint32_t> old = keys_from(0, 1, before);
  tree_type tree = tree_type::build(old.span(), values_for(old).span(), {}, dev);
  std::atomic<std::uint32_t> next{0};
  in_threads(many_threads, [&](unsigned t) {
    const stream order = dev.make_stream();
    for (std::uint32_t b = next++; b < blocks; b = next++) {
      const array<std::uint32_t> keys = keys_from(before + b * block, 1, block), values = values_for(keys);
      array<std::uint8_t> done(block), found(block);
      array<std::uint32_t> found_values(block);
      tree.insert(keys.span(), values.span(), done.span(), b % 16 == 15 ? bulk : per_key, order);
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), block) << "thread " << t << ", block " << b;
      tree.find(keys.span(), found_values.span(), found.span(), order);
      for (std::uint32_t i = 0; i < block; ++i) {
        EXPECT_TRUE(found[i] == 1 && found_values[i] == values[i]) << "thread " << t << ", key " << keys[i];
      }
    }
  });
  const auto [keys, values] = content_of(tree);
  ASSERT_EQ(keys.size(), before + blocks * block);
  for (std::uint32_t k = 0; k < keys.size(); ++k) {
    ASSERT_EQ(keys[k], k);
    ASSERT_EQ(values[k], value_of(k));
  }
}

/// Is the snapshot what a writer that inserts along `order` had made at some moment? If key i is there, so are those
/// before it.
bool is_a_prefix(const static_tree<std::uint32_t, std::uint32_t>& snapshot, const array<std::uint32_t>& order,
                 std::size_t first, std::size_t step) {
  array<std::uint8_t> found(order.size());
  snapshot.contains(order.span(), found.span());
  bool ended = false;
  for (std::size_t i = first; i < order.size(); i += step) {
    if (ended && found[i] != 0) return false;
    ended |= found[i] == 0;
  }
  return true;
}

TEST_P(BlinkTreeOwner, ASnapshotIsOfOneMomentWhileTheOwnerWrites) {
  constexpr std::size_t n = 4000 / less_work;
  const device dev = GetParam()->dev;
  array<std::uint32_t> order = keys_from(0, 3, n);
  random_words random(5);
  shuffle(order, random);
  tree_type tree(dev);
  std::atomic<unsigned> wrong{0}, writers{2};
  in_threads(3, [&](unsigned t) {
    const stream mine = dev.make_stream();
    if (t == 2) {
      do {
        const auto snapshot = tree.snapshot({}, mine);
        if (!is_a_prefix(snapshot, order, 0, 2) || !is_a_prefix(snapshot, order, 1, 2)) ++wrong;
      } while (writers.load() != 0);
      return;
    }
    const std::size_t writes = dev.kind() == device_kind::cuda ? n / 8 : n;
    for (std::size_t i = t; i < writes; i += 2) {
      const std::uint32_t value = value_of(order[i]);
      tree.insert({&order[i], 1}, {&value, 1}, {}, per_key, mine);
    }
    --writers;
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_TRUE(tree.validate().ok);
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeOwner, testing::ValuesIn(host_span_settings()), setting_name{});

// Every tenth key stays. Two threads bring and take away others through a ref; the owner is used beside them.
template <class Tree>
class ref_at_work {
 public:
  static constexpr std::uint32_t stays = 6000 / less_work, gap = 10, all = stays * gap;
  static constexpr unsigned rounds = 4;

  /// Some keys come after the upper levels were made: the owner would like to make those anew, and must not.
  ref_at_work() : tree_(device::cpu(2)), staying_(keys_from(0, gap, stays)) {
    tree_.insert(staying_.span(), values_for(staying_).span(), {}, bulk);
    random_words random(9);
    array<std::uint32_t> later(stays * 3 / 10);
    for (std::uint32_t& k : later) k = static_cast<std::uint32_t>(random.below(stays)) * gap + 9;
    tree_.insert(later.span(), values_for(later).span(), {}, per_key);
    ref_.emplace(tree_.ref(2 * all * rounds));
  }
  [[nodiscard]] Tree& tree() { return tree_; }
  [[nodiscard]] const array<std::uint32_t>& staying() const { return staying_; }

  /// use(order) again and again beside the writers. It must not write keys of the classes 1 to 6.
  void run(const std::function<bool(const stream&)>& use) {
    std::atomic<unsigned> wrong{0}, writers{2};
    in_threads(3, [&](unsigned t) {
      if (t < 2) {
        if (!churn(t)) ++wrong;
        --writers;
        return;
      }
      const stream order = tree_.get_device().make_stream();
      do {
        if (!use(order)) ++wrong;
      } while (writers.load() != 0);
    });
    EXPECT_EQ(wrong.load(), 0u);
    const auto keys = content_of(tree_).first;
    for (const std::uint32_t k : staying_) ASSERT_TRUE(std::binary_search(keys.begin(), keys.end(), k)) << "key " << k;
  }

 private:
  bool churn(unsigned t) {
    bool right = true;
    for (unsigned round = 0; round < rounds; ++round) {
      for (std::uint32_t k = 0; k < all; ++k) {
        if (k % gap >= 1 + 3 * t && k % gap < 4 + 3 * t) {
          right &= ref_->insert(scalar_team{}, k, value_of(k)) == write_result::inserted;
        }
      }
      for (std::uint32_t k = 0; k < all; ++k) {
        if (k % gap >= 1 + 3 * t && k % gap < 4 + 3 * t) right &= ref_->erase(scalar_team{}, k) == write_result::erased;
      }
    }
    return right;
  }

  Tree tree_;
  array<std::uint32_t> staying_;
  std::optional<typename Tree::ref_type> ref_;
};

TEST(BlinkTreeOwnerBesideARef, AnswersPointQueries) {
  ref_at_work<tree_type> w;
  const std::size_t n = w.staying().size();
  array<std::uint8_t> found(n);
  array<std::uint32_t> values(n), next(n);
  w.run([&](const stream& order) {
    bool right = true;
    w.tree().find(w.staying().span(), values.span(), found.span(), order);
    for (std::size_t i = 0; i < n; ++i) right &= found[i] == 1 && values[i] == value_of(w.staying()[i]);
    w.tree().successor(w.staying().span(), next.span(), values.span(), found.span(), order);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      right &= found[i] == 1 && next[i] > w.staying()[i] && next[i] <= w.staying()[i + 1];
    }
    return right;
  });
}

// A range has to be counted and then copied. If refs change it in between every time, the owner says so; what it
// answers is right.
TEST(BlinkTreeOwnerBesideARef, AnswersRangesOrSaysThatRefsAreInTheWay) {
  ref_at_work<tree_type> w;
  w.run([&](const stream& order) {
    const std::uint32_t lo = 0, hi = w.all;
    std::uint64_t count = 0;
    w.tree().count({&lo, 1}, {&hi, 1}, {&count, 1}, {}, order);
    if (count < w.stays) return false;
    std::vector<std::uint32_t> keys;
    try {
      keys = w.tree().range({&lo, 1}, {&hi, 1}, {}, order).keys.to_vector();
    } catch (const error& e) {
      return std::string(e.what()).find("refs") != std::string::npos;
    }
    std::size_t seen = 0;
    for (const std::uint32_t k : keys) seen += k % w.gap == 0 ? 1 : 0;
    return std::is_sorted(keys.begin(), keys.end(), std::less_equal<>{}) && seen == w.stays;
  });
}

TEST(BlinkTreeOwnerBesideARef, WritesPerKey) {
  ref_at_work<tree_type> w;
  const array<std::uint32_t> mine = keys_from(8, w.gap, w.stays), values = values_for(mine);
  array<std::uint8_t> done(mine.size());
  w.run([&](const stream& order) {
    bool right = true;
    const auto all_done = [&] { return std::count(done.begin(), done.end(), 1) == std::ptrdiff_t{w.stays}; };
    w.tree().insert(mine.span(), values.span(), done.span(), per_key, order);
    right &= all_done();
    w.tree().erase(mine.span(), done.span(), per_key, order);
    right &= all_done();
    return right;
  });
}

}  // namespace
}  // namespace espalier::test
