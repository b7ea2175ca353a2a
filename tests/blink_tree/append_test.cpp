// append_test.cpp - batches behind the last key of a tree: in order, almost in order, by every path, and what reads see
// between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/blink_subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr std::size_t keys_before = 4000 / less_work;  // enough leaves for an express lane

/// Keys number first, first + 1, ... in key order; the kinds that have numbers below zero begin with those.
template <class Key>
array<Key> keys_in_a_row(std::size_t first, std::size_t n) {
  array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<Key>(first + i);
    if constexpr (std::is_signed_v<Key> || std::is_floating_point_v<Key>) keys[i] -= static_cast<Key>(keys_before / 2);
  }
  return keys;
}

constexpr write_path append_paths[] = {write_path::per_key, write_path::bulk, write_path::automatic};
write_options appending(write_path path) { return {batch_semantics::ordered, path}; }
write_options appending_at_once(write_path path) { return {batch_semantics::concurrent, path}; }

template <class Key, class Value, class Policy = blink_policy<>>
void check_appends(const setting& dev) {
  for (const write_path path : append_paths) {
    SCOPED_TRACE(espalier::to_string(path));
    blink_subject<Key, Value, Policy> subject(dev, keys_in_a_row<Key>(0, keys_before));
    std::size_t next = keys_before;
    for (const std::size_t n : {1u, 1u, 2u, 8u, 11u, 12u, 13u, 24u, 1u, 256u, 16u, 3000u, 5u, 1100u}) {
      subject.insert(keys_in_a_row<Key>(next, n), appending_at_once(path));
      next += n;
      if (n == 256) subject.check_content();  // upper levels that know some of them
      if (testing::Test::HasFailure()) return;
    }
    subject.check_content();
    subject.erase(keys_in_a_row<Key>(keys_before, next - keys_before), appending_at_once(path));
    subject.insert(keys_in_a_row<Key>(next, 500), appending_at_once(path));
    subject.check_content();
  }
}

class BlinkTreeAppend : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeAppend, HoldsWhatAMapWould) {
  check_appends<std::uint64_t, std::uint64_t>(*GetParam());
  check_appends<std::uint32_t, std::uint32_t>(*GetParam());
}
TEST_P(BlinkTreeAppend, HoldsWhatAMapWouldOfOtherKeys) {
  check_appends<std::int64_t, std::uint64_t>(*GetParam());
  check_appends<double, std::uint32_t>(*GetParam());
}
TEST_P(BlinkTreeAppend, HoldsWhatAMapWouldOfOtherValues) {
  check_appends<std::uint32_t, std::uint16_t>(*GetParam());
  check_appends<std::uint64_t, pair_of_words>(*GetParam());
  check_appends<std::uint64_t, void>(*GetParam());
}
TEST_P(BlinkTreeAppend, HoldsWhatAMapWouldInOtherNodes) {
  check_appends<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 8>>(*GetParam());
  check_appends<std::uint64_t, std::uint64_t, blink_policy<protocol::blink, inner_index::express_lane, 128>>(
      *GetParam());
  check_appends<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::inner_nodes>>(*GetParam());
}

// The first key lies behind the tree, and the others look sorted: only those that do not tell.
TEST_P(BlinkTreeAppend, OfKeysThatAreAlmostSorted) {
  constexpr std::size_t n = 3000;
  for (const write_path path : append_paths) {
    for (const std::size_t at : {1u, 2u, 3u, 4u, 11u, 12u, 13u, 15u, 16u, 130u, 1499u, 2999u}) {
      for (const bool equal : {false, true}) {
        SCOPED_TRACE(espalier::to_string(path) + ", key " + std::to_string(at) + (equal ? " repeats" : " descends"));
        blink_subject<std::uint64_t, std::uint64_t> subject(*GetParam(), keys_in_a_row<std::uint64_t>(0, keys_before));
        array<std::uint64_t> keys = keys_in_a_row<std::uint64_t>(keys_before, n);
        if (equal) {
          keys[at] = keys[at - 1];
        } else {
          std::swap(keys[at - 1], keys[at]);
        }
        subject.insert(keys, appending(path));
        subject.insert(keys_in_a_row<std::uint64_t>(keys_before + n, 40), appending_at_once(path));
        subject.check_content();
        if (HasFailure()) return;
      }
    }
  }
}

// One that goes back to keys of the tree, and numbers of nodes that wait for reuse: they still do afterwards.
TEST_P(BlinkTreeAppend, OfWhatTurnsOutNotToBeOneTakesNoNodes) {
  for (const write_path path : append_paths) {
    blink_subject<std::uint64_t, std::uint64_t> subject(*GetParam(), keys_in_a_row<std::uint64_t>(0, keys_before));
    std::size_t next = keys_before;
    for (unsigned round = 0; round < 4; ++round) {
      subject.erase(keys_in_a_row<std::uint64_t>(round * 700, 600), appending_at_once(path));
      subject.maintain();
      array<std::uint64_t> keys = keys_in_a_row<std::uint64_t>(next, 2000);
      keys[1000 + 3 * round] = round * 700 + 5;
      subject.write(write_op::insert_or_assign, keys, appending_at_once(path));
      next += 2000;
      subject.insert(keys_in_a_row<std::uint64_t>(next, 2000), appending_at_once(path));
      next += 2000;
      subject.check_content();
      if (HasFailure()) return;
    }
  }
}

TEST_P(BlinkTreeAppend, MakesFullLeavesOnACpu) {
  if (GetParam()->dev.kind() != device_kind::cpu) GTEST_SKIP() << "a GPU merges batches into leaves with room";
  for (const write_path path : append_paths) {
    blink_subject<std::uint64_t, std::uint64_t> subject(*GetParam(), keys_in_a_row<std::uint64_t>(0, keys_before));
    const std::size_t before = subject.tree().stats().leaves;
    subject.insert(keys_in_a_row<std::uint64_t>(keys_before, 1200), appending_at_once(path));
    if (GetParam()->dev.threads() > 1 && path != write_path::bulk) continue;  // they insert between each other
    EXPECT_LE(subject.tree().stats().leaves - before, 1200u / 12) << espalier::to_string(path);
  }
}

TEST_P(BlinkTreeAppend, UpToTheLargestKey) {
  for (const write_path path : append_paths) {
    blink_subject<std::uint32_t, std::uint32_t> subject(*GetParam(), keys_in_a_row<std::uint32_t>(0, keys_before));
    subject.insert(keys_in_a_row<std::uint32_t>(0xffffffffu - 499, 300), appending_at_once(path));
    subject.insert(keys_in_a_row<std::uint32_t>(0xffffffffu - 199, 200), appending_at_once(path));
    subject.insert(keys_in_a_row<std::uint32_t>(keys_before, 200), appending_at_once(path));
    subject.check_content();
  }
}

// A pool that was made small has as many segments as its table holds after 12.6 million keys: then all nodes move, that
// of the leaf to which the batch is appended, too.
TEST(BlinkTreeLargeAppend, GoesOnWhereNodesHaveMoved) {
  constexpr std::size_t batch = std::size_t{1} << 20, batches = 14, small = 1000;
  std::vector<std::uint32_t> keys(small);
  for (std::size_t i = 0; i < small; ++i) keys[i] = static_cast<std::uint32_t>(i);
  auto tree = blink_tree<std::uint32_t, std::uint32_t>::build(keys, keys, {}, device::cpu());
  keys.resize(batch);
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t i = 0; i < batch; ++i) keys[i] = static_cast<std::uint32_t>(small + b * batch + i);
    tree.insert(keys, keys, {}, {.path = write_path::bulk});
    std::vector<std::uint32_t> values(batch);
    std::vector<std::uint8_t> found(batch);
    tree.find(keys, values, found);
    ASSERT_EQ(std::count(found.begin(), found.end(), 1), static_cast<std::ptrdiff_t>(batch)) << "batch " << b;
    ASSERT_EQ(values, keys) << "batch " << b;
  }
  EXPECT_EQ(tree.size(), small + batch * batches);
  const std::uint32_t lo = 0, hi = 0xffffffffu;
  std::uint64_t counted = 0;
  tree.count(std::span(&lo, 1), std::span(&hi, 1), std::span(&counted, 1));
  EXPECT_EQ(counted, small + batch * batches) << "by the links of leaves";
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeAppend, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
