#include "engine/exec/relation.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>

#include <algorithm>

#include "engine/exec/arrow_result.hpp"
#include "engine/parallel.hpp"
#include "engine/sql/error.hpp"
#include "engine/stop.hpp"
#include "engine/table/gather.hpp"

namespace espalier::engine {
namespace {

template <class Columns>
const typename Columns::value_type& column_of(const std::vector<column_id>& ids, const Columns& columns, column_id id) {
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) refuse(-1, "The engine lost a column of this statement; please report it.");
  return columns[static_cast<std::size_t>(found - ids.begin())];
}

std::shared_ptr<arrow::Array> row_numbers(std::span<const std::int64_t> rows, bool with_nulls) {
  const auto n = static_cast<std::int64_t>(rows.size());
  auto data = std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(rows.data()), n * 8);
  if (!with_nulls) return std::make_shared<arrow::Int64Array>(n, std::move(data));
  auto valid = std::shared_ptr<arrow::Buffer>(value_of(arrow::AllocateBitmap(n)));
  std::uint8_t* bits = valid->mutable_data();
  std::fill_n(bits, valid->size(), std::uint8_t{0});
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_valid = rows[static_cast<std::size_t>(i)] != null_row;
    bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (is_valid ? 1U << (i % 8) : 0U));
    nulls += is_valid ? 0 : 1;
  }
  return std::make_shared<arrow::Int64Array>(n, std::move(data), std::move(valid), nulls);
}

// Few rows of many chunks, each where it is; null where they are too much text for one array.
std::shared_ptr<arrow::Array> gathered_rows(const arrow::ChunkedArray& column, std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (const auto& chunk : column.chunks()) {
    starts.push_back(start);
    start += chunk->length();
  }
  std::vector<row_place> places(rows.size());
  for_each_row(rows.size(), [&](std::size_t i) {
    const auto chunk = std::upper_bound(starts.begin(), starts.end(), rows[i]) - starts.begin() - 1;
    places[i] = {static_cast<std::uint64_t>(rows[i] - starts[static_cast<std::size_t>(chunk)]),
                 static_cast<std::uint32_t>(chunk)};
  });
  return gathered(column, places);
}

std::shared_ptr<arrow::ChunkedArray> take_column(const std::shared_ptr<arrow::ChunkedArray>& column,
                                                 std::span<const std::int64_t> rows, bool with_nulls) {
  constexpr std::int64_t worth_joining = 8;
  const bool few = static_cast<std::int64_t>(rows.size()) * worth_joining < column->length();
  if (few && !with_nulls && column->num_chunks() > 1 && !rows.empty()) {
    if (auto taken = gathered_rows(*column, rows)) return chunked(std::move(taken));
  }
  // Pieces in parallel; a chunked column is joined first, since Arrow's take of many chunks is slow.
  const auto values = flat(column);
  arrow::ArrayVector pieces(std::max<std::size_t>(1, batch_count(static_cast<std::int64_t>(rows.size()))));
  const auto options = arrow::compute::TakeOptions::NoBoundsCheck();
  if (rows.empty()) return chunked(values->Slice(0, 0));
  for_each_batch(static_cast<std::int64_t>(rows.size()), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    const auto piece = rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    if (!with_nulls) pieces[i] = gathered(values, piece);
    if (!pieces[i]) pieces[i] = value_of(arrow::compute::Take(*values, *row_numbers(piece, with_nulls), options));
  });
  return std::make_shared<arrow::ChunkedArray>(std::move(pieces), values->type());
}

// All rows as they are: sorted ones, and those of a join in which each meets one.
bool is_every_row(const relation& from, std::span<const std::int64_t> rows) {
  if (static_cast<std::int64_t>(rows.size()) != from.rows) return false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

relation take_all(const relation& from, std::span<const std::int64_t> rows, bool with_nulls) {
  if (is_every_row(from, rows)) return from;
  relation out;
  out.rows = static_cast<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    out.add(from.ids[i], take_column(from.columns[i], rows, with_nulls));
  }
  return out;
}

}  // namespace

void relation::add(column_id id, std::shared_ptr<arrow::ChunkedArray> column) {
  ids.push_back(id);
  columns.push_back(std::move(column));
}

const std::shared_ptr<arrow::ChunkedArray>& relation::column(column_id id) const { return column_of(ids, columns, id); }

void batch::add(column_id id, std::shared_ptr<arrow::Array> column) {
  ids.push_back(id);
  columns.push_back(std::move(column));
}

const std::shared_ptr<arrow::Array>& batch::column(column_id id) const { return column_of(ids, columns, id); }

batch slice(const relation& from, std::int64_t begin, std::int64_t count, const std::set<column_id>& wanted) {
  batch out;
  out.rows = count;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    if (!wanted.contains(from.ids[i])) continue;
    out.ids.push_back(from.ids[i]);
    const auto& column = from.columns[i];
    out.columns.push_back(column->num_chunks() == 1 ? column->chunk(0)->Slice(begin, count)
                                                    : flat(column->Slice(begin, count)));
  }
  return out;
}

std::size_t batch_count(std::int64_t rows) { return static_cast<std::size_t>((rows + batch_rows - 1) / batch_rows); }

void for_each_batch(std::int64_t rows, const std::function<void(std::size_t, std::int64_t, std::int64_t)>& body) {
  const auto count = batch_count(rows);
  parallel_for(count, [&](std::size_t i) {
    const auto begin = static_cast<std::int64_t>(i) * batch_rows;
    body(i, begin, std::min(batch_rows, rows - begin));
  });
}

std::shared_ptr<arrow::Array> flat(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (column->num_chunks() == 1) return column->chunk(0);
  if (column->num_chunks() == 0) return value_of(arrow::MakeEmptyArray(column->type()));
  return value_of(arrow::Concatenate(column->chunks()));
}

std::shared_ptr<arrow::ChunkedArray> chunked(std::shared_ptr<arrow::Array> array) {
  return std::make_shared<arrow::ChunkedArray>(std::move(array));
}

relation take_rows(const relation& from, std::span<const std::int64_t> rows) { return take_all(from, rows, false); }

relation take_rows_or_null(const relation& from, std::span<const std::int64_t> rows) {
  return take_all(from, rows, true);
}

relation slice_rows(const relation& from, std::int64_t begin, std::int64_t count) {
  relation out;
  begin = std::min(begin, from.rows);
  out.rows = std::min(count, from.rows - begin);
  for (std::size_t i = 0; i < from.ids.size(); ++i) out.add(from.ids[i], from.columns[i]->Slice(begin, out.rows));
  return out;
}

relation beside(relation left, relation right) {
  for (std::size_t i = 0; i < right.ids.size(); ++i) left.add(right.ids[i], std::move(right.columns[i]));
  return left;
}

relation stacked(const std::vector<relation>& parts) {
  relation out = parts.front();
  for (std::size_t c = 0; c < out.columns.size(); ++c) {
    arrow::ArrayVector chunks;
    for (const auto& part : parts) {
      const auto& more = part.columns[c]->chunks();
      chunks.insert(chunks.end(), more.begin(), more.end());
    }
    out.columns[c] = std::make_shared<arrow::ChunkedArray>(std::move(chunks), out.columns[c]->type());
  }
  out.rows = 0;
  for (const auto& part : parts) out.rows += part.rows;
  return out;
}

std::uint64_t bytes_of(const relation& r) {
  std::uint64_t sum = 0;
  for (const auto& column : r.columns) {
    const auto size = arrow::util::ReferencedBufferSize(*column);
    if (size.ok()) sum += static_cast<std::uint64_t>(*size);
  }
  return sum;
}

}  // namespace espalier::engine
