#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include <algorithm>

#include "engine/catalog.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/fallible_column.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/exec/nearest_rows.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/interruptible.hpp"
#include "engine/keys/ordered_groups.hpp"
#include "engine/parallel.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t rows_searched_at_once = 4096;

// Returns the position of the nearest right row for each left row, or null_row. For columns that the library's as-of
// join cannot read, the right side is sorted by group and value, and searched.
std::vector<std::int64_t> searched_rows(const as_of_node& n, const nearest_side& left, const nearest_side& right) {
  const auto codes = ordered_codes(*right.at, *left.at);
  const ordered_groups ordered(right.equal, codes.first);
  const auto rows = static_cast<std::size_t>(left.rows);
  const auto groups = ordered.groups_of(left.equal, rows);
  const auto& at = codes.second;
  std::vector<std::int64_t> out(rows, null_row);
  // Earlier: the position before the first one that is too late. Later: the first position that is late enough.
  const bool above = n.earlier != n.strict;
  const auto choose = [&](std::size_t row, std::size_t place) {
    if (n.earlier && place > ordered.group_begin(groups[row])) out[row] = ordered.row_at(place - 1);
    if (!n.earlier && place < ordered.group_end(groups[row])) out[row] = ordered.row_at(place);
  };
  const auto search = [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> places(end - begin);
    ordered.first_places(groups, at, begin, above, places);
    for (std::size_t row = begin; row < end; ++row) {
      if (groups[row] != no_group && !at.is_null(row)) choose(row, places[row - begin]);
    }
  };
  parallel_pieces(rows, search, rows_searched_at_once);
  return out;
}

std::vector<std::int64_t> positions_of(const std::vector<row_number>& rows) {
  std::vector<std::int64_t> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out[i] = rows[i] == espalier::no_row ? null_row : std::int64_t{rows[i]};
  }
  return out;
}

// `all_right` returns the rows of the right side, which are read only if an expression fails.
std::vector<std::uint64_t> nearest_by_index(const as_of_node& n, const relation& left, const evaluation& values,
                                            const std::function<relation()>& all_right) {
  std::vector<std::uint64_t> out;
  const interruptible_library_calls interruptible;
  in_fitting_parts(0, left.rows, [&](std::int64_t begin, std::int64_t count) {
    const auto asking = slice_rows(left, begin, count);
    const auto column = [&](const expr_ptr& e) {
      return column_for_lookup(e, n.conditions, asking, all_right, values);
    };
    as_of_question question;
    for (const auto& [mine, theirs] : n.equal) question.equal.push_back(column(mine));
    question.at = column(n.left_at);
    question.strict = n.strict;
    question.earlier = n.earlier;
    const auto found = n.index->as_of(question);
    out.insert(out.end(), found.begin(), found.end());
  });
  return out;
}

// Joins each left row with its nearest row, which is a row number of `right` or null_row.
relation beside_nearest(const as_of_node& n, const relation& left, const relation& right,
                        const std::vector<std::int64_t>& nearest, const evaluation& values) {
  const bool all = std::find(nearest.begin(), nearest.end(), null_row) == nearest.end();
  if (n.tolerance.empty() && (all || n.keep_unmatched)) {
    return beside(left, all ? take_rows(right, nearest) : take_rows_or_null(right, nearest));
  }
  join_pairs pairs;
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    if (nearest[i] == null_row) continue;
    pairs.left.push_back(static_cast<std::int64_t>(i));
    pairs.right.push_back(nearest[i]);
  }
  return finish_join(n.keep_unmatched ? join_type::left : join_type::inner, n.outputs, n.tolerance, left, right,
                     std::move(pairs), values);
}

// Adds the column that tells rows from those that are missing, if a projection above reads it.
void add_mark(const as_of_node& n, relation& right) {
  if (!n.mark) return;
  const auto is_mark = [&](const output_column& output) { return output.id == *n.mark; };
  if (std::ranges::none_of(n.outputs, is_mark)) return;
  right.add(*n.mark, chunked(value_of(arrow::MakeArrayFromScalar(arrow::Int16Scalar(1), right.rows))));
}

relation as_of_without_index(const as_of_node& n, const relation& left, const relation& right,
                             const evaluation& values) {
  nearest_side mine{{}, nullptr, left.rows}, theirs{{}, nullptr, right.rows};
  for (const auto& [of_left, of_right] : n.equal) {
    mine.equal.push_back(column_of_side(of_left, n.conditions, left, right, values));
    theirs.equal.push_back(column_of_side(of_right, n.conditions, right, left, values));
  }
  theirs.at = column_of_side(n.right_at, n.conditions, right, left, values);
  mine.at = column_of_side(n.left_at, n.conditions, left, right, values);
  const auto rows = nearest_rows(mine, theirs, n.earlier, n.strict);
  if (!rows) return beside_nearest(n, left, right, searched_rows(n, mine, theirs), values);
  const bool all = std::ranges::find(*rows, espalier::no_row) == rows->end();
  if (n.tolerance.empty() && (all || n.keep_unmatched)) {
    std::set<column_id> wanted;
    for (const auto& output : n.outputs) wanted.insert(output.id);
    return beside(left, take_numbered(only(right, wanted), *rows, all));
  }
  return beside_nearest(n, left, right, positions_of(*rows), values);
}

}  // namespace

relation executor::as_of_join(as_of_node& n) {
  const auto left = node(*n.inputs[0]);
  if (!n.index) {
    auto right = node(*n.inputs[1]);
    add_mark(n, right);
    return as_of_without_index(n, left, right, values_);
  }
  auto& scan = static_cast<scan_node&>(*n.inputs[1]);
  const auto all_right = [&] { return fetched(scan, n.index->ordered_rows(key_order::ascending)); };
  const auto found = left.rows == 0 ? std::vector<std::uint64_t>() : nearest_by_index(n, left, values_, all_right);
  const auto right_rows = [&](const std::vector<std::uint64_t>& rows) {
    auto out = fetched(scan, rows);
    add_mark(n, out);
    return out;
  };
  scan.statistics.ran = true;
  if (n.tolerance.empty() && std::find(found.begin(), found.end(), no_row) == found.end()) {
    scan.statistics.rows += found.size();
    return beside(left, right_rows(found));
  }
  // Rows are fetched in the order of the left side, so a position is a running count.
  std::vector<std::uint64_t> rows;
  rows.reserve(found.size());
  std::vector<std::int64_t> places(found.size(), null_row);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == no_row) continue;
    places[i] = static_cast<std::int64_t>(rows.size());
    rows.push_back(found[i]);
  }
  scan.statistics.rows += rows.size();
  return beside_nearest(n, left, right_rows(rows), places, values_);
}

}  // namespace espalier::engine
