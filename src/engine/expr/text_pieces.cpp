#include "engine/expr/text_pieces.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/expr/sql_arrow_status.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

std::int64_t scalar_bytes(const arrow::Scalar& value) {
  if (value.type->id() != arrow::Type::STRING || !value.is_valid) return 0;
  return static_cast<std::int64_t>(static_cast<const arrow::StringScalar&>(value).view().size());
}

// Kernels write offsets without an overflow check; a wrapped offset is less than the preceding one.
bool offsets_wrapped(const arrow::StringArray& texts) {
  const std::int32_t* const offsets = texts.raw_value_offsets();
  bool decreases = texts.length() > 0 && offsets[0] < 0;
  for (std::int64_t i = 0; i < texts.length(); ++i) decreases |= offsets[i] > offsets[i + 1];
  return decreases;
}

}  // namespace

text_overflow::text_overflow(int position)
    : coded_refusal(codes::program_limit_exceeded,
                    fmt::format("A text of more than {} bytes cannot be made.", most_text_bytes()), position) {}

std::int64_t text_bytes(const arrow::Array& values) {
  if (values.type_id() != arrow::Type::STRING || values.length() == 0) return 0;
  return static_cast<const arrow::StringArray&>(values).total_values_length();
}

std::int64_t text_bytes(const arrow::ChunkedArray& column) {
  std::int64_t bytes = 0;
  if (column.type()->id() != arrow::Type::STRING) return bytes;
  for (const auto& chunk : column.chunks()) bytes += text_bytes(*chunk);
  return bytes;
}

std::int64_t text_bytes(const arrow::Datum& values, std::int64_t rows) {
  if (values.is_array()) return text_bytes(*values.make_array());
  if (values.is_chunked_array()) return text_bytes(*values.chunked_array());
  std::int64_t bytes = 0;
  const bool far_too_much = __builtin_mul_overflow(scalar_bytes(*values.scalar()), rows, &bytes);
  return far_too_much ? std::numeric_limits<std::int64_t>::max() : bytes;
}

void require_text_fits(std::int64_t bytes, int position) {
  if (bytes > most_text_bytes()) throw text_overflow(position);
}

void require_sound_text(const arrow::Datum& values, int position) {
  if (!values.type() || values.type()->id() != arrow::Type::STRING) return;
  if (values.is_array() && values.length() > 0) {
    const auto array = values.make_array();
    if (offsets_wrapped(static_cast<const arrow::StringArray&>(*array))) throw text_overflow(position);
  }
  require_text_fits(text_bytes(values, 1), position);
}

// Every result of an expression is checked. Buffers that are too short, that of the validity included, would be read
// beyond their end by the next operation.
void require_values(const arrow::Datum& values, const arrow::DataType& type, std::int64_t rows, int position) {
  const bool has_length = values.is_scalar() || (values.is_array() && values.length() == rows);
  if (!has_length || !values.type()->Equals(type)) {
    throw_sql_error(codes::internal_error, position,
                    fmt::format("The engine made {} values of type {} for {} rows of type {}; please report it.",
                                values.length(), values.type()->ToString(), rows, type.ToString()));
  }
  require_sound_text(values, position);
  if (values.is_scalar()) return;
  if (const auto valid = values.make_array()->Validate(); !valid.ok()) {
    throw_sql_error(codes::internal_error, position,
                    fmt::format("The engine made an array that is not valid ({}); please report it.", valid.message()));
  }
}

std::vector<std::shared_ptr<arrow::ChunkedArray>> fitting_columns(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (text_bytes(*column) <= most_text_of_a_batch()) return {column};
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  arrow::ArrayVector chunks;
  std::int64_t bytes = 0;
  const auto flush = [&] {
    if (!chunks.empty()) out.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), column->type()));
    chunks.clear();
    bytes = 0;
  };
  for (const auto& chunk : column->chunks()) {
    const auto more = text_bytes(*chunk);
    if (bytes + more > most_text_of_a_batch()) flush();
    chunks.push_back(chunk);
    bytes += more;
  }
  flush();
  return out;
}

std::int64_t most_text_of_a_batch() {
  constexpr std::int64_t most = std::int64_t{1} << 28;  // several threads have one batch each
  return std::min(most, most_text_bytes());
}

struct chunk_builder::parts {
  std::shared_ptr<arrow::DataType> type;
  std::unique_ptr<arrow::ArrayBuilder> builder;
  std::int64_t bytes = 0;  ///< bytes of text in the current chunk
  arrow::ArrayVector chunks;
};

chunk_builder::chunk_builder(std::shared_ptr<arrow::DataType> type) : parts_(std::make_unique<parts>()) {
  parts_->builder = value_of(arrow::MakeBuilder(type));
  parts_->type = std::move(type);
}

chunk_builder::~chunk_builder() = default;

void chunk_builder::make_room(std::int64_t bytes, int position) {
  require_text_fits(bytes, position);
  if (parts_->bytes + bytes > most_text_bytes()) {
    parts_->chunks.push_back(value_of(parts_->builder->Finish()));
    parts_->bytes = 0;
  }
  parts_->bytes += bytes;
}

void chunk_builder::append(const arrow::Scalar& value, int position) {
  make_room(scalar_bytes(value), position);
  check(parts_->builder->AppendScalar(value), position);
}

void chunk_builder::append_text(std::string_view text, int position) {
  make_room(static_cast<std::int64_t>(text.size()), position);
  check(static_cast<arrow::StringBuilder&>(*parts_->builder).Append(text), position);
}

void chunk_builder::append_null() { check(parts_->builder->AppendNull()); }

std::shared_ptr<arrow::ChunkedArray> chunk_builder::finish() {
  parts_->chunks.push_back(value_of(parts_->builder->Finish()));
  return std::make_shared<arrow::ChunkedArray>(std::move(parts_->chunks), parts_->type);
}

}  // namespace espalier::engine
