#include "engine/exec/window_ranks.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include "engine/error.hpp"
#include "engine/exec/window_column.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Stores value(position, part) of every row.
template <class T, class Value>
std::shared_ptr<arrow::ChunkedArray> numbered(const window_order& order, const window_runs& runs,
                                              std::shared_ptr<arrow::DataType> type, const Value& value) {
  window_column<T> out(order.rows());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    for_each_row(part.begin, part.end, [&](std::size_t i) { out.set(order.row(i), value(i, part)); });
  });
  return std::move(out).finish(std::move(type));
}

// Stores value(run of peers, first run of the partition, part) of every row.
template <class T, class Value>
std::shared_ptr<arrow::ChunkedArray> ranked(const window_order& order, const window_runs& runs,
                                            std::shared_ptr<arrow::DataType> type, const Value& value) {
  window_column<T> out(order.rows());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    const auto first = run_cursor(runs.peers, part.first).at(part.first);
    run_cursor peers(runs.peers, part.begin);
    for_each_row(part.begin, part.end, [&](std::size_t i) { out.set(order.row(i), value(peers.at(i), first, part)); });
  });
  return std::move(out).finish(std::move(type));
}

// The first buckets have one row more if the rows do not divide evenly.
std::size_t bucket_of(std::size_t place, std::size_t rows, std::size_t buckets) {
  const auto size = rows / buckets, larger = rows % buckets;
  const auto in_larger = larger * (size + 1);
  return place < in_larger ? place / (size + 1) : larger + (place - in_larger) / size;
}

std::shared_ptr<arrow::ChunkedArray> ntile(const std::shared_ptr<arrow::ChunkedArray>& argument,
                                           const window_order& order, const window_runs& runs, int position) {
  const auto array = flat(argument);
  const auto& counts = static_cast<const arrow::Int64Array&>(*array);
  window_column<std::int32_t> out(order.rows());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    const auto first = static_cast<std::int64_t>(order.row(part.first));
    if (counts.IsNull(first)) {
      for_each_row(part.begin, part.end, [&](std::size_t i) { out.set_null(order.row(i)); });
      return;
    }
    if (counts.Value(first) <= 0) {
      throw_sql_error(codes::invalid_ntile_argument, position, "The argument of ntile has to be greater than zero.");
    }
    const auto buckets = static_cast<std::size_t>(counts.Value(first));
    for_each_row(part.begin, part.end, [&](std::size_t i) {
      const auto bucket = bucket_of(i - part.first, part.last - part.first, buckets);
      out.set(order.row(i), static_cast<std::int32_t>(bucket + 1));
    });
  });
  return std::move(out).finish(arrow::int32());
}

}  // namespace

bool is_rank_function(const std::string& function) {
  return function == "row_number" || function.ends_with("rank") || function == "cume_dist" || function == "ntile";
}

std::shared_ptr<arrow::ChunkedArray> rank_values(const std::string& function,
                                                 const std::shared_ptr<arrow::ChunkedArray>& buckets,
                                                 const window_order& order, const window_runs& runs, int position) {
  const auto& peers = runs.peers;
  if (function == "ntile") return ntile(buckets, order, runs, position);
  if (function == "row_number") {
    return numbered<std::int64_t>(order, runs, arrow::int64(), [](std::size_t i, const window_part& part) {
      return static_cast<std::int64_t>(i - part.first + 1);
    });
  }
  if (function == "rank") {
    return ranked<std::int64_t>(order, runs, arrow::int64(),
                                [&](std::size_t run, std::size_t, const window_part& part) {
                                  return static_cast<std::int64_t>(peers[run] - part.first + 1);
                                });
  }
  if (function == "dense_rank") {
    return ranked<std::int64_t>(order, runs, arrow::int64(),
                                [](std::size_t run, std::size_t first, const window_part&) {
                                  return static_cast<std::int64_t>(run - first + 1);
                                });
  }
  const auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  if (function == "percent_rank") {
    return ranked<double>(order, runs, arrow::float64(), [&](std::size_t run, std::size_t, const window_part& part) {
      return share(peers[run] - part.first, part.last - part.first - 1);
    });
  }
  return ranked<double>(order, runs, arrow::float64(), [&](std::size_t run, std::size_t, const window_part& part) {
    return share(peers[run + 1] - part.first, part.last - part.first);
  });
}

}  // namespace espalier::engine
