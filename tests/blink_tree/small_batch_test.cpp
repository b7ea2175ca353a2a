// small_batch_test.cpp - batches of up to some thousand keys by the automatic path, which a GPU writes in one kernel:
// every kind of batch, into trees of several heights, with refs in use, from two streams, and where memory runs out.
// small_batch_steps_test.cpp runs the kernel's steps on a CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/blink_subject.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t tree_keys = 6000 / less_work;  // enough leaves for an express lane
constexpr write_options in_order{batch_semantics::ordered, write_path::automatic};

/// n keys from `first` on, at distances of `step`.
template <class Key>
array<Key> spaced(std::size_t first, std::size_t n, std::size_t step = 1) {
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(first + i * step);
  return keys;
}
template <class Key>
array<Key> reversed(array<Key> keys) {
  std::reverse(keys.begin(), keys.end());
  return keys;
}
template <class Key>
array<Key> shuffled(array<Key> keys) {
  std::shuffle(keys.begin(), keys.end(), std::mt19937(7));
  return keys;
}
/// Keys anywhere below `below`, some of them several times.
template <class Key>
array<Key> anywhere(std::size_t n, std::size_t below) {
  std::mt19937_64 random(n);
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(random() % below);
  return keys;
}

template <class Key, class Value>
void check_batches(const setting& s, std::size_t before) {
  SCOPED_TRACE(std::to_string(before) + " keys before");
  blink_subject<Key, Value> subject(s, spaced<Key>(0, before, 10));
  const std::size_t end = before * 10 + 20;
  const auto write = [&](write_op op, const array<Key>& keys) {
    if (std::is_void_v<Value> && (op == write_op::insert_or_assign || op == write_op::update)) return;
    subject.write(op, keys, in_order);
  };
  write(write_op::insert, spaced<Key>(5, 1));
  write(write_op::insert, spaced<Key>(end, 256));
  write(write_op::insert, shuffled(spaced<Key>(end + 256, 300)));
  write(write_op::insert, reversed(spaced<Key>(end + 556, 300)));
  write(write_op::insert, spaced<Key>(end / 2 + 1, 700));
  write(write_op::insert, shuffled(spaced<Key>(end / 3, 2500 / less_work, 3)));
  write(write_op::insert_or_assign, anywhere<Key>(900, end + 900));
  write(write_op::insert_or_assign, array<Key>(300));
  write(write_op::update, anywhere<Key>(900, end + 1200));
  write(write_op::erase, shuffled(spaced<Key>(end + 100, 600)));
  write(write_op::erase, shuffled(spaced<Key>(end + 100, 600)));
  write(write_op::erase, anywhere<Key>(2000 / less_work, end + 900));
  write(write_op::insert, spaced<Key>(end + 2000, 5000 / less_work));  // must ascend, since the kernel does not sort it
  write(write_op::insert, shuffled(spaced<Key>(end + 9000, 5000 / less_work)));
  subject.check_content();
  subject.maintain();
  write(write_op::insert, spaced<Key>(end + 20000, 100));
  subject.check_content();
}

class BlinkTreeSmallBatch : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeSmallBatch, OfEveryKind) {
  for (const std::size_t before : {std::size_t{0}, std::size_t{12}, std::size_t{500}, tree_keys}) {
    check_batches<std::uint32_t, std::uint32_t>(*GetParam(), before);
    if (HasFatalFailure()) return;
  }
  check_batches<std::uint64_t, std::uint64_t>(*GetParam(), tree_keys);
}
TEST_P(BlinkTreeSmallBatch, OfOtherKeysAndValues) {
  check_batches<std::int32_t, std::uint16_t>(*GetParam(), tree_keys);
  check_batches<std::uint64_t, pair_of_words>(*GetParam(), tree_keys);
  check_batches<std::uint32_t, void>(*GetParam(), tree_keys);
}

TEST_P(BlinkTreeSmallBatch, NumberOfElementsAndRangesFollow) {
  blink_subject<std::uint64_t, std::uint64_t> subject(*GetParam(), spaced<std::uint64_t>(0, tree_keys, 10));
  for (std::size_t i = 0; i < 20; ++i) {
    subject.insert(spaced<std::uint64_t>(tree_keys * 10 + i * 50, 50));
    subject.erase(spaced<std::uint64_t>(tree_keys * 10 + i * 50 + 10, 20));
    if (i % 5 == 4) subject.check_content();
  }
}

// A batch in one place makes a chain of leaves that the lane does not name. Larger batches, which are written
// key by key, and reads find their way through it.
TEST_P(BlinkTreeSmallBatch, MakesAChainThatOtherOperationsPass) {
  blink_subject<std::uint32_t, std::uint32_t> subject(*GetParam(), spaced<std::uint32_t>(0, 4 * tree_keys, 1000));
  subject.insert(spaced<std::uint32_t>(1000001 / less_work, 900));
  subject.write(write_op::insert_or_assign, shuffled(spaced<std::uint32_t>(1000000 / less_work, 450, 2)),
                {batch_semantics::concurrent, write_path::per_key});
  subject.erase(shuffled(spaced<std::uint32_t>(1000001 / less_work, 300, 3)),
                {batch_semantics::concurrent, write_path::per_key});
  subject.check_content();
  subject.insert(spaced<std::uint32_t>(2000001 / less_work, 900), {batch_semantics::concurrent, write_path::bulk});
  subject.check_content();
}

TEST_P(BlinkTreeSmallBatch, LeavesRefsValid) {
  blink_subject<std::uint32_t, std::uint32_t> subject(*GetParam(), spaced<std::uint32_t>(0, tree_keys, 10));
  const auto ref = subject.tree().ref(100);
  for (std::size_t i = 0; i < 30; ++i)
    subject.insert(spaced<std::uint32_t>(tree_keys * 10 + 300 * i, 300));  // more than the nodes in reserve
  subject.insert(shuffled(spaced<std::uint32_t>(3, 2000 / less_work, 7)));
  if (GetParam()->dev.kind() == device_kind::cpu) {
    std::uint32_t value = 0;
    EXPECT_TRUE(ref.find(scalar_team{}, static_cast<std::uint32_t>(tree_keys * 10 + 5), value));
  }
  subject.check_content();
  subject.maintain();
  subject.check_content();
}

TEST_P(BlinkTreeSmallBatch, FromTwoStreams) {
  const device& dev = GetParam()->dev;
  blink_subject<std::uint64_t, std::uint64_t> subject(*GetParam(), spaced<std::uint64_t>(0, tree_keys, 10));
  for (std::size_t i = 0; i < 10; ++i) {
    subject.write(write_op::insert, spaced<std::uint64_t>(tree_keys * 10 + i * 200, 100), in_order, true);
    subject.write(write_op::insert, spaced<std::uint64_t>(tree_keys * 10 + i * 200 + 100, 100), in_order, false);
  }
  dev.default_stream().synchronize();
  subject.check_content();
}

TEST_P(BlinkTreeSmallBatch, OutOfMemoryLosesNothing) {
  const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
  const device dev = GetParam()->dev.with_pool(pool);
  using tree_type = blink_tree<std::uint32_t, std::uint32_t>;
  const auto keys = spaced<std::uint32_t>(0, tree_keys, 10), more = spaced<std::uint32_t>(tree_keys * 10, 4000);
  for (std::size_t k = 1; k < 100; ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " fails");
    tree_type tree = tree_type::build(keys.span(), keys.span(), {}, dev);
    dev.default_stream().synchronize();
    array<std::uint8_t> done(more.size());
    std::fill(done.begin(), done.end(), std::uint8_t{0xa5});
    bool threw = false;
    pool->fail_at(k);
    try {
      tree.insert(more.span(), more.span(), done.span());
    } catch (const out_of_memory&) {
      threw = true;
    }
    const bool reached = pool->requests() >= k;
    pool->fail_at(0);
    dev.default_stream().synchronize();
    const auto written = static_cast<std::size_t>(std::count(done.begin(), done.end(), 1));
    EXPECT_EQ(tree.size(), keys.size() + written);
    EXPECT_TRUE(threw || written == more.size());
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    tree.insert(more.span(), more.span());
    EXPECT_EQ(tree.size(), keys.size() + more.size());
    if (HasFailure() || !reached) return;
  }
  ADD_FAILURE() << "the write never stops allocating";
}

INSTANTIATE_TEST_SUITE_P(All, BlinkTreeSmallBatch, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
