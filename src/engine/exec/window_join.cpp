// window_join.cpp - aggregates over the right rows in a window of each left row.
//
// The right rows are ordered once by group and value. The window of a left row is a range of positions in that order,
// found by two searches, so a count is a difference and a sum a difference of exact prefix sums (window_sums.hpp). The
// cost does not depend on the length of the windows, and sums have the same bits as those of GROUP BY. An index over
// the groups and the value answers windows as ranges of its keys; the right side is not read then.
#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <type_traits>

#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/fallible_column.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/exec/overlapping_rows.hpp"
#include "engine/exec/window_column.hpp"
#include "engine/exec/window_rows.hpp"
#include "engine/exec/window_sums.hpp"
#include "engine/expr/decimal_double.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/interruptible.hpp"
#include "engine/keys/ordered_groups.hpp"
#include "engine/memory_budget.hpp"
#include "engine/plan/index_aggregate.hpp"
#include "engine/plan/planner.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

using column_ptr = std::shared_ptr<arrow::ChunkedArray>;

constexpr std::size_t windows_at_once = 4096;

// Evaluates an expression for some rows of a relation; the other rows are NULL.
column_ptr column_of_some(const expr_ptr& e, const relation& from, const std::vector<std::uint8_t>& wanted,
                          const evaluation& values) {
  std::vector<std::int64_t> rows, places(wanted.size(), null_row);
  for_each_row(wanted.size(), [&](std::size_t row) {
    if (wanted[row] == 0) return;
    places[row] = static_cast<std::int64_t>(rows.size());
    rows.push_back(static_cast<std::int64_t>(row));
  });
  std::set<column_id> read;
  collect_columns(e, read);
  relation part = take_rows(only(from, read), rows);
  part.rows = static_cast<std::int64_t>(rows.size());
  relation result;
  result.rows = part.rows;
  result.add(0, values.column(e, part));
  return take_rows_or_null(result, places).columns[0];
}

// Evaluates an argument for all rows. If that fails, only the rows that `wanted()` marks are evaluated: those for
// which a join would have evaluated it.
template <class Wanted>
column_ptr column_where(const expr_ptr& e, const relation& from, const evaluation& values, const Wanted& wanted) {
  if (e->kind == op::column) return values.column(e, from);
  try {
    return values.column(e, from);
  } catch (const coded_refusal& problem) {
    if (problem.code().sqlstate.substr(0, 2) != codes::data_exception.sqlstate.substr(0, 2)) throw;
  }
  return column_of_some(e, from, wanted(), values);
}

// The windows of all left rows, as positions in the order of the right rows.
class window_lookup {
 public:
  window_lookup(const window_join_node& n, const relation& left, const relation& right, const evaluation& values)
      : n_(n),
        left_(left),
        right_(right),
        values_(values),
        ordered_(keys_of(right, false), values.column(n.at, right)),
        groups_(ordered_.groups_of(keys_of(left, true), static_cast<std::size_t>(left.rows))),
        order_(ordered_.rows()) {
    frames_.of_input_rows = true;
    find();
  }

  [[nodiscard]] column_ptr result(const aggregate_call& call) {
    const auto values = call.argument ? argument(call.argument) : nullptr;
    if (call.function == "count") return counts_of_frames(values, order_, frames_);
    if (call.function == "min" || call.function == "max") {
      return extreme_of_windows(values, call.function == "min", order_, frames_);
    }
    const bool is_float = values->type()->id() == arrow::Type::FLOAT || values->type()->id() == arrow::Type::DOUBLE;
    if (!is_float) return sums(call.function, call, values);
    const auto& total = float_sums(call, values);
    return call.function == "sum" ? total : quotients(*total, *counts_of_frames(values, order_, frames_));
  }

 private:
  [[nodiscard]] column_ptr sums(const std::string& function, const aggregate_call& of, const column_ptr& values) const {
    window_call call;
    call.function = function;
    call.type = of.type;
    call.position = of.position;
    return sums_of_frames(call, values, order_, {}, frames_);
  }

  // The sums of floats, doubles, are computed once for sum and avg of the same argument.
  const column_ptr& float_sums(const aggregate_call& call, const column_ptr& values) {
    for (const auto& [argument, column] : float_sums_) {
      if (same(*argument, *call.argument)) return column;
    }
    return float_sums_.emplace_back(call.argument, sums("sum", call, values)).second;
  }

  static column_ptr quotients(const arrow::ChunkedArray& sums, const arrow::ChunkedArray& counts) {
    const auto& totals = static_cast<const arrow::DoubleArray&>(*sums.chunk(0));
    const auto& numbers = static_cast<const arrow::Int64Array&>(*counts.chunk(0));
    window_column<double> out(static_cast<std::size_t>(totals.length()));
    parallel_pieces(static_cast<std::size_t>(totals.length()), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto i = static_cast<std::int64_t>(row);
        if (totals.IsNull(i)) {
          out.set_null(row);
        } else {
          out.set(row, totals.Value(i) / static_cast<double>(numbers.Value(i)));
        }
      }
    });
    return std::move(out).finish(arrow::float64());
  }

  [[nodiscard]] std::vector<column_ptr> keys_of(const relation& side, bool is_left) const {
    std::vector<column_ptr> out;
    const auto& other = is_left ? right_ : left_;
    for (const auto& [mine, theirs] : n_.equal) {
      out.push_back(column_of_side(is_left ? mine : theirs, n_.conditions, side, other, values_));
    }
    return out;
  }

  [[nodiscard]] sort_key_column codes_of(const expr_ptr& bound) const {
    if (!bound) return {};
    return ordered_codes(*column_of_side(bound, n_.conditions, left_, right_, values_));
  }

  void find() {
    const auto lo = codes_of(n_.lo), hi = codes_of(n_.hi);
    frames_.begin.resize(groups_.size());
    frames_.end.resize(groups_.size());
    parallel_pieces(
        groups_.size(), [&](std::size_t begin, std::size_t end) { find_some(lo, hi, begin, end); }, windows_at_once);
  }

  void find_some(const sort_key_column& lo, const sort_key_column& hi, std::size_t begin, std::size_t end) {
    std::vector<std::size_t> first(end - begin), last(end - begin);
    const std::span<const std::uint32_t> groups(groups_);
    if (n_.lo) ordered_.first_places(groups, lo, begin, !n_.lo_inclusive, first);
    if (n_.hi) ordered_.first_places(groups, hi, begin, n_.hi_inclusive, last);
    for (std::size_t row = begin; row < end; ++row) {
      const bool is_empty = groups[row] == no_group || (n_.lo && lo.is_null(row)) || (n_.hi && hi.is_null(row));
      if (is_empty) continue;  // [0, 0)
      const auto from = n_.lo ? first[row - begin] : ordered_.group_begin(groups[row]);
      const auto to = n_.hi ? last[row - begin] : ordered_.group_end(groups[row]);
      if (from >= to) continue;
      frames_.begin[row] = static_cast<std::uint32_t>(from);
      frames_.end[row] = static_cast<std::uint32_t>(to);
    }
  }

  [[nodiscard]] column_ptr argument(const expr_ptr& e) const {
    return column_where(e, right_, values_, [&] { return rows_in_windows(); });
  }

  // Marks the right rows that are in a window.
  [[nodiscard]] std::vector<std::uint8_t> rows_in_windows() const {
    std::vector<std::int64_t> starts(order_.rows() + 1);  // windows that begin, less those that end, at a position
    for (std::size_t row = 0; row < frames_.begin.size(); ++row) {
      ++starts[frames_.begin[row]];
      --starts[frames_.end[row]];
    }
    std::vector<std::uint8_t> out(static_cast<std::size_t>(right_.rows));
    std::int64_t open = 0;
    for_each_row(order_.rows(), [&](std::size_t place) {
      open += starts[place];
      out[order_.row(place)] = open > 0 ? 1 : 0;
    });
    return out;
  }

  const window_join_node& n_;
  const relation& left_;
  const relation& right_;
  const evaluation& values_;
  ordered_groups ordered_;
  std::vector<std::uint32_t> groups_;
  window_order order_;
  frame_rows frames_;
  std::vector<std::pair<expr_ptr, column_ptr>> float_sums_;
};

std::vector<column_ptr> windows_by_index(const window_join_node& n, const scan_node& scan, const relation& left,
                                         const evaluation& values, const std::function<relation()>& all_right) {
  std::vector<arrow::ArrayVector> pieces(n.calls.size());
  const interruptible_library_calls interruptible;
  in_fitting_parts(0, left.rows, [&](std::int64_t begin, std::int64_t count) {
    const auto asking = slice_rows(left, begin, count);
    const auto column = [&](const expr_ptr& e) {
      return e ? column_for_lookup(e, n.conditions, asking, all_right, values) : nullptr;
    };
    key_ranges windows{{}, key_condition::between, nullptr, nullptr, n.lo_inclusive, n.hi_inclusive};
    for (const auto& [mine, theirs] : n.equal) windows.equal.push_back(column(mine));
    windows.lo = column(n.lo);
    windows.hi = column(n.hi);
    const auto ranges = n.index->ranges(windows);
    for (std::size_t i = 0; i < n.calls.size(); ++i) {
      check_cancelled();
      const auto& argument = n.calls[i].argument;
      const std::size_t of = argument ? table_column_of(scan, argument).value() : 0;
      pieces[i].push_back(index_aggregate_values(*n.index, n.calls[i], of, ranges));
    }
  });
  std::vector<column_ptr> out;
  for (auto& piece : pieces) out.push_back(value_of(arrow::ChunkedArray::Make(std::move(piece))));
  return out;
}

// The values of a column of integers or decimals; NULL is 0.
template <class Array>
std::vector<int128> integers_of(const arrow::ChunkedArray& column) {
  std::vector<int128> out(static_cast<std::size_t>(column.length()), 0);
  std::size_t at = 0;
  for (const auto& chunk : column.chunks()) {
    const auto& values = static_cast<const Array&>(*chunk);
    for_each_row(static_cast<std::size_t>(values.length()), [&](std::size_t row) {
      const auto i = static_cast<std::int64_t>(row);
      if (values.IsNull(i)) return;
      if constexpr (std::is_same_v<Array, arrow::Decimal128Array>) {
        const arrow::Decimal128 value(values.GetValue(i));
        const auto high = static_cast<uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64;
        out[at + row] = static_cast<int128>(high | value.low_bits());
      } else {
        out[at + row] = values.Value(i);
      }
    });
    at += static_cast<std::size_t>(values.length());
  }
  return out;
}

std::vector<int128> integers_of(const arrow::ChunkedArray& column) {
  switch (column.type()->id()) {
    case arrow::Type::INT8:
      return integers_of<arrow::Int8Array>(column);
    case arrow::Type::INT16:
      return integers_of<arrow::Int16Array>(column);
    case arrow::Type::INT32:
      return integers_of<arrow::Int32Array>(column);
    case arrow::Type::INT64:
      return integers_of<arrow::Int64Array>(column);
    default:
      return integers_of<arrow::Decimal128Array>(column);
  }
}

// The number of values of the spans of each window that are not NULL.
std::vector<std::int64_t> counts_of_spans(overlapping_rows& spans, const arrow::ChunkedArray* values) {
  if (values == nullptr || values->null_count() == 0) return {spans.counts().begin(), spans.counts().end()};
  std::vector<std::int64_t> valid(static_cast<std::size_t>(values->length()));
  std::size_t at = 0;
  for (const auto& chunk : values->chunks()) {
    for_each_row(static_cast<std::size_t>(chunk->length()),
                 [&](std::size_t row) { valid[at + row] = chunk->IsValid(static_cast<std::int64_t>(row)) ? 1 : 0; });
    at += static_cast<std::size_t>(chunk->length());
  }
  return spans.sums<std::int64_t>(valid);
}

template <class T, class Value>
column_ptr results_where_counted(const std::vector<std::int64_t>& counts, const column_type& type, const Value& value) {
  window_column<T> out(counts.size());
  parallel_pieces(counts.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (counts[row] == 0) {
        out.set_null(row);
      } else {
        out.set(row, value(row));
      }
    }
  });
  return std::move(out).finish(arrow_type(type));
}

// Sums are exact: of integers, and of decimals of so few digits that no sum has more than 38.
column_ptr aggregate_of_spans(const aggregate_call& call, overlapping_rows& spans, const column_ptr& values) {
  const auto counts = counts_of_spans(spans, values.get());
  if (call.function == "count") {
    window_column<std::int64_t> out(counts.size());
    for_each_row(counts.size(), [&](std::size_t row) { out.set(row, counts[row]); });
    return std::move(out).finish(arrow::int64());
  }
  const auto numbers = integers_of(*values);
  const auto sums = spans.sums<int128>(numbers);
  if (call.function == "avg") {
    const bool is_decimal = values->type()->id() == arrow::Type::DECIMAL128;
    const int scale = is_decimal ? static_cast<const arrow::Decimal128Type&>(*values->type()).scale() : 0;
    return results_where_counted<double>(counts, call.type, [&](std::size_t row) {
      const arrow::Decimal128 sum(static_cast<std::int64_t>(sums[row] >> 64), static_cast<std::uint64_t>(sums[row]));
      return decimal_average(sum, scale, counts[row]);
    });
  }
  if (call.type.id == type_id::int64) {
    return results_where_counted<std::int64_t>(counts, call.type,
                                               [&](std::size_t row) { return static_cast<std::int64_t>(sums[row]); });
  }
  return results_where_counted<int128>(counts, call.type, [&](std::size_t row) { return sums[row]; });
}

// The aggregates over the spans that overlap each window.
std::vector<column_ptr> aggregates_of_spans(const window_join_node& n, const relation& left, const relation& right,
                                            const evaluation& values) {
  span_columns windows, spans;
  for (const auto& [mine, theirs] : n.equal) {
    windows.equal.push_back(column_of_side(mine, n.conditions, left, right, values));
    spans.equal.push_back(column_of_side(theirs, n.conditions, right, left, values));
  }
  spans.start = values.column(n.at, right);
  spans.finish = values.column(n.finish, right);
  windows.start = column_of_side(n.lo, n.conditions, left, right, values);
  windows.finish = column_of_side(n.hi, n.conditions, left, right, values);
  overlapping_rows overlaps(windows, spans, {n.hi_inclusive, n.lo_inclusive}, overlap_use::aggregates);
  std::vector<column_ptr> out;
  for (const auto& call : n.calls) {
    out.push_back(aggregate_of_spans(call, overlaps, call.argument ? values.column(call.argument, right) : nullptr));
  }
  return out;
}

column_ptr empty_result(const aggregate_call& call, std::int64_t rows) {
  if (call.function != "count") return chunked(value_of(arrow::MakeArrayOfNull(arrow_type(call.type), rows)));
  return chunked(value_of(arrow::MakeArrayFromScalar(arrow::Int64Scalar(0), rows)));
}

}  // namespace

relation executor::window_join(window_join_node& n) {
  auto out = node(*n.inputs[0]);
  const auto add_empty = [&] {
    for (const auto& call : n.calls) out.add(call.output, empty_result(call, out.rows));
    return out;
  };
  if (n.index) {
    if (out.rows == 0) return add_empty();
    auto& scan = static_cast<scan_node&>(*n.inputs[1]);
    // Ends and places of windows in the index, and the values of one call.
    const memory_claim claim(static_cast<std::size_t>(out.rows) * 64);
    const auto all_right = [&] { return fetched(scan, n.index->ordered_rows(key_order::ascending)); };
    const auto results = windows_by_index(n, scan, out, values_, all_right);
    for (std::size_t i = 0; i < results.size(); ++i) out.add(n.calls[i].output, results[i]);
    scan.statistics.ran = true;
    return out;
  }
  const auto right = node(*n.inputs[1]);
  check_row_numbers(static_cast<std::size_t>(out.rows));
  check_row_numbers(static_cast<std::size_t>(right.rows));
  if (out.rows == 0 || right.rows == 0) return add_empty();
  if (n.finish) {
    // As an overlap join; prefix sums in two orders and values of a call, and the sums and counts of the left side.
    const memory_claim claim(static_cast<std::size_t>(right.rows) * 128 + static_cast<std::size_t>(out.rows) * 88);
    const auto results = aggregates_of_spans(n, out, right, values_);
    for (std::size_t i = 0; i < results.size(); ++i) out.add(n.calls[i].output, results[i]);
    return out;
  }
  // Words, rows and groups of the right side and prefix sums of a call; groups, ends and windows of the left side.
  const memory_claim claim(static_cast<std::size_t>(right.rows) * 44 + static_cast<std::size_t>(out.rows) * 28);
  window_lookup lookup(n, out, right, values_);
  std::vector<column_ptr> results;
  for (const auto& call : n.calls) results.push_back(lookup.result(call));
  for (std::size_t i = 0; i < results.size(); ++i) out.add(n.calls[i].output, std::move(results[i]));
  return out;
}

}  // namespace espalier::engine
