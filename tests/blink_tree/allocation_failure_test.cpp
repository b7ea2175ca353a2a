// allocation_failure_test.cpp - memory runs out at the 1st, 2nd, 3rd ... allocation of a call: the call throws
// out_of_memory or does with less, the tree is valid and holds what it held, and in the end nothing leaks. A write per
// key may have got somewhere: what `done` says, and nothing else, has happened.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "espalier/blink_tree/blink_tree.hpp"
#include "support/blink_subject.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using failing_tree = blink_tree<std::uint64_t, std::uint64_t>;
using model_type = map_model<std::uint64_t, std::uint64_t>;
using words = array<std::uint64_t>;
using mask = array<std::uint8_t>;
constexpr std::size_t endless = 300;
constexpr std::uint8_t untouched = 0xa5;

class BlinkTreeOutOfMemory : public testing::TestWithParam<const setting*> {
 protected:
  void SetUp() override {
    pool_ = std::make_shared<failing_pool>(GetParam()->dev.pool());
    device_ = std::make_unique<device>(GetParam()->dev.with_pool(pool_));
    keys_ = distinct(make_keys<std::uint64_t>(family::nested, 3000));
    values_ = any_values<std::uint64_t>(keys_.size());
    // As many new keys as would make a growing pool grow, some old ones among them.
    more_ = distinct(make_keys<std::uint64_t>(family::uniform, 9000));
    std::copy(keys_.begin(), keys_.begin() + 500, more_.begin());
    more_values_ = any_values<std::uint64_t>(more_.size(), 500000);
  }

  [[nodiscard]] failing_tree build() const { return failing_tree::build(keys_.span(), values_.span(), {}, *device_); }
  void drain() const { device_->default_stream().synchronize(); }

  /// What a call does to a fresh tree, told to the model by what it left in `done`.
  struct call {
    const char* name;
    std::function<void(failing_tree&, mask&)> on_tree;
    std::function<void(model_type&, const mask&, bool threw)> on_model;
    std::function<bool(std::uint64_t)> may_differ = [](std::uint64_t) { return false; };
    std::function<void(failing_tree&)> prepare = [](failing_tree&) {};  ///< with all the memory it wants
  };

  /// Fails each allocation of the call in turn (under sanitizers every fourth), each time on a new tree. Gives how
  /// often it threw.
  std::size_t sweep(const call& c) {
    std::size_t failures = 0;
    for (std::size_t k = 1; k < endless; k += less_work) {
      SCOPED_TRACE(std::string(c.name) + ", allocation " + std::to_string(k) + " fails");
      const std::size_t before = pool_->live_bytes();
      bool reached = false;
      {
        failing_tree tree = build();
        c.prepare(tree);
        drain();
        mask done(more_.size());
        std::fill(done.begin(), done.end(), untouched);
        bool threw = false;
        pool_->fail_at(k);
        try {
          c.on_tree(tree, done);
        } catch (const out_of_memory& e) {
          threw = true;
          ++failures;
          EXPECT_GT(e.asked(), 0u);
        }
        reached = pool_->requests() >= k;
        pool_->fail_at(0);
        drain();
        model_type model(keys_, values_);
        c.on_model(model, done, threw);
        expect_content(tree, model, c.may_differ);
        expect_usable(tree);
        EXPECT_TRUE(reached || !threw) << "out of memory without asking for any";
      }
      drain();
      EXPECT_EQ(pool_->live_bytes(), before) << "a leak";
      if (HasFailure() || !reached) return failures;
    }
    ADD_FAILURE() << c.name << " never stops allocating";
    return failures;
  }

  static void expect_content(const failing_tree& tree, const model_type& model,
                             const std::function<bool(std::uint64_t)>& may_differ) {
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
    ASSERT_EQ(tree.size(), model.size());
    const std::uint64_t lo = 0, hi = ~std::uint64_t{0};
    const auto all = tree.range({&lo, 1}, {&hi, 1});
    const auto keys = all.keys.to_vector();
    const auto values = all.values.to_vector();
    ASSERT_EQ(keys.size(), model.size());
    std::size_t i = 0;
    for (const auto& [key, value] : model.elements()) {
      ASSERT_EQ(keys[i], key) << "element " << i;
      if (!may_differ(key)) {
        ASSERT_EQ(values[i], value) << "value of key " << key;
      }
      ++i;
    }
  }
  /// The failure is over: the tree takes writes on both paths.
  void expect_usable(failing_tree& tree) const {
    for (const write_path path : {write_path::per_key, write_path::bulk}) {
      tree.insert_or_assign(more_.span(), more_values_.span(), {}, {batch_semantics::concurrent, path});
      const validation v = tree.validate();
      ASSERT_TRUE(v.ok) << v.problem;
    }
    mask found(more_.size());
    words values(more_.size());
    tree.find(more_.span(), values.span(), found.span());
    for (std::size_t i = 0; i < more_.size(); ++i) ASSERT_EQ(found[i] != 0 && values[i] == more_values_[i], true) << i;
  }

  /// Bulk writes are all or nothing; writes per key are as far as `done` says.
  [[nodiscard]] call write(const char* name, write_op op, write_path path) const {
    const write_options options{batch_semantics::concurrent, path};
    call c;
    c.name = name;
    c.on_tree = [this, op, options](failing_tree& tree, mask& done) {
      if (op == write_op::insert) tree.insert(more_.span(), more_values_.span(), done.span(), options);
      if (op == write_op::insert_or_assign) {
        tree.insert_or_assign(more_.span(), more_values_.span(), done.span(), options);
      }
      if (op == write_op::update) tree.update(more_.span(), more_values_.span(), done.span(), options);
      if (op == write_op::erase) tree.erase(more_.span(), done.span(), options);
    };
    c.on_model = [this, op](model_type& model, const mask& done, bool threw) {
      for (std::size_t i = 0; i < more_.size(); ++i) {
        if (threw && done[i] != 1) continue;
        ASSERT_EQ(model.apply(op_of(op), more_[i], more_values_[i]), done[i] == 1) << "element " << i;
      }
    };
    // Assigned is told by `done` like not reached: where the call threw, an old key may hold either value.
    if (op == write_op::insert_or_assign && path != write_path::bulk) {
      c.may_differ = [this](std::uint64_t key) {
        return std::find(keys_.begin(), keys_.begin() + 500, key) != keys_.begin() + 500;
      };
    }
    return c;
  }

  std::shared_ptr<failing_pool> pool_;
  std::unique_ptr<device> device_;
  words keys_, values_, more_, more_values_;
};

TEST_P(BlinkTreeOutOfMemory, BuildLeavesNothingBehind) {
  const failing_tree other = build();
  // On a GPU the first range leaves something in the tree for the next ones.
  expect_content(other, model_type(keys_, values_), [](std::uint64_t) { return false; });
  drain();
  const std::size_t before = pool_->live_bytes();
  std::size_t failures = 0, k = 1;
  for (bool reached = true; reached && k < endless; ++k) {
    pool_->fail_at(k);
    try {
      static_cast<void>(build());
    } catch (const out_of_memory&) {
      ++failures;
    }
    reached = pool_->requests() >= k;
    pool_->fail_at(0);
    drain();
    ASSERT_EQ(pool_->live_bytes(), before) << "a leak when allocation " << k << " fails";
    expect_content(other, model_type(keys_, values_), [](std::uint64_t) { return false; });
  }
  EXPECT_LT(k, endless);
  EXPECT_GT(failures, 0u);
}

TEST_P(BlinkTreeOutOfMemory, AnEmptyTreeThatCannotBeMadeThrows) {
  for (std::size_t k = 1; k < endless; ++k) {
    pool_->fail_at(k);
    try {
      static_cast<void>(failing_tree(*device_));
    } catch (const out_of_memory&) {
    }
    const bool reached = pool_->requests() >= k;
    pool_->fail_at(0);
    drain();
    ASSERT_EQ(pool_->live_bytes(), 0u) << "a leak when allocation " << k << " fails";
    if (!reached) return;
  }
  ADD_FAILURE() << "never stops allocating";
}

TEST_P(BlinkTreeOutOfMemory, InsertsPerKeyTellHowFarTheyGot) {
  EXPECT_GT(sweep(write("insert", write_op::insert, write_path::per_key)), 0u) << "9000 keys need room";
  sweep(write("insert_or_assign", write_op::insert_or_assign, write_path::per_key));
}

TEST_P(BlinkTreeOutOfMemory, BulkInsertsDoAllOrNothing) {
  EXPECT_GT(sweep(write("insert", write_op::insert, write_path::bulk)), 0u) << "9000 keys need room";
  sweep(write("insert_or_assign", write_op::insert_or_assign, write_path::bulk));
}

TEST_P(BlinkTreeOutOfMemory, AppendsDoAllOrNothingOrTellHowFarTheyGot) {
  for (std::size_t i = 0; i < keys_.size(); ++i) keys_[i] = i;
  for (std::size_t i = 0; i < more_.size(); ++i) more_[i] = keys_.size() + i;
  EXPECT_GT(sweep(write("append", write_op::insert, write_path::bulk)), 0u) << "9000 keys need room";
  EXPECT_GT(sweep(write("append per key", write_op::insert, write_path::per_key)), 0u) << "9000 keys need room";
  // Behind leaves that the lane does not know yet.
  call c = write("append again", write_op::insert, write_path::bulk);
  const words first = part(more_, 0, 700);
  c.prepare = [&](failing_tree& tree) {
    tree.insert(first.span(), part(more_values_, 0, 700).span(), {}, {batch_semantics::concurrent, write_path::bulk});
  };
  c.on_tree = [&](failing_tree& tree, mask& done) {
    tree.insert(more_.span().subspan(700), more_values_.span().subspan(700), done.span().subspan(700),
                {batch_semantics::concurrent, write_path::bulk});
  };
  c.on_model = [&](model_type& model, const mask& done, bool threw) {
    for (std::size_t i = 0; i < 700; ++i) model.apply(blink_op::insert, more_[i], more_values_[i]);
    for (std::size_t i = 700; i < more_.size() && !threw; ++i) {
      ASSERT_EQ(done[i], 1) << "element " << i;
      model.apply(blink_op::insert, more_[i], more_values_[i]);
    }
  };
  sweep(c);
}

TEST_P(BlinkTreeOutOfMemory, UpdatesAndErasesTellHowFarTheyGot) {
  sweep(write("update", write_op::update, write_path::per_key));
  sweep(write("erase", write_op::erase, write_path::per_key));
  sweep(write("bulk update", write_op::update, write_path::bulk));
  sweep(write("bulk erase", write_op::erase, write_path::bulk));
}

TEST_P(BlinkTreeOutOfMemory, MixedBatchesTellHowFarTheyGot) {
  for (const write_path path : {write_path::per_key, write_path::bulk}) {
    array<blink_op> ops(more_.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i] = i % 4 == 0 ? blink_op::erase : i % 4 == 1 ? blink_op::find : blink_op::insert;
    }
    words answers(more_.size());
    call c;
    c.name = path == write_path::bulk ? "ordered apply in bulk" : "ordered apply per key";
    c.on_tree = [&](failing_tree& tree, mask& done) {
      tree.apply(ops.span(), more_.span(), more_values_.span(), answers.span(), done.span(),
                 {batch_semantics::ordered, path});
    };
    c.on_model = [&](model_type& model, const mask& done, bool threw) {
      for (std::size_t i = 0; i < more_.size(); ++i) {
        if (ops[i] == blink_op::find || (threw && done[i] != 1)) continue;
        ASSERT_EQ(model.apply(ops[i], more_[i], more_values_[i]), done[i] == 1) << "element " << i;
      }
    };
    sweep(c);
  }
}

TEST_P(BlinkTreeOutOfMemory, MaintainAndRoomForARefLeaveTheElements) {
  const auto nothing = [](model_type&, const mask&, bool) {};
  sweep({"maintain", [](failing_tree& tree, mask&) { tree.maintain(); }, nothing});
  sweep({"room for a ref", [](failing_tree& tree, mask&) { static_cast<void>(tree.ref(20000)); }, nothing});
  call c;
  c.name = "maintain after erasing";
  c.prepare = [this](failing_tree& tree) {
    tree.erase(keys_.span().first(2500), {}, {batch_semantics::concurrent, write_path::per_key});
  };
  c.on_tree = [](failing_tree& tree, mask&) { tree.maintain(); };
  c.on_model = [this](model_type& model, const mask&, bool) {
    for (std::size_t i = 0; i < 2500; ++i) model.apply(blink_op::erase, keys_[i]);
  };
  sweep(c);
}

TEST_P(BlinkTreeOutOfMemory, QueriesAndSnapshotsLeaveTheTreeAsItWas) {
  const auto nothing = [](model_type&, const mask&, bool) {};
  EXPECT_GT(sweep({"snapshot", [](failing_tree& tree, mask&) { static_cast<void>(tree.snapshot()); }, nothing}), 0u);
  const std::span<const std::uint64_t> lo = more_.span().first(150), hi = more_.span().subspan(150, 150);
  words counts(150), out_keys(150), out_values(150);
  array<uint128> sums(150);
  mask found(150);
  sweep({"find", [&](failing_tree& tree, mask&) { tree.find(lo, out_values.span(), found.span()); }, nothing});
  sweep({"successor",
         [&](failing_tree& tree, mask&) { tree.successor(lo, out_keys.span(), out_values.span(), found.span()); },
         nothing});
  sweep({"count", [&](failing_tree& tree, mask&) { tree.count(lo, hi, counts.span()); }, nothing});
  sweep({"range", [&](failing_tree& tree, mask&) { static_cast<void>(tree.range(lo, hi)); }, nothing});
  sweep({"sum", [&](failing_tree& tree, mask&) { tree.sum(lo, hi, sums.span()); }, nothing});
}

TEST_P(BlinkTreeOutOfMemory, ATreeGivesAllItsMemoryBack) {
  {
    failing_tree tree = build();
    tree.insert(more_.span(), more_values_.span());
    tree.erase(keys_.span());
    tree.maintain();
    static_cast<void>(tree.snapshot());
    drain();
    const std::size_t latched_leaf = tree.stats().bytes;
    EXPECT_GE(pool_->live_bytes() + 4096, latched_leaf);
  }
  drain();
  EXPECT_EQ(pool_->live_bytes(), 0u);
  EXPECT_EQ(pool_->live_blocks(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeOutOfMemory, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
