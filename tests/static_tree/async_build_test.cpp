// async_build_test.cpp - a tree before, during and after an asynchronous build on a CPU stream.
//
// The stream is held closed while a test says what is asked and who waits, so that each order of events is the one
// that is meant. On a GPU build_async throws at once: conformance tests cover that.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

class StaticTreeAsyncBuild : public testing::Test {
 protected:
  using tree_type = static_tree<std::uint32_t, std::uint32_t>;
  static constexpr std::size_t n = 5003;
  static constexpr build_options promised{true, aggregates::all};

  /// What is enqueued after this waits until open(); a test that has closed a stream opens it before it can end.
  void close(const stream& s) {
    device_.enqueue(s, [gate = gate_.get_future().share()] { gate.wait(); });
  }
  void open() { gate_.set_value(); }

  tree_type build(const build_options& options) {
    return tree_type::build_async(keys_.span(), values_.span(), options, device_, s_);
  }
  tree_type build_broken() {
    std::sort(keys_.begin(), keys_.end());
    std::swap(keys_[n / 2], keys_[n / 3]);
    return build(promised);
  }

  static void expect_broken_promise(const char* what, const std::function<void()>& call) {
    try {
      call();
    } catch (const error& e) {
      EXPECT_NE(std::string(e.what()).find("promised"), std::string::npos) << what << " says: " << e.what();
      return;
    }
    ADD_FAILURE() << what << " answers as if the tree were empty";
  }

  /// Everything that can be asked throws what the build threw, however often.
  void expect_nothing_works(const tree_type& tree, const stream& order) {
    const array<std::uint32_t> q{keys_[0], keys_[1]};
    array<std::uint32_t> out(2), more(2);
    array<std::uint64_t> ranks(2), sums(2);
    array<std::uint8_t> found(2);
    for (unsigned i = 0; i < 2; ++i) {
      expect_broken_promise("find", [&] { tree.find(q.span(), out.span(), found.span(), {}, order); });
      expect_broken_promise("contains", [&] { tree.contains(q.span(), found.span(), {}, order); });
      expect_broken_promise("rank", [&] { tree.rank(q.span(), ranks.span(), bound_type::lower, {}, order); });
      expect_broken_promise("successor",
                            [&] { tree.successor(q.span(), out.span(), more.span(), found.span(), {}, order); });
      expect_broken_promise("select", [&] { tree.select(ranks.span(), out.span(), {}, found.span(), order); });
      expect_broken_promise("count", [&] { tree.count(q.span(), q.span(), ranks.span(), {}, order); });
      expect_broken_promise("range", [&] { static_cast<void>(tree.range(q.span(), q.span(), {}, order)); });
      expect_broken_promise("sum", [&] { tree.sum(q.span(), q.span(), sums.span(), interval::closed, order); });
      expect_broken_promise("find_async", [&] {
        tree.find_async(q.span(), out.span(), found.span(), {}, order);
        device_.resolve(order).synchronize();
      });
    }
  }
  static void expect_nothing_is_known(const tree_type& tree) {
    for (unsigned i = 0; i < 2; ++i) {
      expect_broken_promise("size", [&] { static_cast<void>(tree.size()); });
      expect_broken_promise("empty", [&] { static_cast<void>(tree.empty()); });
      expect_broken_promise("stats", [&] { static_cast<void>(tree.stats()); });
      expect_broken_promise("validate", [&] { static_cast<void>(tree.validate()); });
      expect_broken_promise("explain", [&] { static_cast<void>(tree.explain(10)); });
      expect_broken_promise("ref", [&] { static_cast<void>(tree.ref()); });
    }
  }

  void expect_right_answers(const tree_type& tree, const stream& order) {
    const oracle<std::uint32_t, std::uint32_t> expected(keys_, values_);
    array<std::uint32_t> got(n);
    array<std::uint8_t> found(n);
    array<std::uint64_t> ranks(n);
    tree.find_async(keys_.span(), got.span(), found.span(), {}, order);
    tree.rank_async(keys_.span(), ranks.span(), bound_type::upper, {}, order);
    device_.resolve(order).synchronize();
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(found[i], 1) << "query " << i;
      ASSERT_EQ(got[i], expected.values()[expected.lower(keys_[i])]) << "query " << i;
      ASSERT_EQ(ranks[i], expected.upper(keys_[i])) << "query " << i;
    }
  }

  device device_ = device::cpu(2);
  stream s_ = device_.make_stream();
  array<std::uint32_t> keys_ = make_keys<std::uint32_t>(family::uniform, n);
  array<std::uint32_t> values_ = make_values<std::uint32_t>(n);
  std::promise<void> gate_;
};

TEST_F(StaticTreeAsyncBuild, ABrokenPromiseSurfacesAtSynchronizeAndTheTreeKeepsSayingSo) {
  const tree_type tree = build_broken();
  expect_broken_promise("synchronize", [&] { s_.synchronize(); });
  EXPECT_NO_THROW(s_.synchronize());  // an error is given once
  expect_nothing_is_known(tree);
  expect_nothing_works(tree, s_);
  expect_nothing_works(tree, device_.make_stream());
  expect_nothing_works(tree, {});
}

TEST_F(StaticTreeAsyncBuild, ABrokenPromiseIsAnErrorOfQueriesOnTheSameStreamToo) {
  const tree_type tree = build_broken();
  expect_broken_promise("synchronize", [&] { s_.synchronize(); });
  expect_nothing_works(tree, s_);  // nothing else has asked the tree before
}

TEST_F(StaticTreeAsyncBuild, AWaitingQueryBeforeAnyoneSynchronisedIsToldOfABrokenPromise) {
  close(s_);
  const tree_type tree = build_broken();
  open();
  const array<std::uint32_t> q{keys_[0]};
  array<std::uint8_t> found(1);
  expect_broken_promise("contains", [&] { tree.contains(q.span(), found.span(), {}, s_); });
  expect_broken_promise("contains on another stream", [&] { tree.contains(q.span(), found.span()); });
  expect_broken_promise("synchronize", [&] { s_.synchronize(); });
}

TEST_F(StaticTreeAsyncBuild, ATreeThatDiesBeforeAnyoneSynchronisedTakesNoErrorAlong) {
  { const tree_type tree = build_broken(); }
  expect_broken_promise("synchronize", [&] { s_.synchronize(); });
  EXPECT_NO_THROW(s_.synchronize());
}

TEST_F(StaticTreeAsyncBuild, AskingABrokenTreeTakesNoErrorFromTheStream) {
  const tree_type tree = build_broken();
  expect_nothing_is_known(tree);
  expect_broken_promise("synchronize", [&] { s_.synchronize(); });
  expect_nothing_is_known(tree);
}

TEST_F(StaticTreeAsyncBuild, QueriesEnqueuedBehindTheBuildAnswerRight) {
  close(s_);
  const tree_type tree = build({});
  array<std::uint8_t> found(n);
  tree.contains_async(keys_.span(), found.span(), {}, s_);
  const auto early = std::count(found.begin(), found.end(), 1);
  open();
  EXPECT_EQ(early, 0) << "the stream stood still, so this cannot have been answered";
  expect_right_answers(tree, s_);
  for (const std::uint8_t f : found) ASSERT_EQ(f, 1);
  EXPECT_EQ(tree.size(), n);
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
}

TEST_F(StaticTreeAsyncBuild, QueriesOnAnotherStreamWaitForTheBuild) {
  close(s_);
  const tree_type tree = build({});
  const stream other = device_.make_stream();
  within(std::chrono::seconds(60), [&] {
    std::future<void> asked = std::async(std::launch::async, [&] { expect_right_answers(tree, other); });
    EXPECT_EQ(asked.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    open();
    asked.get();
  });
  expect_right_answers(tree, {});
  expect_right_answers(tree, s_);
  s_.synchronize();
}

TEST_F(StaticTreeAsyncBuild, AskingForTheSizeWaitsForTheBuild) {
  const tree_type tree = build({});
  EXPECT_EQ(tree.size(), n);
  expect_right_answers(tree, {});
  s_.synchronize();
}

TEST_F(StaticTreeAsyncBuild, AMovedTreeIsStillTheOneThatIsBuilt) {
  close(s_);
  tree_type first = build({false, aggregates::all});
  const tree_type tree = std::move(first);
  open();
  expect_right_answers(tree, s_);
  array<std::uint64_t> sum(1);
  const array<std::uint32_t> lo{0}, hi{0xffffffffu};
  tree.sum(lo.span(), hi.span(), sum.span());
  std::uint64_t want = 0;
  for (const std::uint32_t v : values_) want += v;
  EXPECT_EQ(sum[0], want);
}

}  // namespace
}  // namespace espalier::test
