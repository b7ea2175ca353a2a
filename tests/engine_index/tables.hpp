// tables.hpp - tables that tests write down, and the kinds of indexes they try.
#pragma once

#include <random>

#include "engine_index/expect.hpp"

namespace espalier::test {

using rows_of_cells = std::vector<std::vector<cell>>;

inline constexpr index_kind word_kinds[] = {index_kind::static_tree, index_kind::blink, index_kind::hybrid};
inline constexpr index_kind all_kinds[] = {index_kind::static_tree, index_kind::blink, index_kind::hybrid,
                                           index_kind::radix};

/// Rows (k, v): k is below `keys`, or NULL for one in `nulls`, and v counts.
[[nodiscard]] inline rows_of_cells numbered_rows(std::size_t n, std::int64_t keys, std::uint32_t seed,
                                                 std::uint32_t nulls = 0) {
  std::mt19937 random(seed);
  rows_of_cells rows;
  for (std::size_t i = 0; i < n; ++i) {
    const bool null = nulls != 0 && random() % nulls == 0;
    rows.push_back(
        {null ? cell{} : integer(static_cast<std::int64_t>(random()) % keys), integer(static_cast<std::int64_t>(i))});
  }
  return rows;
}

[[nodiscard]] inline std::unique_ptr<table_index> index_over(const model_table& t, std::vector<std::size_t> columns,
                                                             index_kind kind, bool unique = false,
                                                             const device& where = device::cpu(2)) {
  return table_index::build(t.now, {"by_key", std::move(columns), unique, kind, {}}, where);
}

/// Commits a change in index and table.
inline void apply(table_index& index, model_table& t, const rows_of_cells& in, const row_numbers& out) {
  const auto next = t.with(in, out);
  index.commit(index.prepare(next, out, t.next_ids(in.size())));
  t.take(next, in, out);
}

/// All there is to ask of an index over (k, ...) with integer keys, at a few places.
inline void expect_all(const table_index& index, const model_table& t, const cells& places) {
  expect_order(index, t);
  for (const bool inclusive : {true, false}) {
    asked_ranges q{{}, key_condition::between, places, cells{places.back()}, inclusive, inclusive, places.size()};
    expect_ranges(index, t, q);
  }
  expect_ranges(index, t, {{places}, key_condition::anything, {}, {}, true, true, places.size()});
  expect_ranges(index, t, {{}, key_condition::is_null, {}, {}, true, true, 1});
  expect_as_of(index, t, {}, places);
}

}  // namespace espalier::test
