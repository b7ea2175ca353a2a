#include "engine/exec/codes.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <numeric>

#include "engine/exec/relation.hpp"
#include "engine/sql/error.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::engine {
namespace {

void mark_nulls(const arrow::Array& chunk, std::size_t start, code_column& out) {
  if (chunk.null_count() == 0) return;
  if (out.nulls.empty()) out.nulls.resize(out.words.size(), 0);
  for (std::int64_t i = 0; i < chunk.length(); ++i) {
    if (chunk.IsNull(i)) {
      out.nulls[start + static_cast<std::size_t>(i)] = 1;
      out.words[start + static_cast<std::size_t>(i)] = 0;
    }
  }
}

template <class T>
std::uint64_t ordered_word(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value == 0) value = 0;  // -0.0 as 0.0
  }
  return codec<T>::encode(value);
}

template <class Array>
void number_words(const arrow::Array& chunk, std::uint64_t* out) {
  const auto* values = static_cast<const Array&>(chunk).raw_values();
  for (std::int64_t i = 0; i < chunk.length(); ++i) out[i] = ordered_word(values[i]);
}

void boolean_words(const arrow::Array& chunk, std::uint64_t* out) {
  const auto& values = static_cast<const arrow::BooleanArray&>(chunk);
  for (std::int64_t i = 0; i < chunk.length(); ++i) out[i] = values.Value(i) ? 1 : 0;
}

void decimal_words(const arrow::Array& chunk, std::uint64_t* low, std::uint64_t* high) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(chunk);
  for (std::int64_t i = 0; i < chunk.length(); ++i) {
    const arrow::Decimal128 value(values.GetValue(i));
    low[i] = value.low_bits();
    high[i] = static_cast<std::uint64_t>(value.high_bits()) ^ (std::uint64_t{1} << 63);
  }
}

bool fixed_words(const arrow::Array& chunk, std::uint64_t* out) {
  switch (chunk.type_id()) {
    case arrow::Type::BOOL:
      boolean_words(chunk, out);
      return true;
    case arrow::Type::INT8:
      number_words<arrow::Int8Array>(chunk, out);
      return true;
    case arrow::Type::INT16:
      number_words<arrow::Int16Array>(chunk, out);
      return true;
    case arrow::Type::INT32:
      number_words<arrow::Int32Array>(chunk, out);
      return true;
    case arrow::Type::DATE32:
      number_words<arrow::Date32Array>(chunk, out);
      return true;
    case arrow::Type::INT64:
      number_words<arrow::Int64Array>(chunk, out);
      return true;
    case arrow::Type::TIMESTAMP:
      number_words<arrow::TimestampArray>(chunk, out);
      return true;
    case arrow::Type::FLOAT:
      number_words<arrow::FloatArray>(chunk, out);
      return true;
    case arrow::Type::DOUBLE:
      number_words<arrow::DoubleArray>(chunk, out);
      return true;
    default:
      return false;
  }
}

code_column fixed_codes(const arrow::ChunkedArray& column) {
  code_column out;
  out.words.resize(static_cast<std::size_t>(column.length()));
  const bool decimals = column.type()->id() == arrow::Type::DECIMAL128;
  if (decimals) out.high.resize(out.words.size());
  std::size_t start = 0;
  for (const auto& chunk : column.chunks()) {
    if (decimals) {
      decimal_words(*chunk, out.words.data() + start, out.high.data() + start);
    } else if (!fixed_words(*chunk, out.words.data() + start)) {
      refuse(-1, "The engine cannot order values of the type " + column.type()->ToString() + ".");
    }
    mark_nulls(*chunk, start, out);
    start += static_cast<std::size_t>(chunk->length());
  }
  if (decimals) {
    for (std::size_t i = 0; i < out.high.size(); ++i) {
      if (out.is_null(i)) out.high[i] = 0;
    }
  }
  return out;
}

template <class Number>
code_column string_codes(const arrow::ChunkedArray& column, const Number& number_of) {
  code_column out;
  out.words.resize(static_cast<std::size_t>(column.length()));
  std::size_t at = 0;
  for (const auto& chunk : column.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      if (!strings.IsNull(i)) out.words[at + static_cast<std::size_t>(i)] = number_of(strings.GetView(i));
    }
    mark_nulls(*chunk, at, out);
    at += static_cast<std::size_t>(strings.length());
  }
  return out;
}

bool is_string(const arrow::ChunkedArray& column) { return column.type()->id() == arrow::Type::STRING; }

}  // namespace

code_column ordered_codes(const arrow::ChunkedArray& column) {
  if (!is_string(column)) return fixed_codes(column);
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  std::vector<std::string_view> distinct;
  auto out = string_codes(column, [&](std::string_view text) {
    const auto [found, added] = numbers.try_emplace(text, distinct.size());
    if (added) distinct.push_back(text);
    return found->second;
  });
  std::vector<std::uint64_t> order(distinct.size()), rank(distinct.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return distinct[a] < distinct[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  for (std::size_t i = 0; i < out.words.size(); ++i) {
    if (!out.is_null(i)) out.words[i] = rank[out.words[i]];
  }
  return out;
}

code_column equality_coder::first(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (!is_string(*column)) return fixed_codes(*column);
  keeps_ = column;
  return string_codes(*column,
                      [&](std::string_view text) { return numbers_.try_emplace(text, numbers_.size()).first->second; });
}

code_column equality_coder::second(const std::shared_ptr<arrow::ChunkedArray>& column) const {
  if (!is_string(*column)) return fixed_codes(*column);
  constexpr std::uint64_t missing = ~std::uint64_t{0};
  auto out = string_codes(*column, [&](std::string_view text) {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? missing : found->second;
  });
  for (std::size_t i = 0; i < out.words.size(); ++i) {
    if (out.words[i] != missing) continue;
    if (out.nulls.empty()) out.nulls.resize(out.words.size(), 0);
    out.nulls[i] = 1;
  }
  return out;
}

}  // namespace espalier::engine
