#include "engine/index/key_columns.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include <cstring>

#include "engine/stop.hpp"
#include "espalier/core/error.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::engine {

namespace {

constexpr int word_digits = 18;  // 10^18 - 1 fits 63 bits

template <class T>
void append_words(const arrow::Array& data, std::vector<std::uint64_t>& out) {
  const T* const values = data.data()->GetValues<T>(1);
  const auto n = static_cast<std::size_t>(data.length());
  const std::size_t from = out.size();
  out.resize(from + n);
  for (std::size_t i = 0; i < n; ++i) {
    T value = values[i];
    if constexpr (std::is_floating_point_v<T>) value = value == T{0} ? T{0} : value;
    out[from + i] = key_codec<T>::encode(value);
  }
}

void append_booleans(const arrow::Array& data, std::vector<std::uint64_t>& out) {
  const auto& values = static_cast<const arrow::BooleanArray&>(data);
  for (std::int64_t i = 0; i < values.length(); ++i) out.push_back(values.Value(i) ? 1 : 0);
}

void append_decimals(const arrow::Array& data, bool wide, key_column& out) {
  const auto& values = static_cast<const arrow::Decimal128Array&>(data);
  for (std::int64_t i = 0; i < values.length(); ++i) {
    std::int64_t halves[2];
    std::memcpy(halves, values.GetValue(i), sizeof halves);
    out.words.push_back(wide ? static_cast<std::uint64_t>(halves[0]) : key_codec<std::int64_t>::encode(halves[0]));
    if (wide) out.high.push_back(key_codec<std::int64_t>::encode(halves[1]));
  }
}

void append_text(const arrow::Array& data, std::vector<std::string_view>& out) {
  const auto& values = static_cast<const arrow::StringArray&>(data);
  for (std::int64_t i = 0; i < values.length(); ++i) out.push_back(values.GetView(i));
}

void append_nulls(const arrow::Array& data, std::size_t before, std::vector<std::uint8_t>& out) {
  if (data.null_count() == 0 && out.empty()) return;
  out.resize(before + static_cast<std::size_t>(data.length()), 0);
  if (data.null_count() == 0) return;
  for (std::int64_t i = 0; i < data.length(); ++i) out[before + static_cast<std::size_t>(i)] = data.IsNull(i) ? 1 : 0;
}

void append_array(const arrow::Array& data, const column_type& type, std::size_t before, key_column& out) {
  append_nulls(data, before, out.nulls);
  switch (type.id) {
    case type_id::boolean:
      return append_booleans(data, out.words);
    case type_id::int8:
      return append_words<std::int8_t>(data, out.words);
    case type_id::int16:
      return append_words<std::int16_t>(data, out.words);
    case type_id::int32:
    case type_id::date:
      return append_words<std::int32_t>(data, out.words);
    case type_id::int64:
    case type_id::timestamp:
      return append_words<std::int64_t>(data, out.words);
    case type_id::float32:
      return append_words<float>(data, out.words);
    case type_id::float64:
      return append_words<double>(data, out.words);
    case type_id::decimal:
      return append_decimals(data, !has_word(type), out);
    case type_id::varchar:
      return append_text(data, out.text);
  }
}

void check_type(const arrow::DataType& given, const column_type& type) {
  if (stored_type(given) != type) {
    throw error("index: a key column of type " + sql_name(type) + " was asked with values of Arrow type " +
                given.ToString() + "; convert them first.");
  }
}

}  // namespace

bool has_word(const column_type& type) {
  return type.id != type_id::varchar && (type.id != type_id::decimal || type.precision <= word_digits);
}

unsigned key_bytes(const column_type& type) {
  switch (type.id) {
    case type_id::boolean:
    case type_id::int8:
      return 1;
    case type_id::int16:
      return 2;
    case type_id::int32:
    case type_id::date:
    case type_id::float32:
      return 4;
    case type_id::int64:
    case type_id::timestamp:
    case type_id::float64:
      return 8;
    case type_id::decimal:
      return has_word(type) ? 8 : 16;
    case type_id::varchar:
      return 0;
  }
  return 0;
}

key_column read_key_column(const arrow::ChunkedArray& data, const column_type& type) {
  check_type(*data.type(), type);
  key_column out;
  std::size_t before = 0;
  if (type.id == type_id::varchar) {
    out.text.reserve(static_cast<std::size_t>(data.length()));
  } else {
    out.words.reserve(static_cast<std::size_t>(data.length()));
  }
  for (const auto& chunk : data.chunks()) {
    check_cancelled();
    append_array(*chunk, type, before, out);
    before += static_cast<std::size_t>(chunk->length());
  }
  return out;
}

key_column read_key_column(const arrow::Array& data, const column_type& type) {
  check_type(*data.type(), type);
  key_column out;
  append_array(data, type, 0, out);
  return out;
}

}  // namespace espalier::engine
