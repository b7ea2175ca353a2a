// key_decoder.cpp - decodes keys to the columns that they were encoded from (key_encoder.hpp), for index-only scans.
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>

#include "engine/index/key_encoder.hpp"
#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::engine {
namespace {

constexpr const char* no_memory = "There is not enough memory for an answer";

// The decoded values of a field, before they become an array.
struct field_values {
  std::vector<std::uint64_t> words, high;
  std::vector<std::string> text;
  std::vector<std::uint8_t> valid;
};

// Writes words without NULLs, which is the common case, directly into the memory of the array.
template <class T>
std::shared_ptr<arrow::Array> plain_numbers(const encoded_keys& keys, const key_field& field, bool composite) {
  const auto rows = static_cast<std::int64_t>(keys.size);
  std::shared_ptr<arrow::Buffer> buffer =
      value_of(arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(T))), no_memory);
  auto* const out = reinterpret_cast<T*>(buffer->mutable_data());
  constexpr std::size_t block = std::size_t{1} << 16;
  parallel_for((keys.size + block - 1) / block, [&](std::size_t b) {
    for (std::size_t i = b * block; i < std::min(keys.size, (b + 1) * block); ++i) {
      const std::uint64_t code = composite ? keys.words[i] >> field.shift & field.all_ones() : keys.words[i];
      out[i] = key_codec<T>::decode(static_cast<word_of<T>>(code + field.base));
    }
  });
  return arrow::MakeArray(arrow::ArrayData::Make(arrow_type(field.type), rows, {nullptr, std::move(buffer)}));
}

// Returns null if the field has NULLs or another form.
std::shared_ptr<arrow::Array> plain_array(const encoded_keys& keys, const key_field& field, bool composite) {
  if (keys.size == 0 || (composite ? field.has_null : !keys.nulls.empty())) return nullptr;
  switch (field.type.id) {
    case type_id::int32:
    case type_id::date:
      return plain_numbers<std::int32_t>(keys, field, composite);
    case type_id::int64:
    case type_id::timestamp:
      return plain_numbers<std::int64_t>(keys, field, composite);
    default:
      return nullptr;
  }
}

template <class T, class Builder>
std::shared_ptr<arrow::Array> number_array_of(const field_values& values, const column_type& type) {
  Builder builder(arrow_type(type), arrow::default_memory_pool());
  require_ok(builder.Reserve(static_cast<std::int64_t>(values.valid.size())), no_memory);
  for (std::size_t i = 0; i < values.valid.size(); ++i) {
    if (values.valid[i]) {
      builder.UnsafeAppend(key_codec<T>::decode(static_cast<word_of<T>>(values.words[i])));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  return value_of(builder.Finish(), no_memory);
}

std::shared_ptr<arrow::Array> boolean_array(const field_values& values) {
  arrow::BooleanBuilder builder;
  for (std::size_t i = 0; i < values.valid.size(); ++i) {
    require_ok(values.valid[i] ? builder.Append(values.words[i] != 0) : builder.AppendNull(), no_memory);
  }
  return value_of(builder.Finish(), no_memory);
}

std::shared_ptr<arrow::Array> decimal_array(const field_values& values, const column_type& type) {
  arrow::Decimal128Builder builder(arrow_type(type));
  for (std::size_t i = 0; i < values.valid.size(); ++i) {
    if (!values.valid[i]) {
      require_ok(builder.AppendNull(), no_memory);
    } else if (values.high.empty()) {
      require_ok(builder.Append(arrow::Decimal128(key_codec<std::int64_t>::decode(values.words[i]))), no_memory);
    } else {
      const auto high = key_codec<std::int64_t>::decode(values.high[i]);
      require_ok(builder.Append(arrow::Decimal128(high, values.words[i])), no_memory);
    }
  }
  return value_of(builder.Finish(), no_memory);
}

std::shared_ptr<arrow::Array> text_array(const field_values& values) {
  std::int64_t bytes = 0;
  for (const auto& text : values.text) bytes += std::ssize(text);
  if (bytes > most_text_bytes()) return nullptr;
  arrow::StringBuilder builder;
  for (std::size_t i = 0; i < values.valid.size(); ++i) {
    require_ok(values.valid[i] ? builder.Append(values.text[i]) : builder.AppendNull(), no_memory);
  }
  return value_of(builder.Finish(), no_memory);
}

std::shared_ptr<arrow::Array> array_of_values(const field_values& values, const column_type& type) {
  switch (type.id) {
    case type_id::boolean:
      return boolean_array(values);
    case type_id::int8:
      return number_array_of<std::int8_t, arrow::Int8Builder>(values, type);
    case type_id::int16:
      return number_array_of<std::int16_t, arrow::Int16Builder>(values, type);
    case type_id::int32:
      return number_array_of<std::int32_t, arrow::Int32Builder>(values, type);
    case type_id::date:
      return number_array_of<std::int32_t, arrow::Date32Builder>(values, type);
    case type_id::int64:
      return number_array_of<std::int64_t, arrow::Int64Builder>(values, type);
    case type_id::timestamp:
      return number_array_of<std::int64_t, arrow::TimestampBuilder>(values, type);
    case type_id::float32:
      return number_array_of<float, arrow::FloatBuilder>(values, type);
    case type_id::float64:
      return number_array_of<double, arrow::DoubleBuilder>(values, type);
    case type_id::decimal:
      return decimal_array(values, type);
    case type_id::varchar:
      return text_array(values);
  }
  return nullptr;
}

field_values words_of_field(const encoded_keys& keys, const key_field& field, bool composite) {
  field_values out;
  out.words.resize(keys.size);
  out.valid.resize(keys.size);
  for (std::size_t i = 0; i < keys.size; ++i) {
    const std::uint64_t code = composite ? keys.words[i] >> field.shift & field.all_ones() : keys.words[i];
    out.valid[i] = composite ? !field.has_null || code != field.null_code() : !keys.has_null(i);
    out.words[i] = code + field.base;
  }
  return out;
}

// Reads the fields of one byte key from front to back.
class byte_fields_reader {
 public:
  explicit byte_fields_reader(std::string_view key) : rest_(key) {}

  void read(const key_field& field, bool last, field_values& out) {
    bool valid = true;
    if (field.has_null) {
      valid = rest_[0] == 0;
      rest_.remove_prefix(1);
    }
    out.valid.push_back(valid);
    if (field.type.id == type_id::varchar) {
      out.text.push_back(!valid ? std::string() : last ? std::string(rest_) : escaped());
      return;
    }
    const unsigned bytes = key_bytes(field.type);
    if (bytes == 16) out.high.push_back(valid ? number(8) : 0);
    out.words.push_back(valid ? number(std::min(bytes, 8U)) : 0);
  }

 private:
  std::uint64_t number(unsigned bytes) {
    std::uint64_t out = 0;
    for (unsigned i = 0; i < bytes; ++i) out = out << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(bytes);
    return out;
  }
  // Reads a string that is not the last field, in the encoding of byte_key.hpp: bytes 00 and 01 are escaped as 01 and
  // byte + 1, and 00 terminates it.
  std::string escaped() {
    std::string out;
    std::size_t at = 0;
    for (; rest_[at] != 0; ++at) out.push_back(rest_[at] == 1 ? static_cast<char>(rest_[++at] - 1) : rest_[at]);
    rest_.remove_prefix(at + 1);
    return out;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::shared_ptr<arrow::Array>> key_encoder::decode(const encoded_keys& keys) const {
  std::vector<std::shared_ptr<arrow::Array>> out;
  std::vector<field_values> values(fields_.size());
  if (form_ != key_form::bytes) {
    for (const auto& field : fields_) {
      auto array = plain_array(keys, field, is_composite());
      if (!array) array = array_of_values(words_of_field(keys, field, is_composite()), field.type);
      out.push_back(std::move(array));
    }
    return out;
  }
  for (std::size_t i = 0; i < keys.size; ++i) {
    if (!is_composite() && keys.has_null(i)) {
      values[0].valid.push_back(false);
      values[0].words.push_back(0);
      values[0].high.push_back(0);
      values[0].text.emplace_back();
      continue;
    }
    byte_fields_reader reader(keys.bytes[i]);
    for (std::size_t c = 0; c < fields_.size(); ++c) reader.read(fields_[c], c + 1 == fields_.size(), values[c]);
  }
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    if (key_bytes(fields_[c].type) != 16) values[c].high.clear();
    out.push_back(array_of_values(values[c], fields_[c].type));
  }
  return out;
}

}  // namespace espalier::engine
