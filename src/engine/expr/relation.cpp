#include "engine/expr/relation.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <iterator>

#include "engine/error.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/parallel.hpp"
#include "engine/table/gather.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

template <class Columns>
const typename Columns::value_type& column_of(const std::vector<column_id>& ids, const Columns& columns, column_id id) {
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) throw_sql_error(-1, "The engine lost a column of this statement; please report it.");
  return columns[static_cast<std::size_t>(found - ids.begin())];
}

// The number is NULL for null_row.
std::shared_ptr<arrow::Array> row_numbers(std::span<const std::int64_t> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  auto data = std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(rows.data()), n * 8);
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

// Gathers the values at these positions into as many arrays as their text needs. `gather` returns null for too many
// positions.
template <class Place, class Gather>
void append_gathered(std::span<const Place> places, const Gather& gather, arrow::ArrayVector& out) {
  if (auto values = gather(places)) {
    out.push_back(std::move(values));
    return;
  }
  append_gathered(places.first(places.size() / 2), gather, out);
  append_gathered(places.subspan(places.size() / 2), gather, out);
}

std::shared_ptr<arrow::ChunkedArray> joined_arrays(std::vector<arrow::ArrayVector> pieces,
                                                   const std::shared_ptr<arrow::DataType>& type) {
  arrow::ArrayVector all;
  for (auto& piece : pieces) std::move(piece.begin(), piece.end(), std::back_inserter(all));
  return std::make_shared<arrow::ChunkedArray>(std::move(all), type);
}

// Gathers rows of many chunks without concatenating them. An additional chunk holds the NULL for null_row.
std::shared_ptr<arrow::ChunkedArray> gathered_rows(const arrow::ChunkedArray& column,
                                                   std::span<const std::int64_t> rows, bool with_nulls) {
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  auto chunks = column.chunks();
  for (const auto& chunk : chunks) {
    starts.push_back(start);
    start += chunk->length();
  }
  const row_place null_place{0, static_cast<std::uint32_t>(chunks.size())};
  if (with_nulls) chunks.push_back(value_of(arrow::MakeArrayOfNull(column.type(), 1)));
  const arrow::ChunkedArray sources(std::move(chunks), column.type());
  std::vector<arrow::ArrayVector> pieces(batch_count(static_cast<std::int64_t>(rows.size())));
  for_each_batch(static_cast<std::int64_t>(rows.size()), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    std::vector<row_place> places(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto row = rows[static_cast<std::size_t>(begin) + k];
      if (row == null_row) {
        places[k] = null_place;
        continue;
      }
      const auto chunk = std::upper_bound(starts.begin(), starts.end(), row) - starts.begin() - 1;
      places[k] = {static_cast<std::uint64_t>(row - starts[static_cast<std::size_t>(chunk)]),
                   static_cast<std::uint32_t>(chunk)};
    }
    append_gathered(
        std::span<const row_place>(places), [&](auto part) { return gathered(sources, part); }, pieces[i]);
  });
  return joined_arrays(std::move(pieces), column.type());
}

std::shared_ptr<arrow::ChunkedArray> take_column(const std::shared_ptr<arrow::ChunkedArray>& column,
                                                 std::span<const std::int64_t> rows, bool with_nulls) {
  if (rows.empty()) return chunked(value_of(arrow::MakeEmptyArray(column->type())));
  constexpr std::int64_t worth_joining = 8, most_copied_text = std::int64_t{1} << 26;
  const bool few = static_cast<std::int64_t>(rows.size()) * worth_joining < column->length();
  const bool is_text = column->type()->id() == arrow::Type::STRING;
  const bool long_text = is_text && text_bytes(*column) > std::min(most_copied_text, most_text_bytes());
  if ((is_text && with_nulls) || ((few || long_text) && column->num_chunks() > 1)) {
    return gathered_rows(*column, rows, with_nulls);
  }
  // Pieces are gathered in parallel. A chunked column is concatenated first, since Arrow's take is slow for many
  // chunks.
  const auto values = flat(column);
  std::vector<arrow::ArrayVector> pieces(batch_count(static_cast<std::int64_t>(rows.size())));
  const auto options = arrow::compute::TakeOptions::NoBoundsCheck();
  for_each_batch(static_cast<std::int64_t>(rows.size()), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    const auto piece = rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    if (with_nulls) {
      pieces[i].push_back(value_of(arrow::compute::Take(*values, *row_numbers(piece), options)));
    } else {
      append_gathered(
          piece, [&](auto part) { return gathered(values, part); }, pieces[i]);
    }
  });
  return joined_arrays(std::move(pieces), values->type());
}

// Returns whether `rows` is the identity, as for sorted input and for a join in which each row has one match.
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

std::int64_t text_bytes(const relation& from, std::int64_t begin, std::int64_t count,
                        const std::set<column_id>& wanted) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    const auto& column = *from.columns[i];
    if (column.type()->id() != arrow::Type::STRING || !wanted.contains(from.ids[i])) continue;
    bytes += text_bytes(*column.Slice(begin, count));
  }
  return bytes;
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
  require_text_fits(text_bytes(*column), -1);
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
