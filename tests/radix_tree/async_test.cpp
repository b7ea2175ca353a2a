// async_test.cpp - calls that return before they are done: answers are there, and errors are thrown, when their stream
// is synchronised; what was given as strings may be gone by then.
#include <gtest/gtest.h>

#include "radix_tree/answers.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

class RadixTreeAsync : public testing::TestWithParam<const setting*> {};

TEST_P(RadixTreeAsync, SmallEveryQuestionAnswersLikeTheOneThatWaits) {
  for (const byte_family f :
       {byte_family::random_lengths, byte_family::urls, byte_family::fixed16, byte_family::chain}) {
    SCOPED_TRACE(to_string(f));
    const strings keys = byte_keys_of(f, 300), asked = questions_about(keys, 100);
    std::vector<std::uint64_t> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = i + 1;
    radix_model m;
    m.apply(radix_op::insert_or_assign, keys, values);
    radix_subject<std::uint64_t> tree(*GetParam(), keys, values, {}, calls::enqueue);
    for (const interval ends : {interval::closed, interval::right_open, interval::left_open, interval::open})
      ASSERT_EQ(wrong_answer(tree, m, asked, ends), "");
    for (const radix_op op : {radix_op::erase, radix_op::insert, radix_op::update, radix_op::insert_or_assign}) {
      std::vector<std::uint8_t> done;
      const std::vector<std::uint64_t> brought(asked.size(), 7 + static_cast<unsigned>(op));
      tree.write(op, asked, brought, done, radix_path::in_place);
      ASSERT_EQ(done, m.apply(op, asked, brought));
      ASSERT_EQ(difference(tree, m), "");
      ASSERT_EQ(wrong_answer(tree, m, asked), "");
    }
  }
}

/// Writes and questions one behind the other on a stream, with nobody waiting between them.
TEST_P(RadixTreeAsync, SmallCallsOfOneStreamAreInOrder) {
  const setting& dev = *GetParam();
  const stream order = dev.dev.make_stream();
  auto tree = radix_tree<std::uint32_t>::build(strings{}, std::vector<std::uint32_t>{}, {}, dev.dev);
  const strings few{"a/1", "a/2", "b/1"}, ends{"a/", "b/"};
  const array<std::uint32_t> ones{1, 1, 1}, tens{10, 10, 10};
  lent_keys keys(dev, few), prefixes(dev, ends);
  lent<std::uint32_t> one(dev, ones), ten(dev, tens), values(dev, 3);
  lent<std::uint64_t> first(dev, 2), second(dev, 2), third(dev, 2), counts(dev, 2);
  lent<std::uint8_t> inserted(dev, 3), erased(dev, 3), found(dev, 3);
  tree.insert_async(keys.batch(), one.in(), inserted.span(), radix_path::in_place, order);
  tree.sum_prefix_async(prefixes.batch(), first.span(), order);
  tree.update_async(keys.batch(), ten.in(), {}, order);
  tree.sum_prefix_async(prefixes.batch(), second.span(), order);
  tree.find_async(keys.batch(), values.span(), found.span(), order);
  tree.erase_async(keys.batch(), erased.span(), radix_path::in_place, order);
  tree.insert_or_assign_async(keys.batch(), one.in(), {}, radix_path::rebuild, order);
  tree.erase_async(prefixes.batch(), {}, radix_path::automatic, order);  // there are no such keys
  tree.sum_prefix_async(prefixes.batch(), third.span(), order);
  tree.count_prefix_async(prefixes.batch(), counts.span(), {}, order);
  order.synchronize();
  const auto pair = [](lent<std::uint64_t>& l) { return std::pair(l.get()[0], l.get()[1]); };
  EXPECT_EQ(pair(first), std::pair(std::uint64_t{2}, std::uint64_t{1}));
  EXPECT_EQ(pair(second), std::pair(std::uint64_t{20}, std::uint64_t{10}));
  EXPECT_EQ(pair(third), std::pair(std::uint64_t{2}, std::uint64_t{1}));
  EXPECT_EQ(pair(counts), std::pair(std::uint64_t{2}, std::uint64_t{1}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(inserted.get()[i], 1);
    EXPECT_EQ(values.get()[i], 10u);
    EXPECT_EQ(found.get()[i], 1);
    EXPECT_EQ(erased.get()[i], 1);
  }
}

TEST_P(RadixTreeAsync, SmallStringsMayGoBeforeTheCallIsDone) {
  const stream order = GetParam()->dev.make_stream();
  auto tree = radix_tree<>::build(strings{"kept"}, {}, GetParam()->dev);
  for (unsigned i = 0; i < 50; ++i)
    tree.insert_async(strings{"key " + std::to_string(i), std::string(500, 'x') + std::to_string(i)}, {},
                      radix_path::in_place, order);
  order.synchronize();
  EXPECT_EQ(tree.size(), 101u);
  EXPECT_TRUE(tree.validate().ok) << tree.validate().problem;
}

TEST_P(RadixTreeAsync, SmallErrorsAreThrownWhenTheStreamIsSynchronised) {
  const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
  const device dev = GetParam()->dev.with_pool(pool);
  const stream order = dev.make_stream();
  auto tree = radix_tree<std::uint32_t>::build(strings{"a", "b"}, std::vector<std::uint32_t>{1, 2}, {}, dev);
  const std::string bytes = "abcdefg";
  const std::vector<std::uint64_t> descending{0, 5, 3};
  const byte_string_batch bad(std::span<const char>(bytes.data(), 7), descending);
  const std::vector<std::uint32_t> values{7, 8};
  // On a GPU these writes wait for the host, and throw at once.
  EXPECT_THROW(
      {
        tree.update_async(bad, values, {}, order);
        order.synchronize();
      },
      error);
  pool->fail_at(1);
  EXPECT_THROW(
      {
        tree.insert_async(strings{"c", "d"}, values, {}, radix_path::in_place, order);
        order.synchronize();
      },
      out_of_memory);
  pool->fail_at(0);
  order.synchronize();  // an error is thrown once
  EXPECT_EQ(tree.size(), 2u);
  if (dev.kind() != device_kind::cpu) return;
  EXPECT_NO_THROW(tree.erase_async(bad, {}, radix_path::in_place, order));
  EXPECT_THROW(order.synchronize(), error);
  std::vector<std::uint8_t> found(2);
  EXPECT_NO_THROW(tree.contains_async(bad, found, order));
  EXPECT_THROW(order.synchronize(), error);
  // What is wrong with the spans themselves is known at once.
  EXPECT_THROW(tree.contains_async(strings{"a"}, found, order), error);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeAsync, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
