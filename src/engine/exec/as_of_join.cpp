#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "engine/catalog.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/pairs.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

// For each left row the nearest place, or null_row.
std::vector<std::int64_t> nearest_rows(const as_of_node& n, const relation& left, const relation& right,
                                       const evaluation& values) {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> left_keys, right_keys;
  for (const auto& [mine, theirs] : n.equal) {
    left_keys.push_back(values.column(mine, left));
    right_keys.push_back(values.column(theirs, right));
  }
  const ordered_groups ordered(right_keys, values.column(n.right_at, right));
  const auto rows = static_cast<std::size_t>(left.rows);
  const auto groups = ordered.groups_of(left_keys, rows);
  const auto at = ordered_codes(*values.column(n.left_at, left));
  std::vector<std::int64_t> out(rows, null_row);
  // Earlier: the last place below the first one that is too late. Later: the first one that is late enough.
  const bool above = n.earlier != n.strict;
  const auto choose = [&](std::size_t row, std::size_t place) {
    if (n.earlier && place > ordered.group_begin(groups[row])) out[row] = ordered.row_at(place - 1);
    if (!n.earlier && place < ordered.group_end(groups[row])) out[row] = ordered.row_at(place);
  };
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, 4096), [&](const auto& piece) {
    std::vector<std::size_t> places(piece.size());
    if (ordered.has_many_places()) {
      ordered.first_places(std::span(at.words).subspan(piece.begin(), piece.size()), above, places);
    }
    for (std::size_t row = piece.begin(); row < piece.end(); ++row) {
      if (groups[row] == no_group || at.is_null(row)) continue;
      const auto high = at.high.empty() ? 0 : at.high[row];
      choose(row, ordered.has_many_places() ? places[row - piece.begin()]
                                            : ordered.first_place(groups[row], high, at.words[row], above));
    }
  });
  return out;
}

std::vector<std::uint64_t> nearest_by_index(const as_of_node& n, const relation& left, const evaluation& values) {
  as_of_question question;
  for (const auto& [mine, theirs] : n.equal) question.equal.push_back(flat(values.column(mine, left)));
  question.at = flat(values.column(n.left_at, left));
  question.strict = n.strict;
  question.earlier = n.earlier;
  return n.index->as_of(question);
}

}  // namespace

relation executor::as_of_join(as_of_node& n) {
  const auto left = node(*n.inputs[0]);
  row_pairs pairs;
  relation right;
  if (n.index) {
    auto& scan = static_cast<scan_node&>(*n.inputs[1]);
    const auto found = left.rows == 0 ? std::vector<std::uint64_t>() : nearest_by_index(n, left, values_);
    std::vector<std::uint64_t> rows;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == no_row) continue;
      pairs.left.push_back(static_cast<std::int64_t>(i));
      pairs.right.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(found[i]);
    }
    right = fetched(scan, rows);
    scan.statistics.ran = true;
    scan.statistics.rows += rows.size();
  } else {
    right = node(*n.inputs[1]);
    const auto found = nearest_rows(n, left, right, values_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == null_row) continue;
      pairs.left.push_back(static_cast<std::int64_t>(i));
      pairs.right.push_back(found[i]);
    }
  }
  return finish_join(n.keep_unmatched ? join_type::left : join_type::inner, n.tolerance, left, right, std::move(pairs),
                     values_);
}

}  // namespace espalier::engine
