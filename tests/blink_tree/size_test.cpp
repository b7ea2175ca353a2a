// size_test.cpp - how many elements there are is known without a look at the leaves, unless a ref has written.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>

#include "blink_tree/tally.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

template <class Policy>
class BlinkTreeSize : public testing::Test {};
using size_policies = testing::Types<blink_policy<>, blink_policy<protocol::blink, inner_index::inner_nodes>,
                                     blink_policy<protocol::latch_coupling, inner_index::inner_nodes>,
                                     blink_policy<protocol::single_writer, inner_index::express_lane>>;
TYPED_TEST_SUITE(BlinkTreeSize, size_policies);

constexpr write_options keywise{batch_semantics::concurrent, write_path::per_key};
constexpr write_options keywise_in_order{batch_semantics::ordered, write_path::per_key};
constexpr write_options merged{batch_semantics::concurrent, write_path::bulk};

/// A tree beside a std::map, and how often its device was asked for memory.
template <class Policy>
struct sized_tree {
  using tree_type = blink_tree<std::uint32_t, std::uint32_t, Policy>;
  explicit sized_tree(const device& dev)
      : pool(std::make_shared<failing_pool>(dev.pool())), tree(dev.with_pool(pool)) {}

  std::shared_ptr<failing_pool> pool;
  tree_type tree;
  std::map<std::uint32_t, std::uint32_t> model;
  random_words random{11};

  [[nodiscard]] array<std::uint32_t> some_keys(std::size_t n) {
    array<std::uint32_t> keys(n);
    for (std::uint32_t& k : keys) k = static_cast<std::uint32_t>(random.below(20000));
    return keys;
  }
  void insert(std::size_t n, const write_options& how, bool assign) {
    const array<std::uint32_t> keys = some_keys(n);
    if (assign) {
      tree.insert_or_assign(keys.span(), keys.span(), {}, how);
    } else {
      tree.insert(keys.span(), keys.span(), {}, how);
    }
    for (const std::uint32_t k : keys) model.emplace(k, k);
  }
  void erase(std::size_t n, const write_options& how) {
    const array<std::uint32_t> keys = some_keys(n);
    tree.erase(keys.span(), {}, how);
    for (const std::uint32_t k : keys) model.erase(k);
  }
  void apply(std::size_t n, const write_options& how) {
    const array<std::uint32_t> keys = some_keys(n);
    array<blink_op> ops(n);
    // Equal keys get equal operations, so that the order does not matter.
    for (std::size_t i = 0; i < n; ++i) ops[i] = static_cast<blink_op>(keys[i] % 5);
    tree.apply(ops.span(), keys.span(), keys.span(), {}, {}, how);
    for (std::size_t i = 0; i < n; ++i) {
      if (ops[i] == blink_op::insert || ops[i] == blink_op::insert_or_assign) model.emplace(keys[i], keys[i]);
      if (ops[i] == blink_op::erase) model.erase(keys[i]);
    }
  }
  void expect_right(const char* after) { EXPECT_EQ(tree.size(), model.size()) << "after " << after; }
  void expect_known(const char* after) {
    const std::size_t requests = pool->requests();
    expect_right(after);
    EXPECT_EQ(tree.empty(), model.empty());
    EXPECT_EQ(pool->requests(), requests) << "leaves were counted after " << after;
  }
};

TYPED_TEST(BlinkTreeSize, IsKnownAfterEveryWriteByKey) {
  for (const setting* s : host_span_settings()) {
    SCOPED_TRACE(s->name);
    sized_tree<TypeParam> t(s->dev);
    t.expect_known("nothing");
    for (const write_options& how : {keywise, keywise_in_order}) {
      t.insert(3000, how, false);
      t.expect_right("inserts");  // on a GPU elements that found no room may have been merged
      t.insert(3000, how, true);
      t.expect_right("assignments");
      t.erase(1500, how);
      t.expect_right("erases");
      t.apply(2000, how);
      t.expect_right("a mixed batch");
      const array<std::uint32_t> keys = t.some_keys(100);
      t.tree.update(keys.span(), keys.span(), {}, how);
      t.expect_right("updates");
    }
    if (s->dev.kind() == device_kind::cpu) {
      t.insert(100, keywise, false);
      t.expect_right("a few more");
      t.erase(100, keywise);
      t.expect_known("a few less");
      t.apply(100, keywise);
      t.expect_known("a few of each");
    }
    EXPECT_TRUE(t.tree.validate().ok);
  }
}

TYPED_TEST(BlinkTreeSize, IsRightAfterMerges) {
  for (const setting* s : host_span_settings()) {
    SCOPED_TRACE(s->name);
    sized_tree<TypeParam> t(s->dev);
    for (unsigned round = 0; round < 3; ++round) {
      t.insert(4000, merged, false);
      t.expect_right("a merge");
      t.expect_known("a count");
      t.apply(3000, merged);
      t.expect_right("a mixed batch");
      t.erase(6000, merged);
      t.expect_right("a merge of erases");
      t.tree.maintain();
      t.expect_known("maintain");
    }
    t.tree.clear();
    t.model.clear();
    t.expect_known("clear");
  }
}

TYPED_TEST(BlinkTreeSize, IsCountedWhileARefMayWrite) {
  sized_tree<TypeParam> t(device::cpu(2));
  t.insert(1000, keywise, false);
  const auto ref = t.tree.ref(100);
  for (std::uint32_t k = 30000; k < 30100; ++k) {
    (void)ref.insert(scalar_team{}, k, k);
    t.model.emplace(k, k);
  }
  t.expect_right("inserts by a ref");
  (void)ref.erase(scalar_team{}, 30007u);
  t.model.erase(30007);
  t.expect_right("an erase by a ref");
  t.insert(500, keywise, false);
  t.expect_right("inserts beside a ref");
  t.tree.maintain();
  t.expect_right("the end of the ref");
  t.expect_known("a count");
}

TYPED_TEST(BlinkTreeSize, IsRightAfterAWriteThatFailed) {
  using tree_type = typename sized_tree<TypeParam>::tree_type;
  const device cpu = device::cpu(1);
  for (std::size_t k = 1; k < 200; k = k * 5 / 4 + 1) {
    sized_tree<TypeParam> t(cpu);
    t.insert(2000, keywise, false);
    const array<std::uint32_t> keys = t.some_keys(4000);
    t.pool->fail_at(k);
    bool failed = false;
    try {
      t.tree.insert(keys.span(), keys.span(), {}, keywise);
    } catch (const out_of_memory&) {
      failed = true;
    }
    t.pool->fail_at(0);
    const std::uint32_t lo = 0, hi = ~lo;
    std::uint64_t counted = 0;
    static_cast<const tree_type&>(t.tree).count({&lo, 1}, {&hi, 1}, {&counted, 1});
    EXPECT_EQ(t.tree.size(), counted) << "allocation " << k;
    if (!failed) break;
  }
}

TEST(BlinkTreeTally, SumsThatMightOverflowAreRefused) {
  EXPECT_NO_THROW(detail::require_sums_fit(0xffffffffu));
  EXPECT_THROW(detail::require_sums_fit(std::uint64_t{1} << 32), error);
}

}  // namespace
}  // namespace espalier::test
