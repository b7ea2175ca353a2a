#include "engine/keys/normalized_keys.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "engine/error.hpp"
#include "engine/expr/relation.hpp"
#include "engine/keys/text_order.hpp"
#include "engine/parallel_sort.hpp"

namespace espalier::engine {
namespace {

// Marks NULLs. `start` is the chunk's first row, and `out` is large enough for all rows.
void mark_nulls(const arrow::Array& chunk, std::size_t start, sort_key_column& out) {
  if (chunk.null_count() == 0) return;
  for (std::int64_t i = 0; i < chunk.length(); ++i) {
    if (!chunk.IsNull(i)) continue;
    const auto row = start + static_cast<std::size_t>(i);
    out.nulls[row] = 1;
    out.words[row] = 0;
    if (!out.high.empty()) out.high[row] = 0;
  }
}

sort_key_column room_for(const arrow::ChunkedArray& column) {
  sort_key_column out;
  out.words.resize(static_cast<std::size_t>(column.length()));
  if (column.type()->id() == arrow::Type::DECIMAL128) out.high.resize(out.words.size());
  if (column.null_count() > 0) out.nulls.resize(out.words.size(), 0);
  return out;
}

// Calls body(piece, chunk, row) for the chunks of each batch of rows, batches in parallel.
template <class Body>
void for_each_piece(const arrow::ChunkedArray& column, const Body& body) {
  for_each_batch(column.length(), [&](std::size_t piece, std::int64_t begin, std::int64_t count) {
    auto row = static_cast<std::size_t>(begin);
    const auto slice = column.Slice(begin, count);
    for (const auto& chunk : slice->chunks()) {
      body(piece, *chunk, row);
      row += static_cast<std::size_t>(chunk->length());
    }
  });
}

template <class Array>
void number_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  const auto* values = static_cast<const Array&>(chunk).raw_values() + begin;
  for (std::int64_t i = 0; i < count; ++i) out[i] = ordered_word(values[i]);
}

void boolean_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  const auto& values = static_cast<const arrow::BooleanArray&>(chunk);
  for (std::int64_t i = 0; i < count; ++i) out[i] = values.Value(begin + i) ? 1 : 0;
}

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

void decimal_words(const arrow::Array& chunk, std::uint64_t* low, std::uint64_t* high) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(chunk);
  for (std::int64_t i = 0; i < chunk.length(); ++i) {
    const arrow::Decimal128 value(values.GetValue(i));
    low[i] = value.low_bits();
    high[i] = static_cast<std::uint64_t>(value.high_bits()) ^ sign_bit;
  }
}

// Maps decimals to ordered 64-bit words; values beyond 64 bits saturate.
void coarse_decimal_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(chunk);
  for (std::int64_t i = 0; i < count; ++i) {
    const arrow::Decimal128 value(values.GetValue(begin + i));
    const std::int64_t sign = static_cast<std::int64_t>(value.low_bits()) < 0 ? -1 : 0;
    const std::uint64_t beyond = value.high_bits() < 0 ? 0 : ~std::uint64_t{0};
    out[i] = value.high_bits() == sign ? value.low_bits() ^ sign_bit : beyond;
  }
}

// Returns the first eight bytes, which order texts except for ties.
std::uint64_t text_word(std::string_view text) {
  unsigned char bytes[8] = {};
  if (!text.empty()) std::memcpy(bytes, text.data(), std::min<std::size_t>(text.size(), sizeof bytes));
  std::uint64_t word = 0;
  for (const auto byte : bytes) word = word << 8 | byte;
  return word;
}

void text_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  const auto& strings = static_cast<const arrow::StringArray&>(chunk);
  for (std::int64_t i = 0; i < count; ++i) out[i] = text_word(strings.GetView(begin + i));
}

bool fixed_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  switch (chunk.type_id()) {
    case arrow::Type::BOOL:
      boolean_words(chunk, begin, count, out);
      return true;
    case arrow::Type::INT8:
      number_words<arrow::Int8Array>(chunk, begin, count, out);
      return true;
    case arrow::Type::INT16:
      number_words<arrow::Int16Array>(chunk, begin, count, out);
      return true;
    case arrow::Type::INT32:
      number_words<arrow::Int32Array>(chunk, begin, count, out);
      return true;
    case arrow::Type::DATE32:
      number_words<arrow::Date32Array>(chunk, begin, count, out);
      return true;
    case arrow::Type::INT64:
      number_words<arrow::Int64Array>(chunk, begin, count, out);
      return true;
    case arrow::Type::TIMESTAMP:
      number_words<arrow::TimestampArray>(chunk, begin, count, out);
      return true;
    case arrow::Type::FLOAT:
      number_words<arrow::FloatArray>(chunk, begin, count, out);
      return true;
    case arrow::Type::DOUBLE:
      number_words<arrow::DoubleArray>(chunk, begin, count, out);
      return true;
    default:
      return false;
  }
}

[[noreturn]] void refuse_type(const arrow::DataType& type) {
  throw_sql_error(-1, "The engine cannot order values of the type " + type.ToString() + ".");
}

sort_key_column fixed_codes(const arrow::ChunkedArray& column) {
  sort_key_column out = room_for(column);
  for_each_piece(column, [&](std::size_t, const arrow::Array& chunk, std::size_t row) {
    if (!out.high.empty()) {
      decimal_words(chunk, out.words.data() + row, out.high.data() + row);
    } else if (!fixed_words(chunk, 0, chunk.length(), out.words.data() + row)) {
      refuse_type(*column.type());
    }
    mark_nulls(chunk, row, out);
  });
  return out;
}

void number_texts(const arrow::Array& chunk, std::size_t row, string_dictionary& table, sort_key_column& out) {
  const auto& strings = static_cast<const arrow::StringArray&>(chunk);
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    if (!strings.IsNull(i)) out.words[row + static_cast<std::size_t>(i)] = table.add(strings.GetView(i));
  }
  mark_nulls(chunk, row, out);
}

// Texts that fit a word together with their length: flags, country codes, most ship modes.
constexpr std::int32_t longest_short_text = 7;

// Returns the length of the longest text, or nothing if it does not fit a word.
std::optional<std::int32_t> longest_text_of_a_word(const arrow::ChunkedArray& column) {
  std::int32_t all = 0;
  for (const auto& chunk : column.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    const std::int32_t* const offsets = strings.raw_value_offsets();
    constexpr std::int64_t block = 4096;
    for (std::int64_t begin = 0; begin < strings.length(); begin += block) {
      const auto end = std::min(begin + block, strings.length());
      std::int32_t longest = 0;
      for (auto i = begin; i < end; ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
      if (longest > longest_short_text) return std::nullopt;
      all = std::max(all, longest);
    }
  }
  return all;
}

std::uint64_t short_text_word(const char* text, std::int32_t length, const char* end, std::int32_t length_at) {
  std::uint64_t word = 0;
  if (end - text >= 8) {
    std::memcpy(&word, text, 8);
    word &= (std::uint64_t{1} << (8 * length)) - 1;
  } else if (length > 0) {
    std::memcpy(&word, text, static_cast<std::size_t>(length));
  }
  return word | static_cast<std::uint64_t>(length) << length_at;
}

// The length is stored directly above the bytes of the longest text, so that several short columns pack into one word.
sort_key_column short_text_codes(const arrow::ChunkedArray& column, std::int32_t longest) {
  sort_key_column out = room_for(column);
  for_each_piece(column, [&](std::size_t, const arrow::Array& chunk, std::size_t row) {
    const auto& strings = static_cast<const arrow::StringArray&>(chunk);
    const auto& buffer = strings.value_data();
    const char* const text = buffer ? reinterpret_cast<const char*>(buffer->data()) : nullptr;
    const char* const end = buffer ? text + buffer->size() : nullptr;
    const std::int32_t* const offsets = strings.raw_value_offsets();
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      out.words[row + static_cast<std::size_t>(i)] =
          short_text_word(text + offsets[i], offsets[i + 1] - offsets[i], end, 8 * longest);
    }
    mark_nulls(chunk, row, out);
  });
  return out;
}

// Each batch numbers its own texts; the local numbers are then mapped to global ones.
sort_key_column text_codes(const arrow::ChunkedArray& column, string_dictionary& all) {
  sort_key_column out = room_for(column);
  std::vector<string_dictionary> tables(batch_count(column.length()));
  for_each_piece(column, [&](std::size_t piece, const arrow::Array& chunk, std::size_t row) {
    number_texts(chunk, row, tables[piece], out);
  });
  std::vector<std::vector<std::uint64_t>> numbers(tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    check_cancelled();
    for (const auto text : tables[i].texts()) numbers[i].push_back(all.add(text));
  }
  for_each_batch(column.length(), [&](std::size_t piece, std::int64_t begin, std::int64_t count) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(begin + count); ++row) {
      if (!out.is_null(row)) out.words[row] = numbers[piece][out.words[row]];
    }
  });
  return out;
}

sort_key_column sorted_text_codes(const arrow::ChunkedArray& column) {
  sort_key_column out;
  out.words = ranks_of_texts(column);
  if (column.null_count() > 0) out.nulls.resize(out.words.size(), 0);
  for_each_piece(column, [&](std::size_t, const arrow::Array& chunk, std::size_t row) { mark_nulls(chunk, row, out); });
  return out;
}

bool is_string(const arrow::ChunkedArray& column) { return column.type()->id() == arrow::Type::STRING; }

}  // namespace

std::vector<const sort_key_column*> pointers_to(const std::vector<sort_key_column>& columns) {
  std::vector<const sort_key_column*> out;
  for (const auto& column : columns) out.push_back(&column);
  return out;
}

sort_key_column ordered_codes(const arrow::ChunkedArray& column) {
  if (!is_string(column)) return fixed_codes(column);
  if (!has_few_texts(column)) return sorted_text_codes(column);
  string_dictionary table;
  auto out = text_codes(column, table);
  const auto& distinct = table.texts();
  std::vector<std::uint64_t> order(distinct.size()), rank(distinct.size());
  std::iota(order.begin(), order.end(), 0);
  parallel_sort(order.begin(), order.end(), std::ssize(order),
                [&](std::uint64_t a, std::uint64_t b) { return distinct[a] < distinct[b]; });
  for_each_row(order.size(), [&](std::size_t i) { rank[order[i]] = i; });
  for_each_batch(column.length(), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(begin + count); ++row) {
      if (!out.is_null(row)) out.words[row] = rank[out.words[row]];
    }
  });
  return out;
}

std::pair<sort_key_column, sort_key_column> ordered_codes(const arrow::ChunkedArray& first,
                                                          const arrow::ChunkedArray& second) {
  if (!is_string(first)) return {fixed_codes(first), fixed_codes(second)};
  arrow::ArrayVector chunks = first.chunks();
  chunks.insert(chunks.end(), second.chunks().begin(), second.chunks().end());
  auto head = ordered_codes(arrow::ChunkedArray(std::move(chunks), first.type()));
  const auto rows = static_cast<std::size_t>(first.length());
  sort_key_column tail;
  const auto split = [&](auto& from, auto& to) {
    if (from.empty()) return;
    to.assign(from.begin() + static_cast<std::ptrdiff_t>(rows), from.end());
    from.resize(rows);
  };
  split(head.words, tail.words);
  split(head.nulls, tail.nulls);
  return {std::move(head), std::move(tail)};
}

void coarse_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out) {
  if (chunk.type_id() == arrow::Type::STRING) {
    text_words(chunk, begin, count, out);
  } else if (chunk.type_id() == arrow::Type::DECIMAL128) {
    coarse_decimal_words(chunk, begin, count, out);
  } else if (!fixed_words(chunk, begin, count, out)) {
    refuse_type(*chunk.type());
  }
}

bool coarse_words_are_exact(const arrow::DataType& type) {
  return type.id() != arrow::Type::STRING && type.id() != arrow::Type::DECIMAL128;
}

sort_key_column group_codes(const arrow::ChunkedArray& column) {
  if (!is_string(column)) return fixed_codes(column);
  if (const auto longest = longest_text_of_a_word(column)) return short_text_codes(column, *longest);
  string_dictionary table;
  return text_codes(column, table);
}

sort_key_column equality_coder::first(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (!is_string(*column)) return fixed_codes(*column);
  keeps_ = column;
  return text_codes(*column, numbers_);
}

sort_key_column equality_coder::second(const std::shared_ptr<arrow::ChunkedArray>& column) const {
  if (!is_string(*column)) return fixed_codes(*column);
  sort_key_column out = room_for(*column);
  out.nulls.resize(out.words.size(), 0);
  for_each_piece(*column, [&](std::size_t, const arrow::Array& chunk, std::size_t row) {
    const auto& strings = static_cast<const arrow::StringArray&>(chunk);
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      const auto number = strings.IsNull(i) ? string_dictionary::missing : numbers_.find(strings.GetView(i));
      const bool met = number != string_dictionary::missing;
      out.words[row + static_cast<std::size_t>(i)] = met ? number : 0;
      out.nulls[row + static_cast<std::size_t>(i)] = met ? 0 : 1;
    }
  });
  return out;
}

}  // namespace espalier::engine
