// allocation_failure_test.cpp - memory runs out at the 1st, 2nd, 3rd ... allocation of a build or a question: it throws
// out_of_memory, nothing leaks, and the tree answers as before. Writes: write_test.cpp.
#include <gtest/gtest.h>

#include <functional>

#include "radix_tree/answers.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

using subject = radix_subject<std::uint64_t>;

class RadixTreeOutOfMemory : public testing::TestWithParam<const setting*> {
 protected:
  void SetUp() override {
    keys_ = byte_keys_of(byte_family::random_lengths, 150);
    asked_ = questions_about(keys_, 40);
    hi_.assign(asked_.rbegin(), asked_.rend());
    values_.assign(keys_.size(), 3);
    model_.apply(radix_op::insert_or_assign, keys_, values_);
    model_.apply(radix_op::insert, asked_, std::vector<std::uint64_t>(asked_.size(), 5));
  }
  /// With leaves whose order has to be found out.
  [[nodiscard]] subject changed_tree(calls how) const {
    subject tree(*GetParam(), device_, keys_, values_, {}, how);
    std::vector<std::uint8_t> done;
    tree.write(radix_op::insert, asked_, std::vector<std::uint64_t>(asked_.size(), 5), done, radix_path::in_place);
    return tree;
  }
  void drain() const {
    device_.default_stream().synchronize();
    GetParam()->own.synchronize();
  }

  /// A fresh tree for each failure. Gives how often the question threw.
  std::size_t sweep(const char* what, const std::function<void(const subject&)>& ask) {
    std::size_t failures = 0;
    for (const calls how : {calls::wait, calls::enqueue}) {
      for (std::size_t k = 1;; ++k) {
        EXPECT_LT(k, 500u) << what << " never stops allocating";
        const subject tree = changed_tree(how);
        drain();
        pool_->fail_at(k);
        bool threw = false;
        try {
          ask(tree);
        } catch (const out_of_memory&) {
          threw = true;
          ++failures;
        }
        pool_->fail_at(0);
        drain();
        EXPECT_EQ(difference(tree, model_), "") << what << ", allocation " << k;
        if (k % 5 == 1) {
          EXPECT_EQ(wrong_answer(tree, model_, asked_), "") << what << ", allocation " << k;
        }
        if (!threw || HasFailure()) break;
      }
    }
    drain();
    EXPECT_EQ(pool_->live_blocks(), 0u) << what << " leaks";
    return failures;
  }

  std::shared_ptr<failing_pool> pool_ = std::make_shared<failing_pool>(GetParam()->dev.pool());
  device device_ = GetParam()->dev.with_pool(pool_);
  strings keys_, asked_, hi_;
  std::vector<std::uint64_t> values_;
  radix_model model_;
};

TEST_P(RadixTreeOutOfMemory, SmallBuildsThrowAndLeaveNothingBehind) {
  for (const byte_family f : {byte_family::random_lengths, byte_family::fixed16, byte_family::long_keys}) {
    const strings keys = byte_keys_of(f, 150);
    const std::vector<std::uint64_t> values(keys.size(), 1);
    std::size_t failures = 0;
    for (std::size_t k = 1;; ++k) {
      ASSERT_LT(k, 5000u) << "never stops allocating";
      pool_->fail_at(k);
      bool threw = false;
      try {
        const subject tree(*GetParam(), device_, keys, values);
        pool_->fail_at(0);
        EXPECT_TRUE(tree.tree().validate().ok);
      } catch (const out_of_memory& e) {
        threw = true;
        ++failures;
        EXPECT_GT(e.asked(), 0u);
      }
      pool_->fail_at(0);
      drain();
      ASSERT_EQ(pool_->live_blocks(), 0u) << "allocation " << k;
      if (!threw) break;
    }
    EXPECT_GT(failures, 10u);
  }
}

TEST_P(RadixTreeOutOfMemory, SmallQuestionsThrowAndLeaveTheTreeAsItWas) {
  std::vector<std::uint64_t> numbers, values;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint8_t> found;
  std::vector<uint128> sums;
  std::vector<double> means;
  (void)sweep("find", [&](const subject& t) { t.find(asked_, values, found); });
  (void)sweep("longest_prefix", [&](const subject& t) { t.longest_prefix(asked_, lengths, values, found); });
  EXPECT_GT(sweep("rank", [&](const subject& t) { t.rank(asked_, numbers); }), 0u);
  EXPECT_GT(sweep("count", [&](const subject& t) { t.count(asked_, hi_, numbers); }), 0u);
  EXPECT_GT(sweep("range", [&](const subject& t) { (void)t.range(asked_, hi_); }), 0u);
  EXPECT_GT(sweep("prefix", [&](const subject& t) { (void)t.prefix(asked_); }), 0u);
  EXPECT_GT(sweep("successor", [&](const subject& t) { (void)t.successor(asked_); }), 0u);
  EXPECT_GT(sweep("sum", [&](const subject& t) { t.sum(asked_, hi_, sums, interval::closed); }), 0u);
  EXPECT_GT(sweep("min_prefix", [&](const subject& t) { t.min_prefix(asked_, values, found); }), 0u);
  EXPECT_GT(sweep("avg", [&](const subject& t) { t.avg(asked_, hi_, means, interval::open); }), 0u);
  EXPECT_GT(sweep("validate", [&](const subject& t) { EXPECT_TRUE(t.tree().validate().ok); }), 0u);
  EXPECT_GT(sweep("ref", [&](const subject& t) { EXPECT_EQ(t.tree().ref().size(), model_.all.size()); }), 0u);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeOutOfMemory, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
