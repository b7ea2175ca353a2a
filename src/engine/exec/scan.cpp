#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/parallel_sort.hpp"
#include "engine/plan/index_aggregate.hpp"
#include "engine/plan/index_shape.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr column_id live_column = 0;  // column ids of a statement start at 1

std::shared_ptr<arrow::ChunkedArray> row_id_column(const std::vector<std::uint64_t>& rows) {
  arrow::Int64Builder builder;
  check(builder.Reserve(static_cast<std::int64_t>(rows.size())));
  for (const auto row : rows) builder.UnsafeAppend(static_cast<std::int64_t>(row));
  return chunked(value_of(builder.Finish()));
}

std::set<column_id> read_for_conditions(const scan_node& n) {
  std::set<column_id> out;
  for (const auto& output : n.outputs) {
    if (output.for_conditions) out.insert(output.id);
  }
  return out;
}

}  // namespace

relation executor::scan(scan_node& n) {
  if (n.ordered) return ordered_scan(n);
  return n.ranges.empty() ? full_scan(n) : index_scan(n);
}

scan_source executor::source_of(scan_node& n) {
  const auto& table = *n.table->version;
  scan_source out;
  out.rows.rows = static_cast<std::int64_t>(table.rows());
  for (std::size_t i = 0; i < n.columns.size(); ++i) out.rows.add(n.outputs[i].id, table.data(n.columns[i]));
  out.dropped = read_for_conditions(n);
  out.dropped.insert(live_column);
  if (const auto live = table.live_mask()) {
    out.rows.add(live_column, chunked(live));
    out.conditions.push_back(make_column(live_column, {type_id::boolean}));
  }
  out.conditions.insert(out.conditions.end(), n.conditions.begin(), n.conditions.end());
  return out;
}

relation executor::full_scan(scan_node& n) {
  const auto source = source_of(n);
  n.statistics.bytes += bytes_of(source.rows);
  return values_.filter(source.conditions, source.rows, source.dropped,
                        n.with_row_ids ? std::optional(n.outputs.back().id) : std::nullopt);
}

relation executor::fetched(scan_node& n, const std::vector<std::uint64_t>& rows) {
  std::vector<std::size_t> all(n.columns.size());
  std::iota(all.begin(), all.end(), 0);
  return fetched_columns(n, all, rows);
}

// Returns the rows of ranges of one index, with the columns that are output or that conditions outside the ranges read.
relation executor::found_rows(scan_node& n, const range_batch& ranges, const row_options& options) {
  const auto& index = *n.ranges[0].index;
  if (!n.index_only) return wanted_columns(n, index.rows(ranges, options).rows);
  const auto keys = index.keys(ranges, options);
  const bool fits = std::find(keys.begin(), keys.end(), nullptr) == keys.end();
  if (!fits) return wanted_columns(n, index.rows(ranges, options).rows);
  relation out;
  out.rows = keys[0]->length();
  for (std::size_t i = 0; i < n.columns.size(); ++i) {
    const auto& columns = index.spec().columns;
    const auto at = std::find(columns.begin(), columns.end(), n.columns[i]);
    if (at == columns.end()) continue;  // read only by conditions that the range answers
    out.add(n.outputs[i].id, chunked(keys[static_cast<std::size_t>(at - columns.begin())]));
  }
  n.statistics.bytes += bytes_of(out);
  return out;
}

relation executor::wanted_columns(scan_node& n, const std::vector<std::uint64_t>& rows) {
  std::set<column_id> read;
  for (const auto& condition : n.residual) collect_columns(condition, read);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < n.columns.size(); ++i) {
    if (!n.outputs[i].for_conditions || read.contains(n.outputs[i].id)) places.push_back(i);
  }
  return fetched_columns(n, places, rows);
}

relation executor::fetched_columns(scan_node& n, const std::vector<std::size_t>& places,
                                   const std::vector<std::uint64_t>& rows) {
  std::vector<std::size_t> columns;
  for (const auto place : places) columns.push_back(n.columns[place]);
  const auto taken = n.table->version->take(columns, rows);
  relation out;
  out.rows = static_cast<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    out.add(n.outputs[places[i]].id, taken->column(static_cast<int>(i)));
  }
  if (n.with_row_ids) out.add(n.outputs.back().id, row_id_column(rows));
  n.statistics.bytes += bytes_of(out) + rows.size() * sizeof(std::uint64_t);
  return out;
}

relation executor::index_scan(scan_node& n) {
  const auto dropped = read_for_conditions(n);
  if (n.ranges.size() == 1) {
    const auto ranges = n.ranges[0].index->ranges(shape_of(n.ranges[0], values_));
    return values_.filter(n.residual, found_rows(n, ranges, {}), dropped);
  }
  std::vector<std::uint64_t> rows;
  for (std::size_t i = 0; i < n.ranges.size(); ++i) {
    const auto& index = *n.ranges[i].index;
    auto found = index.rows(index.ranges(shape_of(n.ranges[i], values_))).rows;
    n.statistics.bytes += found.size() * sizeof(std::uint64_t);
    parallel_sort(found.begin(), found.end(), std::ssize(found), std::less<>());
    if (i == 0) {
      rows = std::move(found);
      continue;
    }
    std::vector<std::uint64_t> both;
    std::set_intersection(rows.begin(), rows.end(), found.begin(), found.end(), std::back_inserter(both));
    rows = std::move(both);
  }
  return values_.filter(n.residual, wanted_columns(n, rows), dropped);
}

// Reads rows in index order until enough of them pass the conditions; each step reads more rows than the last.
relation executor::ordered_scan(scan_node& n) {
  const auto& range = n.ranges.at(0);
  const auto ranges = range.index->ranges(shape_of(range, values_));
  const auto dropped = read_for_conditions(n);
  const std::uint64_t all = range.index->rows_indexed() + 1;  // more than all rows
  const std::uint64_t wanted = std::min(n.limit, all);
  std::uint64_t ask = n.residual.empty() ? wanted : std::min(all, std::max<std::uint64_t>(wanted * 4, 1024));
  while (true) {
    const auto found = found_rows(n, ranges, {.limit = ask == all ? no_limit : ask, .order = n.order});
    const auto out = values_.filter(n.residual, found, dropped);
    const auto passed = static_cast<std::uint64_t>(out.rows);
    if (static_cast<std::uint64_t>(found.rows) < ask || passed >= wanted) {
      return slice_rows(out, 0, static_cast<std::int64_t>(std::min(wanted, passed)));
    }
    ask = std::min(all, ask * 8);
  }
}

relation executor::index_aggregate(index_aggregate_node& n) {
  const auto& index = *n.range.index;
  const auto ranges = index.ranges(shape_of(n.range, values_));
  relation out;
  out.rows = 1;
  for (std::size_t i = 0; i < n.calls.size(); ++i) {
    const auto values = index_aggregate_values(index, n.calls[i], n.columns[i], ranges);
    out.add(n.calls[i].output, chunked(values));
  }
  n.statistics.bytes += n.calls.size() * sizeof(std::uint64_t) * 2;
  return out;
}

}  // namespace espalier::engine
