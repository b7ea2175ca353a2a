#include "engine/exec/pairs.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>

#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

relation only(const relation& from, const std::set<column_id>& wanted) {
  relation out;
  out.rows = from.rows;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    if (wanted.contains(from.ids[i])) out.add(from.ids[i], from.columns[i]);
  }
  return out;
}

std::vector<std::uint8_t> seen_rows(const std::vector<std::int64_t>& rows, std::int64_t count) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count), 0);
  for_each_row(rows.size(), [&](std::size_t i) { out[static_cast<std::size_t>(rows[i])] = 1; });
  return out;
}

std::vector<std::int64_t> rows_where(const std::vector<std::uint8_t>& seen, std::uint8_t wanted) {
  std::vector<std::int64_t> out;
  for_each_row(seen.size(), [&](std::size_t i) {
    if (seen[i] == wanted) out.push_back(static_cast<std::int64_t>(i));
  });
  return out;
}

}  // namespace

void keep_pairs_that_pass(const std::vector<bound_ptr>& residual, const relation& left, const relation& right,
                          row_pairs& pairs, const evaluation& values) {
  if (residual.empty() || pairs.left.empty()) return;
  std::set<column_id> wanted;
  for (const auto& condition : residual) collect_columns(condition, wanted);
  relation both = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
  both.rows = static_cast<std::int64_t>(pairs.left.size());
  const auto passed = values.column(conjunction(residual), both);
  std::size_t kept = 0, at = 0;
  for (const auto& chunk : passed->chunks()) {
    check_stop();  // a chunk is a batch
    const auto& bits = static_cast<const arrow::BooleanArray&>(*chunk);
    for (std::int64_t i = 0; i < bits.length(); ++i, ++at) {
      if (bits.IsNull(i) || !bits.Value(i)) continue;
      pairs.left[kept] = pairs.left[at];
      pairs.right[kept++] = pairs.right[at];
    }
  }
  pairs.left.resize(kept);
  pairs.right.resize(kept);
}

relation finish_join(join_type type, const std::vector<output_column>& outputs, const std::vector<bound_ptr>& residual,
                     const relation& left, const relation& right, row_pairs pairs, const evaluation& values) {
  keep_pairs_that_pass(residual, left, right, pairs, values);
  std::set<column_id> wanted;
  for (const auto& output : outputs) wanted.insert(output.id);
  if (type == join_type::semi || type == join_type::anti) {
    const auto rows = rows_where(seen_rows(pairs.left, left.rows), type == join_type::semi ? 1 : 0);
    auto out = take_rows(only(left, wanted), rows);
    out.rows = static_cast<std::int64_t>(rows.size());
    return out;
  }
  if (type == join_type::inner) {
    auto out = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
    out.rows = static_cast<std::int64_t>(pairs.left.size());
    return out;
  }
  const auto lonely_right =
      type == join_type::full ? rows_where(seen_rows(pairs.right, right.rows), 0) : std::vector<std::int64_t>();
  for (const auto row : rows_where(seen_rows(pairs.left, left.rows), 0)) {
    pairs.left.push_back(row);
    pairs.right.push_back(null_row);
  }
  for (const auto row : lonely_right) {
    pairs.left.push_back(null_row);
    pairs.right.push_back(row);
  }
  auto out =
      beside(take_rows_or_null(only(left, wanted), pairs.left), take_rows_or_null(only(right, wanted), pairs.right));
  out.rows = static_cast<std::int64_t>(pairs.left.size());
  return out;
}

row_pairs equal_pairs(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& left,
                      const std::vector<std::shared_ptr<arrow::ChunkedArray>>& right, bool build_left) {
  const key_table table(build_left ? left : right);
  const auto lists = rows_by_group(table.groups());
  const auto group_of = table.find(build_left ? right : left);
  std::size_t total = 0;
  for_each_row(group_of.size(), [&](std::size_t row) {
    const auto group = group_of[row];
    if (group != no_group) total += lists.offsets[group + 1] - lists.offsets[group];
  });
  row_pairs out;
  auto& probe = build_left ? out.right : out.left;
  auto& built = build_left ? out.left : out.right;
  probe.reserve(total);
  built.reserve(total);
  std::size_t next_check = 0;
  for (std::size_t row = 0; row < group_of.size(); ++row) {
    if (row + probe.size() >= next_check) {
      check_stop();
      next_check = row + probe.size() + rows_between_checks;
    }
    if (group_of[row] == no_group) continue;
    for (auto i = lists.offsets[group_of[row]]; i < lists.offsets[group_of[row] + 1]; ++i) {
      probe.push_back(static_cast<std::int64_t>(row));
      built.push_back(lists.rows[i]);
    }
  }
  return out;
}

}  // namespace espalier::engine
