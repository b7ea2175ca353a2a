#include "engine/exec/nearest_rows.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "engine/expr/sql_arrow_status.hpp"
#include "engine/interruptible.hpp"
#include "engine/keys/normalized_keys.hpp"
#include "engine/memory_budget.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"
#include "espalier/join/asof_join.hpp"
#include "espalier/join/group_encoder.hpp"

namespace espalier::engine {
namespace {

using column_ptr = std::shared_ptr<arrow::ChunkedArray>;

bitmap_view validity_of(const arrow::Array& array) {
  if (array.null_count() == 0) return {};
  return {array.null_bitmap_data(), static_cast<std::size_t>(array.offset())};
}

const std::uint8_t* fixed_values(const arrow::Array& array, unsigned width) {
  return array.data()->buffers[1]->data() + array.offset() * width;
}

// The ordered values of a side in one piece of memory. Integers and times of a column with one chunk are not copied.
struct ordered_values {
  column_view view;
  std::shared_ptr<arrow::Array> array;  ///< owns the values of a column with one chunk
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> valid;  ///< a bitmap

  void use_bits(const std::vector<std::uint8_t>& nulls) {
    if (nulls.empty()) return;
    valid.resize((nulls.size() + 7) / 8);
    parallel_pieces(valid.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t byte = begin; byte < end; ++byte) {
        unsigned bits = 0;
        for (std::size_t i = 8 * byte; i < std::min(8 * byte + 8, nulls.size()); ++i) {
          bits |= (nulls[i] == 0 ? 1U : 0U) << (i % 8);
        }
        valid[byte] = static_cast<std::uint8_t>(bits);
      }
    });
    view.validity = {valid.data(), 0};
  }
};

std::optional<scalar_kind> integer_kind(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
      return scalar_kind_of<std::int32_t>;
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::TIME64:
      return scalar_kind_of<std::int64_t>;
    default:
      return std::nullopt;
  }
}

ordered_values values_of_array(const column_ptr& column, scalar_kind kind) {
  ordered_values out;
  out.array = column->chunk(0);
  const unsigned width = kind == scalar_kind_of<std::int32_t> ? 4 : 8;
  out.view = {kind, fixed_values(*out.array, width), static_cast<std::size_t>(out.array->length()),
              validity_of(*out.array)};
  return out;
}

// Words of other types, and of columns with several chunks, are in the order of the values, and NaN is the greatest.
ordered_values values_of_codes(sort_key_column codes) {
  ordered_values out;
  out.words = std::move(codes.words);
  out.view = column_view(out.words);
  out.use_bits(codes.nulls);
  return out;
}

std::optional<by_column> by_column_of(const arrow::Array& array) {
  const auto size = static_cast<std::size_t>(array.length());
  switch (array.type_id()) {
    case arrow::Type::STRING: {
      const auto& texts = static_cast<const arrow::StringArray&>(array);
      static constexpr std::int32_t no_offsets[] = {0};
      const std::span<const std::int32_t> offsets =
          size == 0 ? std::span<const std::int32_t>(no_offsets) : std::span(texts.raw_value_offsets(), size + 1);
      return by_column::strings(offsets, texts.value_data() ? texts.value_data()->data() : nullptr, validity_of(array));
    }
    case arrow::Type::FLOAT:
      return by_column(column_view(scalar_kind_of<float>, fixed_values(array, 4), size, validity_of(array)));
    case arrow::Type::DOUBLE:
      return by_column(column_view(scalar_kind_of<double>, fixed_values(array, 8), size, validity_of(array)));
    case arrow::Type::BOOL:
      return std::nullopt;
    default: {
      const auto width = static_cast<unsigned>(array.type()->bit_width() / 8);
      return by_column::fixed({fixed_values(array, width), size, width, validity_of(array)});
    }
  }
}

bool have_same_chunks(const std::vector<column_ptr>& columns) {
  return std::ranges::all_of(columns, [&](const column_ptr& column) {
    return std::ranges::equal(column->chunks(), columns[0]->chunks(),
                              [](const auto& a, const auto& b) { return a->length() == b->length(); });
  });
}

bool have_same_types(const nearest_side& left, const nearest_side& right) {
  if (!left.at->type()->Equals(right.at->type())) return false;
  for (std::size_t i = 0; i < left.equal.size(); ++i) {
    const auto& type = *left.equal[i]->type();
    if (!type.Equals(right.equal[i]->type()) || type.id() == arrow::Type::BOOL) return false;
  }
  return true;
}

// Calls encode(columns, codes) for each chunk.
template <class Encode>
std::vector<std::uint32_t> codes_of(const nearest_side& side, const Encode& encode) {
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(side.rows));
  std::size_t row = 0;
  for (int chunk = 0; chunk < side.equal[0]->num_chunks(); ++chunk) {
    check_cancelled();
    const auto count = static_cast<std::size_t>(side.equal[0]->chunk(chunk)->length());
    if (count == 0) continue;
    std::vector<by_column> columns;
    for (const auto& column : side.equal) columns.push_back(*by_column_of(*column->chunk(chunk)));
    encode(std::span<const by_column>(columns), std::span(codes).subspan(row, count));
    row += count;
  }
  return codes;
}

// ---- gather --------------------------------------------------------------------------------------------------------

constexpr std::size_t prefetched_rows = 24;

template <class Value>
struct chunk_values {
  const Value* values;
  bitmap_view validity;
};

// Gathers into elements [begin, end) and their bits; `begin` is a multiple of 8. Returns the number of NULLs.
template <class Value>
std::size_t gather_some(const std::vector<chunk_values<Value>>& chunks, const std::vector<std::size_t>& starts,
                        const std::vector<row_number>& rows, std::size_t begin, std::size_t end, Value* out,
                        std::uint8_t* bits) {
  std::size_t chunk = 0, first = starts[0], count = starts[1] - starts[0], nulls = 0;
  const std::size_t only = starts.size() == 2 ? count : 0;
  for (std::size_t i = begin; i < end; i += 8) {
    unsigned byte = 0;
    for (std::size_t k = i; k < std::min(i + 8, end); ++k) {
      if (k + prefetched_rows < end && rows[k + prefetched_rows] < only) {
        __builtin_prefetch(chunks[0].values + rows[k + prefetched_rows]);
      }
      const std::size_t row = rows[k];
      if (row == espalier::no_row) {
        out[k] = Value{};
        ++nulls;
        continue;
      }
      if (row - first >= count) {
        chunk = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), row) - starts.begin()) - 1;
        first = starts[chunk];
        count = starts[chunk + 1] - first;
      }
      const auto& from = chunks[chunk];
      const bool is_valid = from.validity[row - first];
      out[k] = is_valid ? from.values[row - first] : Value{};
      byte |= (is_valid ? 1U : 0U) << (k - i);
      nulls += is_valid ? 0 : 1;
    }
    bits[i / 8] = static_cast<std::uint8_t>(byte);
  }
  return nulls;
}

// The same for one chunk without NULLs, where every row has a number.
template <class Value>
void gather_all_of_chunk(const Value* values, const row_number* rows, std::size_t begin, std::size_t end, Value* out) {
  std::size_t i = begin;
  for (; i + prefetched_rows < end; ++i) {
    __builtin_prefetch(values + rows[i + prefetched_rows]);
    out[i] = values[rows[i]];
  }
  for (; i < end; ++i) out[i] = values[rows[i]];
}

template <class Value>
column_ptr gathered_column(const arrow::ChunkedArray& column, const std::vector<row_number>& rows, bool all) {
  std::vector<chunk_values<Value>> chunks;
  std::vector<std::size_t> starts{0};
  for (const auto& chunk : column.chunks()) {
    if (chunk->length() == 0) continue;
    chunks.push_back({reinterpret_cast<const Value*>(fixed_values(*chunk, sizeof(Value))), validity_of(*chunk)});
    starts.push_back(starts.back() + static_cast<std::size_t>(chunk->length()));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  require_memory(rows.size() * sizeof(Value));
  std::shared_ptr<arrow::Buffer> values =
      value_of(arrow::AllocateBuffer(count * static_cast<std::int64_t>(sizeof(Value))));
  std::shared_ptr<arrow::Buffer> bits = value_of(arrow::AllocateBuffer((count + 7) / 8));
  auto* const out = reinterpret_cast<Value*>(values->mutable_data());
  std::uint8_t* const valid = bits->mutable_data();
  constexpr std::size_t at_once = std::size_t{1} << 14;
  const bool plain = all && chunks.size() == 1 && !chunks[0].validity;
  std::vector<std::size_t> nulls((rows.size() + at_once - 1) / at_once);
  parallel_for(nulls.size(), [&](std::size_t piece) {
    const std::size_t begin = piece * at_once, end = std::min(begin + at_once, rows.size());
    if (plain) {
      gather_all_of_chunk(chunks[0].values, rows.data(), begin, end, out);
    } else if (chunks.empty()) {
      std::memset(out + begin, 0, (end - begin) * sizeof(Value));
      std::memset(valid + begin / 8, 0, (end - begin + 7) / 8);
      nulls[piece] = end - begin;
    } else {
      nulls[piece] = gather_some(chunks, starts, rows, begin, end, out, valid);
    }
  });
  std::size_t missing = 0;
  for (const auto some : nulls) missing += some;
  return chunked(arrow::MakeArray(arrow::ArrayData::Make(column.type(), count,
                                                         {missing == 0 ? nullptr : std::move(bits), std::move(values)},
                                                         static_cast<std::int64_t>(missing))));
}

// Returns null for booleans and texts.
column_ptr gathered_fixed(const arrow::ChunkedArray& column, const std::vector<row_number>& rows, bool all) {
  if (column.type()->id() == arrow::Type::STRING) return nullptr;
  switch (column.type()->bit_width()) {
    case 8:
      return gathered_column<std::uint8_t>(column, rows, all);
    case 16:
      return gathered_column<std::uint16_t>(column, rows, all);
    case 32:
      return gathered_column<std::uint32_t>(column, rows, all);
    case 64:
      return gathered_column<std::uint64_t>(column, rows, all);
    case 128:
      return gathered_column<std::array<std::uint64_t, 2>>(column, rows, all);
    default:
      return nullptr;
  }
}

}  // namespace

std::optional<std::vector<row_number>> nearest_rows(const nearest_side& left, const nearest_side& right,
                                                    asof_direction direction, bool strict) {
  constexpr auto most = static_cast<std::int64_t>(max_join_rows);
  if (left.rows > most || right.rows > most || !have_same_types(left, right)) return std::nullopt;
  if (left.at->type()->id() == arrow::Type::DECIMAL128) return std::nullopt;
  if (!have_same_chunks(left.equal) || !have_same_chunks(right.equal)) return std::nullopt;
  const auto left_rows = static_cast<std::size_t>(left.rows), right_rows = static_cast<std::size_t>(right.rows);
  std::vector<row_number> out(left_rows, espalier::no_row);
  if (left_rows == 0 || right_rows == 0) return out;
  // Words and codes of both sides. A side that is not in order is sorted, which takes 24 bytes per row for a while.
  const memory_claim claim((left_rows + right_rows) * (left.equal.empty() ? 8 : 12));
  ordered_values left_at, right_at;
  const auto kind = integer_kind(*left.at->type());
  if (kind && left.at->num_chunks() == 1 && right.at->num_chunks() == 1) {
    left_at = values_of_array(left.at, *kind);
    right_at = values_of_array(right.at, *kind);
  } else {
    auto [right_codes, left_codes] = ordered_codes(*right.at, *left.at);
    right_at = values_of_codes(std::move(right_codes));
    left_at = values_of_codes(std::move(left_codes));
  }
  const device host = device::cpu(static_cast<unsigned>(parallel_width()));
  check_cancelled();
  const interruptible_library_calls interruptible;
  join_side left_side, right_side;
  left_side.on = left_at.view;
  right_side.on = right_at.view;
  std::vector<std::uint32_t> left_codes, right_codes;
  if (!left.equal.empty()) {
    group_encoder groups(host);
    right_codes = codes_of(right, [&](auto columns, auto codes) { groups.encode(columns, codes); });
    left_codes = codes_of(left, [&](auto columns, auto codes) { groups.lookup(columns, codes); });
    if (groups.groups() == 0) return out;
    left_side.by = left_codes;
    right_side.by = right_codes;
    left_side.groups = right_side.groups = groups.groups();
  }
  asof_join(left_side, right_side, out, {.direction = direction, .allow_exact_matches = !strict}, host);
  return out;
}

relation take_numbered(const relation& from, const std::vector<row_number>& rows, bool all) {
  relation out;
  out.rows = static_cast<std::int64_t>(rows.size());
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    check_cancelled();
    if (auto column = gathered_fixed(*from.columns[i], rows, all)) {
      out.add(from.ids[i], std::move(column));
      continue;
    }
    if (numbers.empty()) {
      numbers.resize(rows.size());
      for (std::size_t row = 0; row < rows.size(); ++row) {
        numbers[row] = rows[row] == espalier::no_row ? null_row : std::int64_t{rows[row]};
      }
    }
    relation one;
    one.rows = from.rows;
    one.add(from.ids[i], from.columns[i]);
    out.add(from.ids[i], take_rows_or_null(one, numbers).columns[0]);
  }
  return out;
}

}  // namespace espalier::engine
