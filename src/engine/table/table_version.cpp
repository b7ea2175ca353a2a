#include "engine/table/table_version.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/convert.hpp"
#include "engine/table/gather.hpp"
#include "engine/table/segments.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t fewest_gathered_at_once = std::uint64_t{1} << 16;
constexpr std::uint64_t most_gathered_at_once = std::uint64_t{1} << 20;

std::int64_t to_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void require_distinct_names(const std::vector<column>& columns) {
  if (columns.empty()) throw error("A table needs at least one column.");
  std::set<std::string_view> seen;
  for (const auto& c : columns) {
    if (!seen.insert(c.name).second)
      throw engine_error(fmt::format("Two columns are called '{}': rename one of them.", c.name),
                         codes::duplicate_column);
  }
}

void require_no_null(const arrow::Table& rows, const std::vector<column>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].nullable && rows.column(static_cast<int>(i))->null_count() != 0) {
      throw engine_error(fmt::format("Column '{}' may not be NULL.", columns[i].name), codes::not_null_violation);
    }
  }
}

// Returns `rows` live bits, the first `known` of them copied from `bits`.
std::shared_ptr<arrow::Buffer> extended_bits(const std::shared_ptr<arrow::Buffer>& bits, std::uint64_t known,
                                             std::uint64_t rows) {
  auto all = value_of(arrow::AllocateBuffer(arrow::bit_util::BytesForBits(to_signed(rows))),
                      "There is not enough memory to delete rows");
  std::memset(all->mutable_data(), 0xff, static_cast<std::size_t>(all->size()));
  if (bits) std::memcpy(all->mutable_data(), bits->data(), known / 8);
  for (std::uint64_t row = known & ~std::uint64_t{7}; bits && row < known; ++row) {
    arrow::bit_util::SetBitTo(all->mutable_data(), to_signed(row), arrow::bit_util::GetBit(bits->data(), row));
  }
  return all;
}

}  // namespace

struct table_version::parts {
  std::vector<column> columns;
  std::shared_ptr<arrow::Schema> schema;
  segment_list segments;
  std::vector<std::uint64_t> starts;  // starts of segments, and the end of the last one
  std::vector<std::shared_ptr<arrow::ChunkedArray>> data;
  std::shared_ptr<arrow::Buffer> live_bits;
  std::uint64_t masked_rows = 0;
  std::uint64_t deleted = 0;
  mutable std::once_flag mask_made;
  mutable std::shared_ptr<arrow::BooleanArray> mask;

  static std::unique_ptr<parts> of(std::vector<column> columns, segment_list segments) {
    auto p = std::make_unique<parts>();
    p->columns = std::move(columns);
    p->schema = stored_schema(p->columns);
    p->segments = std::move(segments);
    p->starts.push_back(0);
    for (const auto& segment : p->segments) {
      p->starts.push_back(p->starts.back() + static_cast<std::uint64_t>(segment->num_rows()));
    }
    for (std::size_t i = 0; i < p->columns.size(); ++i) {
      arrow::ArrayVector chunks;
      for (const auto& segment : p->segments) chunks.push_back(segment->column(static_cast<int>(i)));
      p->data.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow_type(p->columns[i].type)));
    }
    return p;
  }

  void set_live(std::shared_ptr<arrow::Buffer> bits, std::uint64_t masked) {
    if (!bits) return;
    live_bits = std::move(bits);
    masked_rows = masked;
    deleted =
        masked - static_cast<std::uint64_t>(arrow::internal::CountSetBits(live_bits->data(), 0, to_signed(masked)));
  }

  row_place place_of(std::uint64_t row) const {
    const auto next = std::ranges::upper_bound(starts, row);
    const auto chunk = static_cast<std::size_t>(next - starts.begin()) - 1;
    return {row - starts[chunk], static_cast<std::uint32_t>(chunk)};
  }

  std::vector<row_place> places_of(std::span<const std::uint64_t> rows) const {
    std::vector<row_place> places(rows.size());
    row_place place{0, 0};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t row = rows[i];
      if (row >= starts.back())
        throw error(fmt::format("There is no row {} in a table of {} rows.", row, starts.back()));
      // Nearby rows are usually in the same segment.
      if (row < starts[place.chunk] || row >= starts[place.chunk + 1]) place = place_of(row);
      places[i] = {row - starts[place.chunk], place.chunk};
    }
    return places;
  }

  // Gathers the chunks of the result, with fewer rows at a time if their strings do not fit one array.
  void gather(std::span<const std::size_t> wanted, std::span<const row_place> places,
              std::vector<arrow::ArrayVector>& out) const {
    arrow::ArrayVector arrays;
    for (const std::size_t column : wanted) {
      arrays.push_back(gathered(*data[column], places));
      if (arrays.back()) continue;
      gather(wanted, places.first(places.size() / 2), out);
      gather(wanted, places.subspan(places.size() / 2), out);
      return;
    }
    out.push_back(std::move(arrays));
  }
};

table_version::table_version(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
table_version::~table_version() = default;

table_version::pointer table_version::empty(std::vector<column> columns) {
  require_distinct_names(columns);
  return pointer(new table_version(parts::of(std::move(columns), {})));
}

table_version::pointer table_version::from(const std::shared_ptr<arrow::Table>& rows) {
  auto columns = loaded_columns(*rows->schema());
  const auto stored = converted(rows, columns);
  require_sound(*stored);
  auto segments = segments_of(*stored, small_segment);
  return pointer(new table_version(parts::of(std::move(columns), std::move(segments))));
}

table_version::pointer table_version::restored(std::vector<column> columns, segment_list segments,
                                               std::shared_ptr<arrow::Buffer> live_bits, std::uint64_t masked_rows) {
  require_distinct_names(columns);
  auto p = parts::of(std::move(columns), std::move(segments));
  for (const auto& segment : p->segments) {
    if (!segment->schema()->Equals(*p->schema)) throw error("Rows of a table have other columns than the table.");
  }
  if (masked_rows > p->starts.back() ||
      (live_bits && live_bits->size() < arrow::bit_util::BytesForBits(to_signed(masked_rows)))) {
    throw error("The list of deleted rows does not belong to the table.");
  }
  p->set_live(std::move(live_bits), masked_rows);
  return pointer(new table_version(std::move(p)));
}

const std::vector<column>& table_version::columns() const noexcept { return parts_->columns; }
const std::shared_ptr<arrow::Schema>& table_version::schema() const noexcept { return parts_->schema; }
std::uint64_t table_version::rows() const noexcept { return parts_->starts.back(); }
std::uint64_t table_version::live_rows() const noexcept { return rows() - parts_->deleted; }
std::uint64_t table_version::live_rows_below(std::uint64_t end) const noexcept {
  const std::uint64_t masked = std::min(end, parts_->masked_rows);
  if (masked == 0) return end;
  return end - masked +
         static_cast<std::uint64_t>(arrow::internal::CountSetBits(live_bits()->data(), 0, to_signed(masked)));
}
const std::shared_ptr<arrow::Buffer>& table_version::live_bits() const noexcept { return parts_->live_bits; }
std::uint64_t table_version::masked_rows() const noexcept { return parts_->masked_rows; }
std::uint64_t table_version::segment_start(std::size_t segment) const { return parts_->starts.at(segment); }
const std::vector<std::shared_ptr<arrow::RecordBatch>>& table_version::segments() const noexcept {
  return parts_->segments;
}

std::size_t table_version::column_index(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(columns(), name, &column::name) - columns().begin());
}

std::uint64_t table_version::bytes() const {
  std::uint64_t total = 0;
  for (const auto& segment : segments()) {
    total += static_cast<std::uint64_t>(value_of(arrow::util::ReferencedBufferSize(*segment), "A table has no size"));
  }
  return total;
}

const std::shared_ptr<arrow::ChunkedArray>& table_version::data(std::size_t column) const {
  return parts_->data.at(column);
}

std::shared_ptr<arrow::Table> table_version::all_rows() const {
  return arrow::Table::Make(schema(), parts_->data, to_signed(rows()));
}

bool table_version::is_deleted(std::uint64_t row) const noexcept {
  return row < parts_->masked_rows && !arrow::bit_util::GetBit(parts_->live_bits->data(), row);
}

std::shared_ptr<arrow::BooleanArray> table_version::live_mask() const {
  if (parts_->deleted == 0) return nullptr;
  std::call_once(parts_->mask_made, [&] {
    auto bits = parts_->masked_rows == rows() ? parts_->live_bits
                                              : extended_bits(parts_->live_bits, parts_->masked_rows, rows());
    parts_->mask = std::make_shared<arrow::BooleanArray>(to_signed(rows()), std::move(bits));
  });
  return parts_->mask;
}

std::shared_ptr<arrow::Table> table_version::take(std::span<const std::size_t> columns,
                                                  std::span<const std::uint64_t> rows) const {
  const std::uint64_t per_thread = rows.size() / (2 * parallel_width()) + 1;
  const std::uint64_t block = std::clamp(per_thread, fewest_gathered_at_once, most_gathered_at_once);
  const std::size_t blocks = (rows.size() + block - 1) / block;
  std::vector<std::vector<arrow::ArrayVector>> gathered_blocks(blocks);
  parallel_for(blocks, [&](std::size_t i) {
    const auto places =
        parts_->places_of(rows.subspan(i * block, std::min<std::uint64_t>(block, rows.size() - i * block)));
    parts_->gather(columns, places, gathered_blocks[i]);
  });
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector data;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    arrow::ArrayVector chunks;
    for (const auto& of_block : gathered_blocks) {
      for (const auto& arrays : of_block) chunks.push_back(arrays[i]);
    }
    fields.push_back(schema()->field(static_cast<int>(columns[i])));
    data.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), fields.back()->type()));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(data), static_cast<std::int64_t>(rows.size()));
}

table_version::pointer table_version::appended(const std::shared_ptr<arrow::Table>& rows) const {
  const auto stored = converted(rows, columns());
  require_sound(*stored);
  require_no_null(*stored, columns());
  auto segments = parts_->segments;
  for (auto& next : segments_of(*stored, small_segment)) append_segment(segments, std::move(next), small_segment);
  auto p = parts::of(columns(), std::move(segments));
  p->live_bits = parts_->live_bits;
  p->masked_rows = parts_->masked_rows;
  p->deleted = parts_->deleted;
  return pointer(new table_version(std::move(p)));
}

table_version::pointer table_version::erased(std::span<const std::uint64_t> rows) const {
  auto bits = extended_bits(parts_->live_bits, parts_->masked_rows, this->rows());
  for (const std::uint64_t row : rows) {
    if (row >= this->rows()) throw error(fmt::format("There is no row {} in a table of {} rows.", row, this->rows()));
    arrow::bit_util::ClearBit(bits->mutable_data(), to_signed(row));
  }
  auto p = parts::of(columns(), parts_->segments);
  p->set_live(std::move(bits), this->rows());
  return pointer(new table_version(std::move(p)));
}

table_version::pointer table_version::compacted() const {
  if (parts_->deleted == 0) return pointer(new table_version(parts::of(columns(), parts_->segments)));
  std::vector<std::uint64_t> live;
  live.reserve(live_rows());
  for (std::uint64_t row = 0; row < rows(); ++row) {
    if (!is_deleted(row)) live.push_back(row);
  }
  std::vector<std::size_t> all(columns().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  auto segments = segments_of(*take(all, live), small_segment);
  return pointer(new table_version(parts::of(columns(), std::move(segments))));
}

}  // namespace espalier::engine
