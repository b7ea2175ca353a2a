// single_key_test.cpp - calls for one key on the host, for every owner, on the CPU and on every GPU there is.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::test {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

template <class Body>
void on_one_thread_and_every_gpu(Body body) {
  body(device::cpu(1));
  for (const device& d : device::all()) {
    SCOPED_TRACE(d.name());
    if (d.kind() == device_kind::cuda) body(d);
  }
}

TEST(SingleKey, AStaticTreeAnswersWhetherAKeyExistsAndItsFirstValue) {
  on_one_thread_and_every_gpu([](const device& d) {
    const std::vector<std::uint64_t> keys{0, 7, 7, largest}, values{1, 2, 3, 4};
    const auto map = static_tree<std::uint64_t, std::uint64_t>::build(keys, values, {}, d);
    EXPECT_EQ(map.find(std::uint64_t{7}), std::optional<std::uint64_t>(2));
    EXPECT_EQ(map.find(largest), std::optional<std::uint64_t>(4));
    EXPECT_EQ(map.find(8), std::nullopt);
    EXPECT_TRUE(map.contains(0));
    const auto set = static_tree<std::uint64_t>::build(keys, {}, d);
    EXPECT_TRUE(set.contains(7));
    EXPECT_FALSE(set.contains(6));
    const auto empty = static_tree<std::uint64_t, std::uint64_t>::build({}, {}, {}, d);
    EXPECT_EQ(empty.find(0), std::nullopt);
  });
}

TEST(SingleKey, ABlinkTreeIsWrittenAndReadAsAMap) {
  on_one_thread_and_every_gpu([](const device& d) {
    blink_tree<std::int32_t, double> tree(d);
    EXPECT_TRUE(tree.insert(-5, 1.5));
    EXPECT_FALSE(tree.insert(-5, 2.5));
    EXPECT_EQ(tree.find(-5), std::optional<double>(1.5));
    EXPECT_FALSE(tree.insert_or_assign(-5, 2.5));
    EXPECT_TRUE(tree.insert_or_assign(9, 9.0));
    EXPECT_TRUE(tree.update(9, 10.0));
    EXPECT_FALSE(tree.update(8, 10.0));
    EXPECT_EQ(tree.find(9), std::optional<double>(10.0));
    EXPECT_TRUE(tree.erase(-5));
    EXPECT_FALSE(tree.erase(-5));
    EXPECT_EQ(tree.size(), 1u);
    tree.erase({});  // a braced list is a batch
    blink_tree<std::int32_t> set(d);
    EXPECT_TRUE(set.insert(3));
    EXPECT_FALSE(set.insert(3));
    EXPECT_TRUE(set.contains(3));
  });
}

TEST(SingleKey, ARadixTreeTakesStrings) {
  on_one_thread_and_every_gpu([](const device& d) {
    radix_tree<std::uint32_t> tree(d);
    EXPECT_TRUE(tree.insert("apple", 1u));
    EXPECT_TRUE(tree.insert(std::string("pear"), 2u));
    EXPECT_TRUE(tree.insert("", 3u));
    EXPECT_EQ(tree.find("pear"), std::optional<std::uint32_t>(2));
    EXPECT_EQ(tree.find(""), std::optional<std::uint32_t>(3));
    EXPECT_EQ(tree.find("pea"), std::nullopt);
    EXPECT_TRUE(tree.update("apple", 4u));
    EXPECT_FALSE(tree.insert_or_assign("apple", 5u));
    EXPECT_TRUE(tree.erase("apple"));
    EXPECT_FALSE(tree.contains("apple"));
    tree.erase({"pear", ""});  // a braced list is a batch
    EXPECT_TRUE(tree.empty());
  });
}

TEST(SingleKey, AHybridTreeIsWrittenAndRead) {
  on_one_thread_and_every_gpu([](const device& d) {
    hybrid_tree<std::uint64_t, std::uint64_t> tree({}, d);
    EXPECT_TRUE(tree.insert_or_assign(largest, 7u));
    EXPECT_FALSE(tree.insert_or_assign(largest, 8u));
    EXPECT_EQ(tree.find(largest), std::optional<std::uint64_t>(8));
    EXPECT_EQ(tree.find(0), std::nullopt);
    EXPECT_TRUE(tree.erase(largest));
    EXPECT_FALSE(tree.contains(largest));
  });
}

}  // namespace
}  // namespace espalier::test
