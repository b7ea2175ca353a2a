// model.hpp - what an index must answer: rows in a plain array, each question answered by looking at all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/index/table_index.hpp"
#include "engine/table/table_version.hpp"
#include "engine_index/cells.hpp"

namespace espalier::test {

using engine::aggregate_function;
using engine::index_kind;
using engine::index_spec;
using engine::key_condition;
using engine::key_order;
using engine::table_index;
using engine::table_version;
using row_numbers = std::vector<std::uint64_t>;

/// Ranges of one shape, as cells.
struct asked_ranges {
  std::vector<cells> equal;  // one for each column
  key_condition condition = key_condition::anything;
  std::optional<cells> lo, hi;
  bool lo_inclusive = true, hi_inclusive = true;
  std::size_t n = 1;

  [[nodiscard]] static const cell& at(const cells& c, std::size_t i) { return c.size() == 1 ? c[0] : c[i]; }
};

/// A table with its rows as cells beside it. Row id = position.
class model_table {
 public:
  explicit model_table(std::vector<column_type> columns_of) : types(std::move(columns_of)) {
    std::vector<engine::column> columns;
    for (std::size_t c = 0; c < types.size(); ++c) columns.push_back({"c" + std::to_string(c), types[c], true});
    now = table_version::empty(columns);
  }

  std::vector<column_type> types;
  std::vector<std::vector<cell>> rows;  // [row][column]
  std::vector<bool> live;
  std::shared_ptr<const table_version> now;

  /// The version with these rows, and their ids. The table itself is as before until `take` is called with it.
  [[nodiscard]] std::shared_ptr<const table_version> with(const std::vector<std::vector<cell>>& more,
                                                          const row_numbers& without) const {
    auto next = without.empty() ? now : now->erased(without);
    if (more.empty()) return next;
    std::vector<std::shared_ptr<arrow::Field>> fields;
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (std::size_t c = 0; c < types.size(); ++c) {
      cells column;
      for (const auto& row : more) column.push_back(row[c]);
      fields.push_back(arrow::field("c" + std::to_string(c), engine::arrow_type(types[c])));
      arrays.push_back(array_of(types[c], column));
    }
    return next->appended(arrow::Table::Make(arrow::schema(fields), arrays));
  }
  [[nodiscard]] row_numbers next_ids(std::size_t n) const {
    row_numbers ids(n);
    std::iota(ids.begin(), ids.end(), rows.size());
    return ids;
  }
  void take(std::shared_ptr<const table_version> next, const std::vector<std::vector<cell>>& more,
            const row_numbers& without) {
    now = std::move(next);
    for (const std::uint64_t row : without) live[row] = false;
    rows.insert(rows.end(), more.begin(), more.end());
    live.resize(rows.size(), true);
  }
  void append(const std::vector<std::vector<cell>>& more) { take(with(more, {}), more, {}); }

  /// Live rows in the order of an index over these columns.
  [[nodiscard]] row_numbers ordered(const std::vector<std::size_t>& columns) const {
    row_numbers out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (live[r]) out.push_back(r);
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return key_order_of(columns, a, b) < 0; });
    return out;
  }
  [[nodiscard]] int key_order_of(const std::vector<std::size_t>& columns, std::uint64_t a, std::uint64_t b) const {
    for (const std::size_t c : columns) {
      if (const int order = compare_cells(rows[a][c], rows[b][c]); order != 0) return order;
    }
    return 0;
  }
  /// Is there a key twice, among rows without NULL in it?
  [[nodiscard]] bool has_duplicates(const std::vector<std::size_t>& columns) const {
    const row_numbers all = ordered(columns);
    for (std::size_t i = 1; i < all.size(); ++i) {
      const bool whole =
          std::all_of(columns.begin(), columns.end(), [&](std::size_t c) { return rows[all[i]][c].has_value(); });
      if (whole && key_order_of(columns, all[i - 1], all[i]) == 0) return true;
    }
    return false;
  }
};

[[nodiscard]] inline bool equals(const cell& a, const cell& b) { return a && b && compare(*a, *b) == 0; }

[[nodiscard]] inline bool is_in(const std::vector<cell>& row, const std::vector<std::size_t>& columns,
                                const asked_ranges& q, std::size_t i) {
  for (std::size_t c = 0; c < q.equal.size(); ++c) {
    if (!equals(row[columns[c]], asked_ranges::at(q.equal[c], i))) return false;
  }
  if (q.condition == key_condition::anything) return true;
  const cell& x = row[columns[q.equal.size()]];
  if (q.condition == key_condition::is_null) return !x;
  if (!x) return false;
  if (q.condition == key_condition::prefix) {
    const cell& p = asked_ranges::at(*q.lo, i);
    return p && std::get<std::string>(*x).starts_with(std::get<std::string>(*p));
  }
  const auto passes = [&](const std::optional<cells>& end, bool inclusive, int wrong) {
    if (!end) return true;
    const cell& e = asked_ranges::at(*end, i);
    if (!e) return false;
    const int order = compare(*x, *e);
    return order == 0 ? inclusive : order != wrong;
  };
  return passes(q.lo, q.lo_inclusive, -1) && passes(q.hi, q.hi_inclusive, 1);
}

/// Rows of range i in order.
[[nodiscard]] inline row_numbers rows_in(const model_table& t, const std::vector<std::size_t>& columns,
                                         const asked_ranges& q, std::size_t i) {
  row_numbers out;
  for (const std::uint64_t r : t.ordered(columns)) {
    if (is_in(t.rows[r], columns, q, i)) out.push_back(r);
  }
  return out;
}

[[nodiscard]] inline engine::key_ranges shape_of(const model_table& t, const std::vector<std::size_t>& columns,
                                                 const asked_ranges& q) {
  engine::key_ranges shape;
  for (std::size_t c = 0; c < q.equal.size(); ++c) shape.equal.push_back(array_of(t.types[columns[c]], q.equal[c]));
  shape.condition = q.condition;
  if (q.lo) shape.lo = array_of(t.types[columns[q.equal.size()]], *q.lo);
  if (q.hi) shape.hi = array_of(t.types[columns[q.equal.size()]], *q.hi);
  shape.lo_inclusive = q.lo_inclusive;
  shape.hi_inclusive = q.hi_inclusive;
  return shape;
}

}  // namespace espalier::test
