// regular_side_test.cpp - the regular layout in host memory, where memory runs out in the middle of a write.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "hybrid_tree/host_tree.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

using detail::any_inner_levels_view;
using detail::host_tree;
using detail::inner_levels;
using words = std::vector<std::uint64_t>;

/// Asks for the keys by lines that a copy of the inner levels gives.
words find_by_lines(const host_tree& side, const inner_levels& levels, const words& keys) {
  const device dev = device::cpu(1);
  const stream order = dev.default_stream();
  std::vector<std::uint32_t> lines(keys.size());
  levels.walk(keys.data(), nullptr, keys.size(), lines.data(), order);
  order.synchronize();
  words values(keys.size(), 99);
  side.find_from(lines.data(), keys.data(), keys.size(), values.data(), nullptr);
  return values;
}
const void* headers_of(const any_inner_levels_view& image) {
  return std::visit([](const auto& i) { return static_cast<const void*>(i.view.headers); }, image);
}

// A write that fails changes neither elements nor inner levels. One that did its work does not fail for want of new
// inner levels; whichever there are then stay until the next write, however much is read.
TEST(RegularSide, MemoryThatRunsOutLeavesAWriteDoneOrNot) {
  for (const update_mode way : {update_mode::asynchronous, update_mode::synchronised}) {
    std::size_t failures = 0, behind = 0;
    for (std::size_t k = 1; k < 300; ++k) {
      SCOPED_TRACE(to_string(way) + ", allocation " + std::to_string(k));
      const auto pool = std::make_shared<failing_pool>(device::cpu(2).pool());
      const device host = device::cpu(2).with_pool(pool);
      std::map<std::uint64_t, std::uint64_t> all;
      words keys(4000), more, values;
      for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i] = 1000 * i] = 1000 * i;
      for (std::size_t i = 0; i < 6000; ++i) more.push_back(i % 2 == 0 ? 1000000 + i : 700 * i);
      const auto side = detail::make_blink_host_tree(host, {scalar_kind::u64, scalar_kind::u64, 8}, 0.75, keys.data(),
                                                     keys.data(), keys.size());
      auto levels = detail::copy_inner_levels(device::cpu(1), side->upper(), detail::inner_room::exact);
      const void* const headers = headers_of(side->upper());

      pool->fail_at(k);
      bool failed = false;
      try {
        const auto update =
            side->write(write_op::insert_or_assign, more.data(), more.data(), more.size(), nullptr, way);
        for (const std::uint64_t key : more) all[key] = key;
        EXPECT_EQ(update.inner_changed, headers_of(side->upper()) != headers);
        if (update.inner_changed) {
          levels = detail::copy_inner_levels(device::cpu(1), side->upper(), detail::inner_room::exact);
        } else {
          ++behind;
        }
      } catch (const out_of_memory&) {
        failed = true;
        ++failures;
        EXPECT_EQ(headers_of(side->upper()), headers);
      }
      const bool over = pool->requests() < k;
      pool->fail_at(0);

      words asked, expected;
      for (const auto& [key, value] : all) asked.push_back(key), expected.push_back(value);
      for (const std::uint64_t key : more) asked.push_back(key), expected.push_back(all.count(key) != 0 ? key : 0);
      const void* const now = headers_of(side->upper());
      values.assign(asked.size(), 99);
      side->reads().find(asked.data(), asked.size(), values.data(), nullptr, {}, detail::in_separate_stream(host));
      ASSERT_EQ(values, expected);
      EXPECT_EQ(headers_of(side->upper()), now) << "a read made other inner levels";
      ASSERT_EQ(find_by_lines(*side, *levels, asked), expected);
      EXPECT_EQ(side->size(), all.size());
      const validation v = side->validate();
      ASSERT_TRUE(v.ok) << v.problem;
      if (over) {
        EXPECT_FALSE(failed);
        break;
      }
      ASSERT_LT(k, 299u);
    }
    EXPECT_GT(failures, 0u);
    if (way == update_mode::synchronised) {  // the other way tries twice
      EXPECT_GT(behind, 0u) << "some time there was no memory for new inner levels";
    }
  }
}

}  // namespace
}  // namespace espalier::test
