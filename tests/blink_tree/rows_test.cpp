// rows_test.cpp - range_rows and range for so many queries that each team of a GPU has several, beside writers, and
// what is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

using rows_tree = blink_tree<std::uint32_t, std::uint32_t>;

class BlinkTreeRows : public testing::TestWithParam<const setting*> {
 protected:
  /// Keys 3 i with values 3 i + 1.
  static rows_tree make_tree(std::size_t n) {
    std::vector<std::uint32_t> keys(n), values(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      keys[i] = 3 * i;
      values[i] = 3 * i + 1;
    }
    return rows_tree::build(keys, values, {}, GetParam()->dev);
  }
};

// From 2^18 queries on a tile takes as many as it has lanes; the last one has fewer.
TEST_P(BlinkTreeRows, LargeBatchesFillEveryRow) {
  constexpr std::uint32_t n = 5000, queries = (1u << 18) + 13, row = 9;
  const rows_tree tree = make_tree(n);
  random_words random(7);
  std::vector<std::uint32_t> lo(queries), hi(queries);
  for (std::uint32_t i = 0; i < queries; ++i) {
    lo[i] = static_cast<std::uint32_t>(random.below(3 * n + 50));
    hi[i] = lo[i] + static_cast<std::uint32_t>(random.below(40));
    if (i % 17 == 0) std::swap(lo[i], hi[i]);
  }
  std::vector<std::uint32_t> keys(std::size_t{queries} * row), values(std::size_t{queries} * row);
  std::vector<std::uint64_t> counts(queries);
  tree.range_rows(lo, hi, keys, values, counts, {interval::closed, row});
  const auto all = tree.range(lo, hi);
  const auto offsets = all.offsets.to_vector();
  const auto all_keys = all.keys.to_vector(), all_values = all.values.to_vector();
  for (std::uint32_t i = 0; i < queries; ++i) {
    const std::uint32_t first = (lo[i] + 2) / 3;
    const std::uint32_t end = std::min(n, hi[i] / 3 + 1);
    const std::uint64_t size = lo[i] <= hi[i] && first < end ? end - first : 0;
    ASSERT_EQ(counts[i], std::min<std::uint64_t>(size, row)) << "row " << i;
    ASSERT_EQ(offsets[i + 1] - offsets[i], size) << "range " << i;
    for (std::uint32_t j = 0; j < counts[i]; ++j) {
      ASSERT_EQ(keys[std::size_t{i} * row + j], 3 * (first + j)) << "row " << i;
      ASSERT_EQ(values[std::size_t{i} * row + j], 3 * (first + j) + 1) << "row " << i;
    }
    for (std::uint32_t j = 0; j < size; ++j) {
      ASSERT_EQ(all_keys[offsets[i] + j], 3 * (first + j)) << "range " << i;
      ASSERT_EQ(all_values[offsets[i] + j], 3 * (first + j) + 1) << "range " << i;
    }
  }
}

TEST_P(BlinkTreeRows, SmallBatchesWhileARefIsLentFollowLinks) {
  rows_tree tree = make_tree(4000);
  static_cast<void>(tree.ref(10));
  const std::vector<std::uint32_t> lo{0, 2999, 11900}, hi{100, 3100, 99999};
  std::vector<std::uint32_t> keys(3 * 50), values(3 * 50);
  std::vector<std::uint64_t> counts(3);
  tree.range_rows(lo, hi, keys, values, counts, {interval::closed, 50});
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{34, 34, 33}));
  EXPECT_EQ(keys[0], 0u);
  EXPECT_EQ(keys[50], 3000u);
  EXPECT_EQ(values[100 + 32], 11998u);
}

TEST_P(BlinkTreeRows, WhatDoesNotFitIsRefused) {
  const rows_tree tree = make_tree(100);
  const std::vector<std::uint32_t> two{1, 2}, one{1};
  std::vector<std::uint32_t> keys(6), values(6), few(5);
  std::vector<std::uint64_t> counts(2), count(1);
  const range_options three{interval::closed, 3};
  EXPECT_THROW(tree.range_rows(two, one, keys, values, counts, three), error);
  EXPECT_THROW(tree.range_rows(two, two, keys, values, count, three), error);
  EXPECT_THROW(tree.range_rows(two, two, few, values, counts, three), error);
  EXPECT_THROW(tree.range_rows(two, two, keys, few, counts, three), error);
  EXPECT_THROW(tree.range_rows(two, two, keys, values, counts, {}), error) << "rows without an end";
  tree.range_rows({}, {}, {}, {}, {}, three);
  tree.range_rows(two, two, keys, values, counts, three);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 0}));
}

// Rows are taken while others write: what is there all the time is in every row, once and in order.
TEST_P(BlinkTreeRows, SmallRowsBesideAWriterHaveWhatStays) {
  rows_tree tree = make_tree(2000);
  std::vector<std::uint32_t> coming;
  for (std::uint32_t i = 0; i < 2000; ++i) coming.push_back(3 * i + 1);
  std::atomic<bool> over = false;
  const device dev = GetParam()->dev;
  std::thread writer([&] {
    const stream own = dev.make_stream();
    for (unsigned round = 0; round < 6; ++round) {
      tree.insert(coming, coming, {}, {batch_semantics::concurrent, write_path::per_key}, own);
      tree.erase(coming, {}, {batch_semantics::concurrent, write_path::per_key}, own);
    }
    over = true;
  });
  const std::vector<std::uint32_t> lo{300, 3000}, hi{600, 3300};
  std::vector<std::uint32_t> keys(2 * 256), values(2 * 256);
  std::vector<std::uint64_t> counts(2);
  std::string problem;
  do {
    tree.range_rows(lo, hi, keys, values, counts, {interval::closed, 256});
    for (std::size_t q = 0; q < 2 && problem.empty(); ++q) {
      std::uint32_t staying = 0;
      for (std::size_t j = 0; j < counts[q]; ++j) {
        const std::uint32_t key = keys[q * 256 + j];
        if (j > 0 && keys[q * 256 + j - 1] >= key) problem = "a row is out of order";
        if (key % 3 == 0) ++staying;
        if (values[q * 256 + j] != (key % 3 == 0 ? key + 1 : key)) problem = "a value belongs to another key";
      }
      if (staying != 101) problem = std::to_string(staying) + " of 101 keys that stay";
    }
  } while (!over);
  writer.join();
  EXPECT_EQ(problem, "");
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeRows, testing::ValuesIn(host_span_settings()), setting_name{});

// ---- mixed batches from memory that holds anything --------------------------------------------------------

class BlinkTreeOps : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeOps, SmallBatchesWithACodeThatIsNoOperationChangeNothing) {
  for (const batch_semantics semantics : all_semantics) {
    for (const write_path path : all_paths) {
      const std::vector<std::uint32_t> nine{9}, ninety{90};
      auto tree = rows_tree::build(nine, ninety, {}, GetParam()->dev);
      const std::vector<blink_op> ops{blink_op::insert, static_cast<blink_op>(77)};
      const std::vector<std::uint32_t> keys{4, 9}, values{40, 91};
      std::vector<std::uint32_t> out(2);
      std::vector<std::uint8_t> done(2);
      EXPECT_THROW(tree.apply(ops, keys, values, out, done, {semantics, path}), error);
      EXPECT_EQ(tree.size(), 1u);
      tree.find(nine, out = std::vector<std::uint32_t>(1), done = std::vector<std::uint8_t>(1));
      EXPECT_EQ(out[0], 90u);
    }
  }
}

TEST_P(BlinkTreeOps, SmallBatchesOfWritesWithoutValuesChangeNothing) {
  const std::vector<std::uint32_t> nine{9}, ninety{90};
  for (const blink_op op : {blink_op::insert, blink_op::insert_or_assign, blink_op::update}) {
    auto tree = rows_tree::build(nine, ninety, {}, GetParam()->dev);
    const std::vector<blink_op> ops{blink_op::erase, op};
    const std::vector<std::uint32_t> keys{9, 9};
    std::vector<std::uint8_t> done(2);
    EXPECT_THROW(tree.apply(ops, keys, {}, {}, done), error);
    EXPECT_EQ(tree.size(), 1u);
  }
  auto tree = rows_tree::build(nine, ninety, {}, GetParam()->dev);
  const std::vector<blink_op> ops{blink_op::find, blink_op::erase};
  const std::vector<std::uint32_t> keys{8, 9};
  std::vector<std::uint8_t> done(2);
  tree.apply(ops, keys, {}, {}, done);
  EXPECT_EQ(done, (std::vector<std::uint8_t>{0, 1}));
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeOps, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
