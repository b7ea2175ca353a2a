// rows.hpp - checks that range_rows() of a tree lists the same elements as range().
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "support/array.hpp"
#include "support/setting.hpp"

namespace espalier::test {

/// `offsets`, `keys` and `values` are the contiguous ranges.
template <class Slot, class Tree, class Key, class Offsets, class Keys, class Values>
void expect_rows(const setting& here, const Tree& tree, lent<Key>& lo, lent<Key>& hi, const range_options& options,
                 const Offsets& offsets, const Keys& keys, const Values& values) {
  constexpr bool is_set = std::is_void_v<typename Tree::value_type>;
  const std::size_t ranges = offsets.size() - 1, row = options.limit;
  for (const bool async : {false, true}) {
    lent<Key> row_keys(here, ranges * row);
    lent<Slot> row_values(here, is_set ? 0 : ranges * row);
    lent<std::uint64_t> counts(here, ranges), alone(here, ranges);
    if (async) {
      tree.range_rows_async(lo.in(), hi.in(), row_keys.span(), row_values.span(), counts.span(), options, here.own);
      tree.range_rows_async(lo.in(), hi.in(), {}, {}, alone.span(), options, here.own);
      here.own.synchronize();
    } else {
      tree.range_rows(lo.in(), hi.in(), row_keys.span(), row_values.span(), counts.span(), options);
      tree.range_rows(lo.in(), hi.in(), {}, {}, alone.span(), options);
    }
    const auto& got = counts.get();
    expect_same("counts of rows without outputs", alone.get(), got);
    const auto& got_keys = row_keys.get();
    const auto& got_values = row_values.get();
    for (std::size_t i = 0; i < ranges; ++i) {
      ASSERT_EQ(got[i], offsets[i + 1] - offsets[i]) << "elements of row " << i;
      for (std::size_t j = 0; j < got[i]; ++j) {
        ASSERT_TRUE(same(got_keys[i * row + j], keys[offsets[i] + j])) << "key " << j << " of row " << i;
        if constexpr (!is_set) {
          ASSERT_TRUE(same(got_values[i * row + j], values[offsets[i] + j])) << "value " << j << " of row " << i;
        }
      }
    }
  }
}

}  // namespace espalier::test
