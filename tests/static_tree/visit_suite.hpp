// visit_suite.hpp - for_each, transform and reduce over all elements and parts of them: one text for CPU and GPU trees.
//
// Functors are named types with ESPALIER_HD calls, so that g++ and nvcc both compile this file. Everything is local to
// its unit: visits compiled by nvcc know GPUs and those compiled by g++ do not, so the linker must not merge them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/static_tree/visit.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using visited_tree = static_tree<std::int32_t, std::uint32_t>;

struct key_plus_value {
  ESPALIER_HD std::int64_t operator()(std::int32_t key, std::uint32_t value) const {
    return std::int64_t{key} + std::int64_t{value};
  }
};
struct plus_i64 {
  ESPALIER_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};
/// x -> scale * x + shift, modulo 2^64. Composition is associative and does not commute.
struct affine {
  std::uint64_t scale, shift;
};
struct affine_of_element {
  ESPALIER_HD affine operator()(std::int32_t key, std::uint32_t value) const {
    return {2 * std::uint64_t{value} + 1, static_cast<std::uint64_t>(std::int64_t{key}) * 31 + 7};
  }
};
struct then {
  ESPALIER_HD affine operator()(const affine& first, const affine& second) const {
    return {second.scale * first.scale, second.scale * first.shift + second.shift};
  }
};
struct key_times_two {
  ESPALIER_HD std::int64_t operator()(std::int32_t key) const { return 2 * std::int64_t{key}; }
};

struct part {
  std::uint64_t first, last;
};

/// Everything, nothing, one element, parts that start and end inside lines and groups.
[[nodiscard]] std::vector<part> parts_of(std::uint64_t n) {
  std::vector<part> parts{{0, n}, {0, 0}, {n, n}};
  if (n == 0) return parts;
  random_words random(n);
  parts.insert(parts.end(), {{0, 1}, {n - 1, n}, {n / 2, n}, {0, n / 2}});
  for (unsigned i = 0; i < 6; ++i) {
    const std::uint64_t a = random.below(n + 1), b = random.below(n + 1);
    parts.push_back({std::min(a, b), std::max(a, b)});
  }
  return parts;
}

class visit_suite : public testing::TestWithParam<const setting*> {
 protected:
  struct case_type {
    oracle<std::int32_t, std::uint32_t> expected;
    visited_tree tree;
  };
  static case_type make(std::size_t n) {
    const auto keys = make_keys<std::int32_t>(family::zipf, n);
    const auto values = make_values<std::uint32_t>(n);
    return {oracle<std::int32_t, std::uint32_t>(keys, values),
            visited_tree::build(keys.span(), values.span(), {}, GetParam()->dev)};
  }

  static void transform_writes_by_rank(std::size_t n) {
    const case_type c = make(n);
    for (const part p : parts_of(n)) {
      lent<std::int64_t> out(*GetParam(), p.last - p.first);
      transform(c.tree, out.span().data(), key_plus_value{}, visit_options{.first = p.first, .last = p.last});
      c.tree.get_device().default_stream().synchronize();
      const auto& got = out.get();
      for (std::uint64_t r = p.first; r < p.last; ++r) {
        ASSERT_EQ(got[r - p.first], key_plus_value{}(c.expected.keys()[r], c.expected.values()[r])) << "rank " << r;
      }
    }
  }

  static void reduce_adds_everything_once(std::size_t n) {
    const case_type c = make(n);
    for (const visit_order order : {visit_order::any, visit_order::by_key}) {
      for (const part p : parts_of(n)) {
        std::int64_t want = 1000;
        for (std::uint64_t r = p.first; r < p.last; ++r) {
          want += key_plus_value{}(c.expected.keys()[r], c.expected.values()[r]);
        }
        const visit_options options{.first = p.first, .last = p.last, .order = order};
        ASSERT_EQ(reduce(c.tree, std::int64_t{1000}, key_plus_value{}, plus_i64{}, options), want)
            << "ranks " << p.first << " to " << p.last;
      }
    }
  }

  static void reduce_by_key_keeps_the_order(std::size_t n) {
    const case_type c = make(n);
    for (const part p : parts_of(n)) {
      affine want{1, 0};
      for (std::uint64_t r = p.first; r < p.last; ++r) {
        want = then{}(want, affine_of_element{}(c.expected.keys()[r], c.expected.values()[r]));
      }
      const visit_options options{.first = p.first, .last = p.last, .order = visit_order::by_key};
      const affine got = reduce(c.tree, affine{1, 0}, affine_of_element{}, then{}, options);
      ASSERT_EQ(got.scale, want.scale) << "ranks " << p.first << " to " << p.last;
      ASSERT_EQ(got.shift, want.shift) << "ranks " << p.first << " to " << p.last;
    }
  }

  static void everything_about(std::size_t n) {
    transform_writes_by_rank(n);
    reduce_adds_everything_once(n);
    reduce_by_key_keeps_the_order(n);
    a_set_gives_its_keys(n);
    async_twins_agree_between_two_keys(n);
  }

  /// A part named by keys, visited on a stream of its own.
  static void async_twins_agree_between_two_keys(std::size_t n) {
    if (n < 3) return;
    const case_type c = make(n);
    const stream order = c.tree.get_device().make_stream();
    const std::int32_t lo = c.expected.keys()[n / 3], hi = c.expected.keys()[2 * n / 3];
    for (const interval ends : {interval::closed, interval::right_open, interval::left_open, interval::open}) {
      const visit_options part = between(c.tree, lo, hi, ends);
      std::int64_t want = -5;
      std::uint64_t count = 0;
      for (std::size_t r = 0; r < n; ++r) {
        const std::int32_t key = c.expected.keys()[r];
        const bool above = ends == interval::closed || ends == interval::right_open ? key >= lo : key > lo;
        const bool below_hi = ends == interval::closed || ends == interval::left_open ? key <= hi : key < hi;
        if (!above || !below_hi) continue;
        want += key_plus_value{}(key, c.expected.values()[r]);
        ++count;
      }
      std::int64_t got = 0;
      const std::uint64_t expected_count = part.last > part.first ? part.last - part.first : 0;
      EXPECT_EQ(expected_count, count);
      std::vector<std::int64_t> each(count, 0);
      reduce_async(c.tree, &got, std::int64_t{-5}, key_plus_value{}, plus_i64{}, part, order);
      transform_async(c.tree, each.data(), key_plus_value{}, part, order);
      order.synchronize();
      EXPECT_EQ(got, want);
      std::int64_t sum = -5;
      for (const std::int64_t x : each) sum += x;
      EXPECT_EQ(sum, want);
    }
  }

  static void a_set_gives_its_keys(std::size_t n) {
    const auto keys = make_keys<std::int32_t>(family::uniform, n);
    const auto tree = static_tree<std::int32_t>::build(keys.span(), {}, GetParam()->dev);
    std::int64_t want = 0;
    for (const std::int32_t key : keys) want += 2 * std::int64_t{key};
    EXPECT_EQ(reduce(tree, std::int64_t{0}, key_times_two{}, plus_i64{}), want);
  }
};

constexpr std::size_t visited_sizes[] = {0, 1, 2, 7, 8, 9, 215, 216, 217, 433, 2500};
constexpr std::size_t visited_in_pieces = 300003;  // enough for several pieces of work

}  // namespace
}  // namespace espalier::test
