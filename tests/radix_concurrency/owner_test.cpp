// owner_test.cpp - the owner's calls may come from several threads, each with a stream of its own. For ThreadSanitizer,
// too.
#include <gtest/gtest.h>

#include <thread>

#include "radix_tree/subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

constexpr unsigned callers = 4;

class RadixTreeOwner : public testing::TestWithParam<const setting*> {
 protected:
  template <class Body>
  static void in_threads(Body body) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < callers; ++t) all.emplace_back([&body, t] { body(t); });
    for (std::thread& t : all) t.join();
  }
};

/// Each thread's keys begin with its number, and no other thread writes such keys. The first questions after a write
/// find out the order of the leaves and sums of blocks, beside the questions of others.
TEST_P(RadixTreeOwner, TakesEveryCallFromSeveralThreads) {
  constexpr std::size_t n = 600 / less_work;
  const device dev = GetParam()->dev;
  strings staying;
  for (std::size_t i = 0; i < n; ++i) staying.push_back("stay" + std::to_string(i * i));
  radix_subject<std::uint32_t> shared(*GetParam(), staying, std::vector<std::uint32_t>(n, 2));
  auto& tree = const_cast<radix_tree<std::uint32_t>&>(shared.tree());
  in_threads([&](unsigned t) {
    const stream order = dev.make_stream();
    strings keys;
    const std::string own = std::to_string(t) + "/";
    for (std::size_t i = 0; i < n; ++i) keys.push_back(own + std::to_string(7 * i));
    lent_keys k(*GetParam(), keys), prefixes(*GetParam(), strings{own, "stay"}), s(*GetParam(), staying);
    for (unsigned round = 0; round < 4; ++round) {
      const radix_path path = (round + t) % 3 == 0 ? radix_path::rebuild : radix_path::in_place;
      array<std::uint32_t> ones(n), threes(n);
      std::fill(ones.begin(), ones.end(), 1);
      std::fill(threes.begin(), threes.end(), 3);
      lent<std::uint32_t> one(*GetParam(), ones), three(*GetParam(), threes), values(*GetParam(), n);
      lent<std::uint8_t> inserted(*GetParam(), n), erased(*GetParam(), n), found(*GetParam(), n);
      lent<std::uint64_t> sums(*GetParam(), 2), later(*GetParam(), 2), counts(*GetParam(), 2);
      tree.insert_async(k.batch(), one.in(), inserted.span(), path, order);
      tree.sum_prefix_async(prefixes.batch(), sums.span(), order);
      tree.find_async(s.batch(), values.span(), found.span(), order);
      if (round % 2 == 0) order.synchronize();
      tree.update_async(k.batch(), three.in(), {}, order);
      tree.sum_prefix(prefixes.batch(), later.span(), order);
      tree.count_prefix_async(prefixes.batch(), counts.span(), {}, order);
      const auto listed = tree.prefix(prefixes.batch(), {}, order);
      tree.erase_async(k.batch(), erased.span(), path, order);
      order.synchronize();
      EXPECT_EQ(sums.get()[0], n);
      EXPECT_EQ(sums.get()[1], 2 * n);
      EXPECT_EQ(later.get()[0], 3 * n);
      EXPECT_EQ(later.get()[1], 2 * n);
      EXPECT_EQ(counts.get()[0], n);
      EXPECT_EQ(counts.get()[1], n);
      EXPECT_EQ(listed.keys().size(), 2 * n);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(inserted.get()[i], 1) << "thread " << t << ", round " << round;
        EXPECT_EQ(erased.get()[i], 1) << "thread " << t << ", round " << round;
        EXPECT_EQ(found.get()[i], 1) << "thread " << t << ", round " << round;
        EXPECT_EQ(values.get()[i], 2u) << "thread " << t << ", round " << round;
      }
    }
  });
  const validation v = tree.validate();
  ASSERT_TRUE(v.ok) << v.problem;
  EXPECT_EQ(tree.size(), n);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeOwner, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
