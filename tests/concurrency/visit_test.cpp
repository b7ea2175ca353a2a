// visit_test.cpp - visits by several threads: their results do not share bits, and a functor may ask questions itself.
//
// A visit is work of a stream. What it asks on that stream runs at once instead of waiting for the visit to end, on
// whichever thread helps with it; the watchdog turns a wait for oneself into a failure.
#include "espalier/static_tree/visit.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/less_work.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

using tree_type = static_tree<std::uint32_t, std::uint32_t>;
constexpr std::chrono::seconds generous{60};
constexpr std::uint32_t visited = 4 * static_cast<std::uint32_t>(detail::visit_piece) + 3;  // five pieces
static_assert(visited > 200000);

/// Key 2r with value r * factor at rank r.
[[nodiscard]] tree_type even_keys(std::uint32_t n, std::uint32_t factor, const device& dev) {
  array<std::uint32_t> keys(n), values(n);
  for (std::uint32_t r = 0; r < n; ++r) {
    keys[r] = 2 * r;
    values[r] = r * factor;
  }
  return tree_type::build(keys.span(), values.span(), {true, aggregates::sum}, dev);
}

TEST(VisitConcurrency, AReductionToBoolMissesNoElement) {
  const tree_type tree = even_keys(visited, 1, device::cpu(2));
  std::vector<std::uint32_t> ranks{0, 1, visited - 2, visited - 1};
  for (std::uint32_t piece = 1; piece < 5; ++piece) {
    const auto border = static_cast<std::uint32_t>(piece * detail::visit_piece);
    ranks.insert(ranks.end(), {border - 1, border, border + 1});
  }
  random_words random(7);
  for (unsigned i = 0; i < 600 / (less_work * less_work); ++i)
    ranks.push_back(static_cast<std::uint32_t>(random.below(visited)));
  for (const std::uint32_t rank : ranks) {
    const auto is_it = [rank](std::uint32_t key, std::uint32_t) { return key == 2 * rank; };
    const auto is_not_it = [rank](std::uint32_t key, std::uint32_t) { return key != 2 * rank; };
    ASSERT_TRUE(reduce(tree, false, is_it, std::logical_or<>{})) << "rank " << rank;
    ASSERT_FALSE(reduce(tree, true, is_not_it, std::logical_and<>{})) << "rank " << rank;
  }
  const auto is_odd = [](std::uint32_t key, std::uint32_t) { return key % 2 != 0; };
  EXPECT_FALSE(reduce(tree, false, is_odd, std::logical_or<>{}));
  EXPECT_TRUE(reduce(tree, true, std::not_fn(is_odd), std::logical_and<>{}));
}

/// Questions that the functor of a visit asks another tree, or the one that is visited.
class nested_questions {
 public:
  nested_questions(const tree_type& asked, std::uint32_t factor, stream order = {})
      : tree_(asked), factor_(factor), order_(std::move(order)) {}

  /// One key that is there and one that is not.
  void find_two(std::uint32_t key) {
    const std::uint32_t known = (key % static_cast<std::uint32_t>(2 * tree_.size())) & ~1u;
    const std::uint32_t queries[] = {known, known + 1};
    std::uint32_t values[2] = {};
    std::uint8_t found[2] = {};
    tree_.find(queries, values, found, {}, order_);
    if (found[0] != 1 || values[0] != known / 2 * factor_ || found[1] != 0) ++wrong_;
    ++asked_;
  }

  /// A batch that all threads answer together.
  void find_many(std::uint32_t key) {
    constexpr std::uint32_t n = 50000;
    array<std::uint32_t> queries(n), values(n);
    array<std::uint8_t> found(n);
    for (std::uint32_t i = 0; i < n; ++i) queries[i] = (key + 101 * i) % static_cast<std::uint32_t>(2 * tree_.size());
    tree_.find(queries.span(), values.span(), found.span(), {batch_order::random, query_plan::scattered}, order_);
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool there = queries[i] % 2 == 0;
      if (found[i] != (there ? 1 : 0) || (there && values[i] != queries[i] / 2 * factor_)) ++wrong_;
    }
    ++asked_;
  }

  void about_itself() {
    if (tree_.size() != tree_.stats().size || tree_.empty() || !tree_.ref().size()) ++wrong_;
    if (tree_.explain(1).chosen == query_plan::automatic) ++wrong_;
    ++asked_;
  }

  void expect_all_right(unsigned asked) const {
    EXPECT_EQ(asked_.load(), asked);
    EXPECT_EQ(wrong_.load(), 0u);
  }

 private:
  const tree_type& tree_;
  std::uint32_t factor_;
  stream order_;
  std::atomic<unsigned> asked_{0}, wrong_{0};
};

constexpr std::uint32_t sparse = 64, rare = 16384;
constexpr unsigned times(std::uint32_t every) { return (visited + every - 1) / every; }

/// Small questions at many elements and large ones at a few.
void ask_while_visiting(const tree_type& tree, nested_questions& questions) {
  within(generous, [&] {
    for_each(tree, [&](std::uint32_t key, std::uint32_t rank) {
      if (rank % sparse == 0) questions.find_two(key);
      if (rank % rare == 0) questions.find_many(key);
    });
  });
  questions.expect_all_right(times(sparse) + times(rare));
}

TEST(VisitConcurrency, AVisitMayAskTheTreeItVisits) {
  const tree_type tree = even_keys(visited, 1, device::cpu(2));
  nested_questions questions(tree, 1);
  ask_while_visiting(tree, questions);
}

TEST(VisitConcurrency, AVisitMayAskAnotherTreeOfTheSameDevice) {
  const device dev = device::cpu(2);
  const tree_type tree = even_keys(visited, 1, dev), other = even_keys(5003, 3, dev);
  nested_questions questions(other, 3);
  ask_while_visiting(tree, questions);
}

TEST(VisitConcurrency, AVisitMayAskATreeOfAnotherDevice) {
  const tree_type tree = even_keys(visited, 1, device::cpu(2)), other = even_keys(5003, 3, device::cpu(1));
  nested_questions questions(other, 3);
  ask_while_visiting(tree, questions);
}

TEST(VisitConcurrency, AVisitMayAskOnAnotherStream) {
  const device dev = device::cpu(2);
  const tree_type tree = even_keys(visited, 1, dev);
  nested_questions questions(tree, 1, dev.make_stream());
  ask_while_visiting(tree, questions);
}

// A thread that waits for its own batch must not take up another piece of the visit meanwhile: that piece would ask the
// same stream and wait for the batch below it on the stack. It takes a third thread, which helps with the batch while
// pieces are left, to get there.
TEST(VisitConcurrency, LargeVisitByManyThreadsMayAskOnAnotherStream) {
  constexpr std::uint32_t pieces = 40;
  const device dev = device::cpu(4);
  const tree_type tree = even_keys(pieces * static_cast<std::uint32_t>(detail::visit_piece), 1, dev);
  nested_questions questions(tree, 1, dev.make_stream());
  constexpr unsigned rounds = 15;
  within(generous, [&] {
    for (unsigned round = 0; round < rounds; ++round) {
      for_each(tree, [&](std::uint32_t key, std::uint32_t rank) {
        if (rank % (detail::visit_piece / 2) == 0) questions.find_many(key);
      });
    }
  });
  questions.expect_all_right(2 * pieces * rounds);
}

TEST(VisitConcurrency, AVisitMayAskATreeAboutItself) {
  const tree_type tree = even_keys(visited, 1, device::cpu(2));
  nested_questions questions(tree, 1);
  within(generous, [&] {
    for_each(tree, [&](std::uint32_t, std::uint32_t rank) {
      if (rank % sparse == 0) questions.about_itself();
    });
  });
  questions.expect_all_right(times(sparse));
}

TEST(VisitConcurrency, AVisitMayVisit) {
  const device dev = device::cpu(2);
  const tree_type tree = even_keys(visited, 1, dev);
  std::atomic<unsigned> asked{0}, wrong{0};
  within(generous, [&] {
    for_each(tree, [&](std::uint32_t, std::uint32_t rank) {
      if (rank % rare != 0) return;
      const auto one = [](std::uint32_t, std::uint32_t) { return std::uint64_t{1}; };
      if (reduce(tree, std::uint64_t{0}, one, std::plus<>{}) != visited) ++wrong;
      ++asked;
    });
  });
  EXPECT_EQ(asked.load(), times(rare));
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(VisitConcurrency, AVisitInAStreamsOwnWorkDoesNotWaitForIt) {
  const device dev = device::cpu(2);
  const stream order = dev.make_stream();
  const tree_type tree = even_keys(visited, 1, dev);
  std::uint64_t sum = 0;
  within(generous, [&] {
    dev.enqueue(order, [&] {
      const auto value = [](std::uint32_t, std::uint32_t v) { return std::uint64_t{v}; };
      sum = reduce(tree, std::uint64_t{0}, value, std::plus<>{}, {}, order);
    });
    order.synchronize();
  });
  EXPECT_EQ(sum, std::uint64_t{visited} * (visited - 1) / 2);
}

// Work that is enqueued knows the tree, not the object that owns it.
TEST(VisitConcurrency, AnOwnerMayBeMovedBeforeAVisitThatWasEnqueued) {
  constexpr std::uint32_t n = 30000;
  const device cpu = device::cpu(2);
  tree_type tree = even_keys(n, 1, cpu);
  const stream order = cpu.make_stream();
  std::promise<void> open;
  cpu.enqueue(order, [gate = open.get_future().share()] { gate.wait(); });
  std::atomic<std::uint64_t> seen{0};
  std::vector<std::uint32_t> doubled(n);
  std::uint64_t sum = 0;
  for_each_async(
      tree, [&](std::uint32_t, std::uint32_t) { ++seen; }, {}, order);
  transform_async(
      tree, doubled.data(), [](std::uint32_t key, std::uint32_t) { return 2 * key; }, {}, order);
  reduce_async(
      tree, &sum, std::uint64_t{0}, [](std::uint32_t, std::uint32_t value) { return std::uint64_t{value}; },
      std::plus<>{}, {}, order);
  const tree_type moved = std::move(tree);
  open.set_value();
  order.synchronize();
  EXPECT_EQ(seen, n);
  for (std::uint32_t r = 0; r < n; ++r) ASSERT_EQ(doubled[r], 4 * r);
  EXPECT_EQ(sum, std::uint64_t{n} * (n - 1) / 2);
  EXPECT_EQ(moved.size(), n);
}

}  // namespace
}  // namespace espalier::test
