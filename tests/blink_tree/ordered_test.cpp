// ordered_test.cpp - a mixed batch in which keys recur many times gives what its elements give one after the other.
//
// With ordered semantics that is exact, answers of finds in the middle of the batch included. With concurrent
// semantics some order of the elements of each key must explain the answers.
#include <gtest/gtest.h>

#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

using ordered_subject = blink_subject<std::uint64_t, std::uint64_t>;

struct batch {
  array<blink_op> ops;
  array<std::uint64_t> keys;
};

/// `n` operations of the given kinds over `distinct` keys.
batch make_batch(std::size_t n, std::size_t distinct, std::uint64_t seed, const std::vector<blink_op>& kinds) {
  random_words random(seed);
  batch b{array<blink_op>(n), array<std::uint64_t>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    b.ops[i] = kinds[random.below(kinds.size())];
    b.keys[i] = 11 * random.below(distinct);
  }
  return b;
}

class BlinkTreeBatch : public testing::TestWithParam<const setting*> {
 protected:
  static constexpr blink_op find = blink_op::find, insert = blink_op::insert, assign = blink_op::insert_or_assign,
                            update = blink_op::update, erase = blink_op::erase;

  static void apply_batches(std::size_t n, std::size_t distinct, const std::vector<blink_op>& kinds,
                            batch_semantics semantics) {
    for (const write_path path : all_paths) {
      ordered_subject s(*GetParam());
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(std::to_string(n) + " operations on " + std::to_string(distinct) + " keys, seed " +
                     std::to_string(seed));
        const batch b = make_batch(n, distinct, seed, kinds);
        s.apply(b.ops, b.keys, {semantics, path}, seed % 2 == 1);
        s.check_content();
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(BlinkTreeBatch, SmallOrderedMixturesAreExact) {
  for (const std::size_t distinct : {1u, 2u, 7u, 60u, 1000u}) {
    apply_batches(2000, distinct, {find, insert, assign, update, erase}, batch_semantics::ordered);
  }
}

TEST_P(BlinkTreeBatch, SmallOrderedFindsSeeTheWritesBeforeThem) {
  apply_batches(1500, 30, {find, find, find, assign, erase}, batch_semantics::ordered);
  apply_batches(1500, 30, {find, insert}, batch_semantics::ordered);
  apply_batches(1500, 30, {find, update, assign}, batch_semantics::ordered);
}

TEST_P(BlinkTreeBatch, LargeOrderedMixturesAreExact) {
  apply_batches(30000, 3000, {find, insert, assign, update, erase}, batch_semantics::ordered);
  apply_batches(60000, 3, {find, insert, assign, update, erase},
                batch_semantics::ordered);  // runs longer than a thread's part
}

TEST_P(BlinkTreeBatch, SmallTheLastOfEqualWritesWins) {
  for (const write_path path : all_paths) {
    const write_options ordered{batch_semantics::ordered, path};
    array<std::uint64_t> keys(3000), values(3000);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = i % 100;
      values[i] = i;
    }
    blink_tree<std::uint64_t, std::uint64_t> tree(GetParam()->dev);
    array<std::uint8_t> done(keys.size()), found(100);
    array<std::uint64_t> now(100);
    const auto expect_values = [&](const char* what, std::uint64_t first) {
      tree.find(keys.span().first(100), now.span(), found.span());
      for (std::size_t i = 0; i < 100; ++i) {
        ASSERT_EQ(found[i], 1) << what;
        ASSERT_EQ(now[i], first + i) << what << ", " << espalier::to_string(path);
      }
    };
    tree.insert(keys.span(), values.span(), done.span(), ordered);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(done[i], i < 100 ? 1 : 0) << "the first insert is new";
    expect_values("insert", 0);
    tree.insert_or_assign(keys.span(), values.span(), done.span(), ordered);
    expect_values("insert_or_assign", 2900);
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] += 50000;
    tree.update(keys.span(), values.span(), done.span(), ordered);
    expect_values("update", 52900);
  }
}

// Elements of one key that overlap: at most a dozen of them, so that every order can be tried.
TEST_P(BlinkTreeBatch, SmallConcurrentMixturesAreLinearizable) {
  for (const std::size_t distinct : {300u, 1000u}) {
    apply_batches(1500, distinct, {find, insert, assign, update, erase}, batch_semantics::concurrent);
  }
  apply_batches(12, 1, {find, insert, assign, update, erase}, batch_semantics::concurrent);
}

TEST_P(BlinkTreeBatch, SmallConcurrentInsertsOfOneKeyHaveOneWinner) {
  for (const write_path path : all_paths) {
    ordered_subject s(*GetParam());
    array<std::uint64_t> keys(700);
    for (std::uint64_t& key : keys) key = 5;
    for (const write_op op : {write_op::insert, write_op::erase, write_op::insert_or_assign, write_op::update}) {
      s.write(op, keys, {batch_semantics::concurrent, path});
      s.check_content();
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeBatch, testing::ValuesIn(host_span_settings()), setting_name{});

// There are no values, so what is written beside the keys is the mask.
TEST(BlinkTreeSet, FindTakesAMask) {
  const std::vector<std::uint32_t> keys{5, 3, 9}, ask{3, 4, 9};
  blink_tree<std::uint32_t> set(device::cpu(1));
  set.insert(keys);
  std::vector<std::uint8_t> found(3, 9);
  set.find(ask, found);
  EXPECT_EQ(found, (std::vector<std::uint8_t>{1, 0, 1}));
}

}  // namespace
}  // namespace espalier::test
