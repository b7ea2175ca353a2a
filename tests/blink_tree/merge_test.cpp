// merge_test.cpp - batches merged into the leaves of a tree of many blocks of leaves: those that touch few of them,
// those that split leaves into several, at either end, and those of which so many fall into one leaf that another way
// is gone.
#include <gtest/gtest.h>

#include <functional>
#include <type_traits>

#include "support/blink_subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t key_step = 64;  // between the keys of the tree
constexpr std::size_t tree_keys =
    40000 / less_work;  // hundreds of leaves and more: several blocks, of 16 leaves at least

template <class Key>
array<Key> keys_by(std::size_t count, const std::function<std::uint64_t(std::size_t)>& key) {
  array<Key> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<Key>(key(i));
  random_words random(count);
  shuffle(keys, random);
  return keys;
}
template <class Key>
struct named_batch {
  std::string name;
  array<Key> keys;
};

/// None of them is a key of the tree, but for those of `present`.
template <class Key>
std::vector<named_batch<Key>> batches() {
  std::vector<named_batch<Key>> all;
  const auto add = [&](const std::string& name, std::size_t count, std::function<std::uint64_t(std::size_t)> key) {
    all.push_back({name, keys_by<Key>(count, key)});
  };
  add("one", 1, [](std::size_t) { return tree_keys / 2 * key_step + 1; });
  add("one in a leaf now and then", tree_keys / 90, [](std::size_t i) { return i * 90 * key_step + 2; });
  add("one in each leaf, more or less", tree_keys / 9, [](std::size_t i) { return i * 9 * key_step + 3; });
  add("present", tree_keys / 5, [](std::size_t i) { return (5 * i + 1) * key_step; });
  add("each three times", 3 * tree_keys / 40, [](std::size_t i) { return i / 3 * 40 * key_step + 4; });
  for (const std::size_t count : {std::size_t{20}, std::size_t{31}, std::size_t{32}, std::size_t{33}}) {
    for (const std::size_t at : {std::size_t{0}, tree_keys / 3, tree_keys - 1}) {
      add(std::to_string(count) + " behind key " + std::to_string(at), count,
          [=](std::size_t i) { return at * key_step + 5 + i; });
    }
  }
  add("leaves that split, with neighbours that do not", 24 * (tree_keys / 500), [](std::size_t i) {
    return i / 24 * 500 * key_step + (i % 24 < 20 ? 6 + i % 24 : (i % 24) * 10 * key_step + 7);
  });
  add("all leaves of a stretch split", tree_keys / 4 / 9 * 20,
      [](std::size_t i) { return (tree_keys / 4 + i / 20 * 9) * key_step + 30 + i % 20; });
  add("many in one leaf, and some in others", 40 + tree_keys / 9,
      [](std::size_t i) { return i < 40 ? tree_keys / 2 * key_step + 20 + i : (i - 40) * 9 * key_step + 3; });
  add("behind the first", 30, [](std::size_t i) { return i + 1; });
  add("behind all", 300, [](std::size_t i) { return (tree_keys + i) * key_step; });
  return all;
}

/// Equal keys of a tree whose views are lent are not taken together first, and updates are merged like the rest.
template <class Key, class Value, class Policy = blink_policy<>>
void check_batches(const setting& dev, double fill, bool lent = false) {
  const array<Key> keys = keys_by<Key>(tree_keys, [](std::size_t i) { return i * key_step; });
  for (const named_batch<Key>& batch : batches<Key>()) {
    SCOPED_TRACE(batch.name + ", fill " + std::to_string(fill));
    blink_subject<Key, Value, Policy> subject(dev, keys, blink_options{fill});
    if (lent) (void)subject.tree().ref(batch.keys.size() * 2);
    const write_options bulk{batch_semantics::ordered, write_path::bulk};
    constexpr bool is_set = std::is_void_v<Value>;  // which has no values to change
    if (!is_set) subject.write(write_op::update, batch.keys, bulk);
    subject.write(write_op::insert, batch.keys, bulk);
    subject.check_content();
    if (!is_set) subject.write(write_op::insert_or_assign, batch.keys, bulk);
    subject.write(write_op::erase, batch.keys, bulk);
    subject.check_content();
    if (testing::Test::HasFailure()) return;
  }
}

/// Numbers of nodes that were given back are given out again, in no order, and leaves are not numbered in that of keys.
template <class Key, class Value>
void check_reuse(const setting& dev) {
  blink_subject<Key, Value> subject(dev, keys_by<Key>(tree_keys, [](std::size_t i) { return i * key_step; }));
  const write_options bulk{batch_semantics::ordered, write_path::bulk};
  for (std::uint64_t round = 0; round < 4; ++round) {
    subject.erase(keys_by<Key>(tree_keys / 4, [=](std::size_t i) { return (tree_keys / 4 * round + i) * key_step; }),
                  bulk);
    subject.maintain();
    for (const named_batch<Key>& batch : batches<Key>()) {
      subject.write(write_op::insert_or_assign, batch.keys, bulk);
      if (testing::Test::HasFailure()) return;
    }
    subject.check_content();
    subject.write(write_op::insert,
                  keys_by<Key>(tree_keys / 3, [=](std::size_t i) { return 3 * i * key_step + round; }), bulk);
  }
  subject.check_content();
}

class BlinkTreeMerge : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeMerge, HoldsWhatAMapWouldU64) {
  for (const double fill : {0.75, 1.0}) check_batches<std::uint64_t, std::uint64_t>(*GetParam(), fill);
}
TEST_P(BlinkTreeMerge, HoldsWhatAMapWouldWithViewsLent) {
  check_batches<std::uint64_t, std::uint64_t>(*GetParam(), 0.75, true);
}
TEST_P(BlinkTreeMerge, HoldsWhatAMapWouldU32) { check_batches<std::uint32_t, std::uint32_t>(*GetParam(), 0.75); }
TEST_P(BlinkTreeMerge, HoldsWhatASetWould) { check_batches<std::uint64_t, void>(*GetParam(), 1.0); }
TEST_P(BlinkTreeMerge, HoldsWhatAMapWouldInNarrowNodes) {
  check_batches<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 8>>(*GetParam(),
                                                                                                           1.0);
}
TEST_P(BlinkTreeMerge, NumbersOfNodesAreUsedAgain) { check_reuse<std::uint64_t, std::uint64_t>(*GetParam()); }

INSTANTIATE_TEST_SUITE_P(, BlinkTreeMerge, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
