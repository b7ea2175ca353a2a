#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include <algorithm>
#include <set>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/fallible_column.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/exec/nearest_rows.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/interruptible.hpp"
#include "engine/keys/ordered_groups.hpp"
#include "engine/keys/sort.hpp"
#include "engine/memory_budget.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"
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

// The same for the nearest row on either side; of two at the same distance the one with the lesser value.
std::vector<std::int64_t> searched_nearest(const nearest_side& left, const nearest_side& right) {
  const auto codes = ordered_codes(*right.at, *left.at);
  const ordered_groups ordered(right.equal, codes.first);
  const auto rows = static_cast<std::size_t>(left.rows);
  const auto groups = ordered.groups_of(left.equal, rows);
  const auto& at = codes.second;
  const auto word_at = [&](std::size_t place) {
    return codes.first.words[static_cast<std::size_t>(ordered.row_at(place))];
  };
  std::vector<std::int64_t> out(rows, null_row);
  parallel_pieces(
      rows,
      [&](std::size_t begin, std::size_t end) {
        std::vector<std::size_t> places(end - begin);
        ordered.first_places(groups, at, begin, true, places);
        for (std::size_t row = begin; row < end; ++row) {
          if (groups[row] == no_group || at.is_null(row)) continue;
          const auto place = places[row - begin];
          const bool has_earlier = place > ordered.group_begin(groups[row]);
          const bool has_later = place < ordered.group_end(groups[row]);
          if (!has_earlier && !has_later) continue;
          const auto word = at.words[row];
          const bool is_earlier = has_earlier && (!has_later || word - word_at(place - 1) <= word_at(place) - word);
          out[row] = ordered.row_at(is_earlier ? place - 1 : place);
        }
      },
      rows_searched_at_once);
  return out;
}

// The rows of the least and of the greatest value of a group, or null_row.
struct group_extremes {
  std::int64_t least = null_row, greatest = null_row;

  void add(const sort_key_column& codes, std::size_t row) {
    if (codes.is_null(row)) return;
    const auto word_of = [&](std::int64_t of) { return codes.words[static_cast<std::size_t>(of)]; };
    if (least == null_row || codes.words[row] < word_of(least)) least = static_cast<std::int64_t>(row);
    if (greatest == null_row || codes.words[row] > word_of(greatest)) greatest = static_cast<std::int64_t>(row);
  }
};

// Where the value of the left row or all values of its group are NULL, so are all distances, and any row of the group
// is the nearest one. A second key, which can only be the value of the right side, asks for the least one.
template <class Row>
void use_least_row(const nearest_side& left, const nearest_side& right, Row none, std::vector<Row>& rows) {
  if (right.rows == 0 || std::ranges::find(rows, none) == rows.end()) return;
  const auto codes = ordered_codes(*right.at, *left.at).first;
  if (left.equal.empty()) {
    group_extremes all;
    for_each_row(codes.words.size(), [&](std::size_t row) { all.add(codes, row); });
    std::ranges::replace(rows, none, static_cast<Row>(all.least == null_row ? 0 : all.least));
    return;
  }
  const key_table table(right.equal);
  std::vector<group_extremes> of_groups(table.groups().count());
  for_each_row(codes.words.size(), [&](std::size_t row) {
    if (table.groups().group(row) != no_group) of_groups[table.groups().group(row)].add(codes, row);
  });
  const auto groups = table.find(left.equal);
  for_each_row(rows.size(), [&](std::size_t row) {
    const auto group = groups[row];
    if (rows[row] != none || group == no_group) return;
    const auto least = of_groups[group].least;
    rows[row] = least == null_row ? static_cast<Row>(table.groups().first_row[group]) : static_cast<Row>(least);
  });
}

// A distance may overflow, which is an error for each pair of rows with equal keys. A difference grows with one value
// and shrinks with the other, so it overflows for some pair only if it does for a pair of extreme values.
void check_distances(const expr_ptr& distance, const relation& left, const relation& right, const nearest_side& mine,
                     const nearest_side& theirs, const evaluation& values) {
  const auto [their_codes, my_codes] = ordered_codes(*theirs.at, *mine.at);
  const memory_claim claim(static_cast<std::size_t>(left.rows + right.rows) * 8);
  std::set<column_id> read;
  collect_columns(distance, read);
  const auto check = [&](const std::vector<std::int64_t>& left_rows, const std::vector<std::int64_t>& right_rows) {
    (void)values.column(distance,
                        beside(take_rows(only(left, read), left_rows), take_rows(only(right, read), right_rows)));
  };
  group_extremes of_left, of_right;
  for_each_row(my_codes.words.size(), [&](std::size_t row) { of_left.add(my_codes, row); });
  for_each_row(their_codes.words.size(), [&](std::size_t row) { of_right.add(their_codes, row); });
  if (of_left.least == null_row || of_right.least == null_row) return;
  try {
    return check({of_left.least, of_left.least, of_left.greatest, of_left.greatest},
                 {of_right.least, of_right.greatest, of_right.least, of_right.greatest});
  } catch (const located_error& problem) {
    if (!is_about_values(problem)) throw;
    if (theirs.equal.empty()) throw;  // all pairs are compared
  }
  const key_table table(theirs.equal);
  std::vector<group_extremes> of_groups(table.groups().count());
  for_each_row(their_codes.words.size(), [&](std::size_t row) {
    if (table.groups().group(row) != no_group) of_groups[table.groups().group(row)].add(their_codes, row);
  });
  const auto groups = table.find(mine.equal);
  in_blocks(0, groups.size(), [&](std::size_t begin, std::size_t end) {
    std::vector<std::int64_t> left_rows, right_rows;
    for (std::size_t row = begin; row < end; ++row) {
      if (groups[row] == no_group || my_codes.is_null(row) || of_groups[groups[row]].least == null_row) continue;
      left_rows.insert(left_rows.end(), 2, static_cast<std::int64_t>(row));
      right_rows.push_back(of_groups[groups[row]].least);
      right_rows.push_back(of_groups[groups[row]].greatest);
    }
    if (!left_rows.empty()) check(left_rows, right_rows);
  });
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

// Returns the rows of the right side by value and, where that is equal, such that the row which the tie keys put first
// is the nearest one: the last row of equal ones backward, the first one forward.
std::vector<std::int64_t> rows_in_tie_order(const as_of_node& n, const nearest_side& side, const relation& right,
                                            const evaluation& values) {
  const memory_claim claim(static_cast<std::size_t>(right.rows) * 16 * (n.ties.size() + 2));
  std::vector<sort_column> keys{{ordered_codes(*side.at), false, false}};
  for (const auto& key : n.ties) {
    keys.push_back(
        {ordered_codes(*values.column(key.value, right)), key.descending != n.earlier, key.nulls_first != n.earlier});
  }
  return sorted_rows(keys, static_cast<std::size_t>(right.rows), no_limit);
}

nearest_side taken_side(const nearest_side& side, const std::vector<std::int64_t>& rows) {
  nearest_side out{{}, nullptr, side.rows};
  const auto taken = [&](const std::shared_ptr<arrow::ChunkedArray>& column) {
    relation one;
    one.rows = side.rows;
    one.add(0, column);
    return take_rows(one, rows).columns[0];
  };
  for (const auto& column : side.equal) out.equal.push_back(taken(column));
  out.at = taken(side.at);
  return out;
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
  std::vector<std::int64_t> order;
  if (!n.ties.empty()) {
    order = rows_in_tie_order(n, theirs, right, values);
    theirs = taken_side(theirs, order);
  }
  if (n.distance) check_distances(n.distance, left, right, mine, theirs, values);
  const auto direction = n.distance  ? asof_direction::nearest
                         : n.earlier ? asof_direction::backward
                                     : asof_direction::forward;
  auto rows = nearest_rows(mine, theirs, direction, n.strict);
  if (!rows) {
    auto places = n.distance ? searched_nearest(mine, theirs) : searched_rows(n, mine, theirs);
    if (n.distance) use_least_row(mine, theirs, null_row, places);
    if (!n.ties.empty()) {
      for_each_row(places.size(), [&](std::size_t row) {
        if (places[row] != null_row) places[row] = order[static_cast<std::size_t>(places[row])];
      });
    }
    return beside_nearest(n, left, right, places, values);
  }
  if (!n.ties.empty()) {
    for_each_row(rows->size(), [&](std::size_t row) {
      auto& found = (*rows)[row];
      if (found != espalier::no_row) found = static_cast<row_number>(order[found]);
    });
  }
  if (n.distance) use_least_row(mine, theirs, espalier::no_row, *rows);
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
