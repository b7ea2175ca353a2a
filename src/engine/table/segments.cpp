#include "engine/table/segments.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

// Combined strings stay below the 32-bit offset limit of one array, even if one more chunk near this size is added.
constexpr std::int64_t most_joined_characters = std::int64_t{1} << 30;
constexpr std::int64_t most_copied_rows = std::int64_t{1} << 20;

std::vector<std::int64_t> chunk_ends(const arrow::ChunkedArray& data) {
  std::vector<std::int64_t> ends;
  std::int64_t at = 0;
  for (const auto& chunk : data.chunks()) ends.push_back(at += chunk->length());
  return ends;
}

// Returns the positions at which a chunk of every column ends.
std::vector<std::int64_t> common_ends(const arrow::Table& rows) {
  auto common = chunk_ends(*rows.column(0));
  for (int i = 1; i < rows.num_columns(); ++i) {
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(common, chunk_ends(*rows.column(i)), std::back_inserter(both));
    common = std::move(both);
  }
  std::erase(common, 0);
  const auto repeated = std::ranges::unique(common);
  common.erase(repeated.begin(), repeated.end());
  return common;
}

std::int64_t characters_of(const arrow::ArrayVector& chunks) {
  std::int64_t total = 0;
  for (const auto& chunk : chunks) {
    if (chunk->type_id() == arrow::Type::STRING) {
      total += static_cast<const arrow::StringArray&>(*chunk).total_values_length();
    }
  }
  return total;
}

// Returns the maximum bytes of text of a column in these rows.
std::int64_t most_characters(const arrow::Table& rows, std::int64_t begin, std::int64_t end) {
  std::int64_t most = 0;
  for (const auto& column : rows.columns()) {
    if (column->type()->id() != arrow::Type::STRING) continue;
    most = std::max(most, characters_of(column->Slice(begin, end - begin)->chunks()));
  }
  return most;
}

// Adds the end of these rows, and ends within them if their text does not fit one array.
void add_fitting_ends(const arrow::Table& rows, std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& ends) {
  if (end - begin > 1 && most_characters(rows, begin, end) > most_text_bytes()) {
    const std::int64_t middle = begin + (end - begin) / 2;
    add_fitting_ends(rows, begin, middle, ends);
    add_fitting_ends(rows, middle, end, ends);
    return;
  }
  ends.push_back(end);
}

// Returns the common ends, and additional ones where a column has several chunks between two of them, which are copied
// anyway, and where there is too much text.
std::vector<std::int64_t> possible_ends(const arrow::Table& rows) {
  std::vector<std::int64_t> ends;
  std::int64_t begin = 0;
  for (const std::int64_t end : common_ends(rows)) {
    const bool whole = end - begin <= most_copied_rows || std::ranges::all_of(rows.columns(), [&](const auto& column) {
                         return column->Slice(begin, end - begin)->num_chunks() == 1;
                       });
    while (!whole && end - begin > most_copied_rows) {
      add_fitting_ends(rows, begin, begin + most_copied_rows, ends);
      begin += most_copied_rows;
    }
    add_fitting_ends(rows, begin, end, ends);
    begin = end;
  }
  return ends;
}

// Returns the ends of segments with enough rows. A segment also ends if its strings are long.
std::vector<std::int64_t> segment_ends(const arrow::Table& rows, std::int64_t enough) {
  std::vector<std::int64_t> ends;
  std::int64_t begin = 0;
  std::int64_t characters = 0;
  std::int64_t last = 0;
  for (const std::int64_t end : possible_ends(rows)) {
    const std::int64_t more = most_characters(rows, last, end);
    if (last > begin && characters + more > std::min(most_joined_characters, most_text_bytes())) {
      ends.push_back(last);
      begin = last;
      characters = 0;
    }
    characters += more;
    if (end - begin >= enough) {
      ends.push_back(end);
      begin = end;
      characters = 0;
    }
    last = end;
  }
  if (last > begin) ends.push_back(last);
  return ends;
}

std::shared_ptr<arrow::Array> one_array(const arrow::ArrayVector& chunks) {
  if (chunks.size() == 1) return chunks.front();
  return value_of(arrow::Concatenate(chunks), "Rows cannot be joined");
}

}  // namespace

segment_list segments_of(const arrow::Table& rows, std::uint64_t enough) {
  const auto ends = segment_ends(rows, static_cast<std::int64_t>(enough));
  const auto width = static_cast<std::size_t>(rows.num_columns());
  std::vector<arrow::ArrayVector> data(ends.size(), arrow::ArrayVector(width));
  parallel_for(ends.size() * width, [&](std::size_t i) {
    const std::size_t segment = i / width;
    const std::int64_t begin = segment == 0 ? 0 : ends[segment - 1];
    const auto part = rows.column(static_cast<int>(i % width))->Slice(begin, ends[segment] - begin);
    data[segment][i % width] = one_array(part->chunks());
  });
  segment_list segments;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    segments.push_back(
        arrow::RecordBatch::Make(rows.schema(), ends[i] - (i == 0 ? 0 : ends[i - 1]), std::move(data[i])));
  }
  return segments;
}

std::shared_ptr<arrow::RecordBatch> joined(const segment_list& parts) {
  const auto& schema = parts.front()->schema();
  arrow::ArrayVector columns;
  std::int64_t rows = 0;
  for (const auto& part : parts) rows += part->num_rows();
  for (int i = 0; i < schema->num_fields(); ++i) {
    arrow::ArrayVector chunks;
    for (const auto& part : parts) chunks.push_back(part->column(i));
    if (characters_of(chunks) > most_text_bytes()) return nullptr;
    columns.push_back(one_array(chunks));
  }
  return arrow::RecordBatch::Make(schema, rows, std::move(columns));
}

void append_segment(segment_list& segments, std::shared_ptr<arrow::RecordBatch> next, std::uint64_t small) {
  std::int64_t rows = next->num_rows();
  std::size_t first = segments.size();
  while (first > 0 && static_cast<std::uint64_t>(segments[first - 1]->num_rows()) < small &&
         segments[first - 1]->num_rows() <= 2 * rows) {
    rows += segments[--first]->num_rows();
  }
  if (first < segments.size()) {
    segment_list parts(segments.begin() + static_cast<std::ptrdiff_t>(first), segments.end());
    parts.push_back(next);
    if (auto whole = joined(parts)) {
      segments.resize(first);
      next = std::move(whole);
    }
  }
  segments.push_back(std::move(next));
}

}  // namespace espalier::engine
