// small_batch_steps_test.cpp - the steps by which a GPU writes a small batch (small_batch.hpp), executed by CPU threads
// on the nodes of a CPU tree: batches of every kind, trees of all heights, and pools without room.
#include "blink_tree/small_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using detail::small_batch_outcome;

/// Some CPU threads that run the steps together.
class crew {
 public:
  using team = scalar_team;
  struct shared {
    explicit shared(unsigned n) : all_here(n), sums(n * std::size_t{16}) {}
    std::barrier<> all_here;
    std::vector<std::uint64_t> sums;
  };
  crew(shared& with, unsigned rank, unsigned size) : with_(&with), rank_(rank), size_(size) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  void sync() const { with_->all_here.arrive_and_wait(); }
  template <class Sum>
  Sum sum_before(const Sum& mine, Sum& all) const {
    sync();
    std::memcpy(&with_->sums[rank_ * std::size_t{16}], &mine, sizeof(Sum));
    sync();
    Sum before{};
    all = Sum{};
    for (unsigned r = 0; r < size_; ++r) {
      if (r == rank_) before = all;
      Sum x;
      std::memcpy(static_cast<void*>(&x), &with_->sums[r * std::size_t{16}], sizeof(Sum));
      all = Sum::combine(all, x);
    }
    return before;
  }
  template <class Word>
  void sort(Word* words, std::uint32_t* place, std::uint32_t n) const {
    if (rank_ != 0) return;
    std::vector<std::pair<Word, std::uint32_t>> pairs(n);
    for (std::uint32_t i = 0; i < n; ++i) pairs[i] = {words[i], i};
    std::sort(pairs.begin(), pairs.end());
    for (std::uint32_t i = 0; i < n; ++i) std::tie(words[i], place[i]) = pairs[i];
  }

 private:
  shared* with_;
  unsigned rank_, size_;
};

/// A tree, its model, and batches written by the steps.
template <class Key, class Value>
class stepped_tree {
 public:
  using tree_type = blink_tree<Key, Value>;
  using ref_type = typename tree_type::ref_type;
  using view = typename ref_type::view_type;

  stepped_tree(const std::vector<Key>& keys, unsigned threads) : threads_(threads), tree_(build(keys)) {
    for (std::size_t i = 0; i < keys.size(); ++i) model_[keys[i]] = value(i);
  }

  [[nodiscard]] static Value value(std::size_t i) { return static_cast<Value>(i * 7 + 3); }

  detail::small_batch_result write(write_op op, const std::vector<Key>& keys, std::size_t room, bool sorts = true) {
    const std::string what = "operation " + std::to_string(static_cast<unsigned>(op)) + ", " +
                             std::to_string(keys.size()) + " keys, " + std::to_string(threads_) + " threads";
    SCOPED_TRACE(what);
    std::vector<Value> values(keys.size());
    for (Value& v : values) v = value(++written_);
    std::vector<std::uint8_t> done(keys.size(), 0xa5);
    const ref_type ref = tree_.ref(room);
    std::vector<std::uint64_t> scratch(detail::small_batch_arrays<word_of<Key>>::bytes(keys.size()) / 8 + 8);
    detail::small_batch_result result{};
    detail::small_batch_job<view> job{};
    job.tree = ref.layout();
    job.op = op;
    job.n = static_cast<std::uint32_t>(keys.size());
    job.sorts = sorts;
    job.keys = keys.data();
    job.values = values.data();
    job.done = done.data();
    job.scratch = reinterpret_cast<std::byte*>(scratch.data());
    job.result = &result;
    std::uint32_t declined = 7;
    job.declined = &declined;
    run(job);
    EXPECT_EQ(declined, result.outcome == small_batch_outcome::done ? 0u : 1u);
    if (result.outcome == small_batch_outcome::done) {
      const std::size_t before = model_.size();
      follow(op, keys, values, done);
      EXPECT_EQ(result.change, std::uint64_t{model_.size()} - before);
    } else {
      EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](std::uint8_t d) { return d == 0xa5; }));
    }
    check();
    return result;
  }
  [[nodiscard]] tree_type& tree() { return tree_; }
  [[nodiscard]] std::size_t size() const { return model_.size(); }

  void check() {
    const validation state = tree_.validate();
    ASSERT_TRUE(state.ok) << state.problem;
    ASSERT_EQ(tree_.stats().size, model_.size());
    std::vector<Key> keys;
    for (const auto& [k, v] : model_) keys.push_back(k);
    std::vector<Value> found(keys.size());
    std::vector<std::uint8_t> mask(keys.size());
    tree_.find(keys, found, mask);
    std::size_t i = 0;
    for (const auto& [k, v] : model_) {
      ASSERT_EQ(mask[i], 1) << "key " << +k;
      ASSERT_EQ(found[i], v) << "key " << +k;
      ++i;
    }
  }

 private:
  [[nodiscard]] static tree_type build(const std::vector<Key>& keys) {
    std::vector<Value> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value(i);
    return tree_type::build(keys, values, {}, device::cpu());
  }
  void run(const detail::small_batch_job<view>& job) const {
    crew::shared with(threads_);
    std::vector<std::thread> running;
    for (unsigned r = 0; r < threads_; ++r) {
      running.emplace_back([&with, &job, r, this] {
        const crew mine(with, r, threads_);
        detail::small_batch_steps<crew, view>(mine, job).run();
      });
    }
    for (std::thread& t : running) t.join();
  }
  /// The order of equal keys is that of the batch.
  void follow(write_op op, const std::vector<Key>& keys, const std::vector<Value>& values,
              const std::vector<std::uint8_t>& done) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool present = model_.count(keys[i]) != 0;
      if (op == write_op::erase) model_.erase(keys[i]);
      if (op == write_op::insert && !present) model_[keys[i]] = values[i];
      if (op == write_op::insert_or_assign || (op == write_op::update && present)) model_[keys[i]] = values[i];
      const bool expected = op == write_op::erase || op == write_op::update ? present : !present;
      ASSERT_EQ(done[i], expected ? 1 : 0) << "element " << i;
    }
  }

  unsigned threads_;
  std::map<Key, Value> model_;
  tree_type tree_;
  std::size_t written_ = 1000000;
};

template <class Key>
std::vector<Key> every(std::size_t n, std::size_t step, std::size_t first = 0) {
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(first + i * step);
  return keys;
}
template <class Key>
std::vector<Key> shuffled(std::vector<Key> keys, unsigned seed = 1) {
  std::shuffle(keys.begin(), keys.end(), std::mt19937(seed));
  return keys;
}
template <class Key>
std::vector<Key> random_keys(std::size_t n, std::uint64_t below, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(n);
  for (Key& k : keys) k = static_cast<Key>(random() % below);
  return keys;
}

constexpr write_op all_ops[] = {write_op::insert, write_op::insert_or_assign, write_op::update, write_op::erase};
constexpr std::size_t keys_of_lane = 6000 / less_work;  // enough leaves for an express lane

template <class Key, class Value>
void check_batches(std::size_t keys_before, unsigned threads) {
  SCOPED_TRACE(std::to_string(keys_before) + " keys before");
  const std::size_t span = keys_before * 10 + 10;
  stepped_tree<Key, Value> t(every<Key>(keys_before, 10), threads);
  constexpr std::size_t room = 4000;
  const auto write = [&](write_op op, const std::vector<Key>& keys) {
    EXPECT_EQ(t.write(op, keys, room).outcome, small_batch_outcome::done);
  };
  write(write_op::insert, {static_cast<Key>(5)});
  write(write_op::insert, {static_cast<Key>(5)});
  write(write_op::insert, every<Key>(300, 1, span));                         // at the end, ascending
  write(write_op::insert, shuffled(every<Key>(300, 1, span + 300)));         // at the end, shuffled
  write(write_op::insert, every<Key>(13, 1, span + 600));                    // a little more than a leaf
  write(write_op::insert, every<Key>(700, 1, span / 2 * 10 % span + 1));     // into one place
  write(write_op::insert_or_assign, random_keys<Key>(500, span + 1000, 3));  // anywhere, some keys twice
  write(write_op::insert_or_assign, std::vector<Key>(200, static_cast<Key>(77)));
  write(write_op::insert, std::vector<Key>(200, static_cast<Key>(78)));
  write(write_op::update, random_keys<Key>(500, span + 1000, 4));
  auto falling = every<Key>(400, 3, span / 3);
  std::reverse(falling.begin(), falling.end());
  write(write_op::insert, falling);
  write(write_op::erase, falling);
  write(write_op::erase, falling);
  write(write_op::erase, random_keys<Key>(600, span + 1000, 4));
  write(write_op::erase, std::vector<Key>(50, static_cast<Key>(77)));
  const Key largest = static_cast<Key>(~Key{0});
  write(write_op::insert_or_assign, {largest, Key{0}, largest, static_cast<Key>(largest - 1)});
  write(write_op::insert, every<Key>(100, 1, static_cast<std::size_t>(largest) - 100));
  write(write_op::erase, {largest, largest});
}

TEST(SmallBatchSteps, WriteEveryKindOfBatch) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{12}, std::size_t{500}, keys_of_lane})
    check_batches<std::uint32_t, std::uint32_t>(n, 1);
  check_batches<std::uint32_t, std::uint32_t>(500, 3);
  check_batches<std::uint64_t, std::uint64_t>(keys_of_lane, 3);
  check_batches<std::uint32_t, std::uint64_t>(keys_of_lane, 2);
}

TEST(SmallBatchSteps, AppendManyBatchesWhoseSeparatorsGrowTheRoot) {
  for (const std::size_t batch : {1u, 12u, 40u, 300u}) {
    SCOPED_TRACE(std::to_string(batch) + " keys a batch");
    stepped_tree<std::uint32_t, std::uint32_t> t(every<std::uint32_t>(keys_of_lane, 1), 2);
    std::size_t next = keys_of_lane;
    for (std::size_t i = 0; i < 20; ++i, next += batch)
      ASSERT_EQ(t.write(write_op::insert, every<std::uint32_t>(batch, 1, next), 1000).outcome,
                small_batch_outcome::done);
  }
}

TEST(SmallBatchSteps, GrowAnEmptyTreeToSeveralLevels) {
  stepped_tree<std::uint64_t, std::uint64_t> t({}, 3);
  const std::size_t n = 20000 / less_work;
  EXPECT_EQ(t.write(write_op::insert, every<std::uint64_t>(n, 2), n).outcome, small_batch_outcome::done);
  EXPECT_GE(t.tree().stats().height, 4u / (less_work > 4 ? 2 : 1));
  EXPECT_EQ(t.write(write_op::insert, every<std::uint64_t>(n, 2, 1), n).outcome, small_batch_outcome::done);
  EXPECT_EQ(t.write(write_op::erase, every<std::uint64_t>(n, 4), n).outcome, small_batch_outcome::done);
}

TEST(SmallBatchSteps, PostLeavesOfAChainSoThatSearchesAreShort) {
  stepped_tree<std::uint32_t, std::uint32_t> t(every<std::uint32_t>(keys_of_lane, 1000), 2);
  const std::size_t n = 2000;
  const auto r = t.write(write_op::insert, every<std::uint32_t>(n, 1, 500001), 4 * n);
  EXPECT_GE(r.leaves, n / 12);
  EXPECT_GE(r.posts, r.leaves / 4);
  EXPECT_GE(t.tree().stats().inner_nodes, r.posts / 12);
}

TEST(SmallBatchSteps, DeclineAndChangeNothing) {
  stepped_tree<std::uint32_t, std::uint32_t> t(every<std::uint32_t>(keys_of_lane, 10), 2);
  const auto order = shuffled(every<std::uint32_t>(300, 7, 3));
  EXPECT_EQ(t.write(write_op::insert, order, 1000, false).outcome, small_batch_outcome::unordered);
  EXPECT_EQ(t.write(write_op::insert, every<std::uint32_t>(300, 7, 3), 1000, false).outcome, small_batch_outcome::done);
  // The pool has a sixteenth of the leaves left, which is less than these batches need.
  for (const write_op op : {write_op::insert, write_op::insert_or_assign})
    EXPECT_EQ(t.write(op, every<std::uint32_t>(20000, 1, 500), 0).outcome, small_batch_outcome::no_room);
  EXPECT_EQ(t.write(write_op::erase, every<std::uint32_t>(3000, 1, 500), 0).outcome, small_batch_outcome::done);
}

TEST(SmallBatchSteps, FollowAModelThroughRandomBatches) {
  std::mt19937_64 random(5);
  for (const unsigned threads : {1u, 4u}) {
    stepped_tree<std::uint32_t, std::uint32_t> t(every<std::uint32_t>(threads == 1 ? 0 : keys_of_lane, 10), threads);
    for (unsigned round = 0; round < 32 / less_work + 5; ++round) {
      const std::uint64_t first = random() % 50000, below = 1 + random() % (round % 3 == 0 ? 300 : 60000);
      auto keys = random_keys<std::uint32_t>(1 + random() % 700, below, static_cast<unsigned>(random()));
      for (auto& k : keys) k += static_cast<std::uint32_t>(first);
      if (round % 2 == 0) std::sort(keys.begin(), keys.end());
      EXPECT_EQ(t.write(all_ops[random() % 4], keys, 2000).outcome, small_batch_outcome::done);
      if (round % 16 == 15) t.tree().maintain();
    }
  }
}

}  // namespace
}  // namespace espalier::test
