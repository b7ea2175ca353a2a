// convert.cpp - casts on load. Casts are checked: a number that does not fit is an error and is never changed.
#include "engine/table/convert.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/initialize.h>
#include <arrow/datum.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/io_util.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

using chunked = std::shared_ptr<arrow::ChunkedArray>;

void start_compute_once() {
  static const arrow::Status started = arrow::compute::Initialize();
  require_ok(started, "Arrow's compute functions cannot be used");
}

// Returns the bytes of text of the rows, or of their dictionary values.
template <class Strings>
std::int64_t bytes_of_dictionary(const arrow::DictionaryArray& encoded) {
  const auto& values = static_cast<const Strings&>(*encoded.dictionary());
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < encoded.length(); ++i) {
    if (encoded.IsValid(i)) bytes += values.value_length(encoded.GetValueIndex(i));
  }
  return bytes;
}

std::int64_t text_bytes_of(const arrow::Array& data) {
  if (data.type_id() == arrow::Type::STRING) {
    return static_cast<const arrow::StringArray&>(data).total_values_length();
  }
  if (data.type_id() == arrow::Type::LARGE_STRING) {
    return static_cast<const arrow::LargeStringArray&>(data).total_values_length();
  }
  if (data.type_id() != arrow::Type::DICTIONARY) return 0;
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(data);
  if (encoded.dictionary()->type_id() == arrow::Type::STRING) return bytes_of_dictionary<arrow::StringArray>(encoded);
  if (encoded.dictionary()->type_id() != arrow::Type::LARGE_STRING) return 0;
  return bytes_of_dictionary<arrow::LargeStringArray>(encoded);
}

// A varchar chunk has 32-bit offsets, so longer chunks are split until the parts fit.
void append_fitting_parts(const std::shared_ptr<arrow::Array>& strings, arrow::ArrayVector& out) {
  const std::int64_t rows = strings->length();
  if (rows < 2 || text_bytes_of(*strings) <= most_text_bytes()) {
    out.push_back(strings);
    return;
  }
  append_fitting_parts(strings->Slice(0, rows / 2), out);
  append_fitting_parts(strings->Slice(rows / 2), out);
}

chunked with_fitting_chunks(const chunked& data) {
  const auto fits = [](const auto& chunk) { return text_bytes_of(*chunk) <= most_text_bytes(); };
  if (std::ranges::all_of(data->chunks(), fits)) return data;
  arrow::ArrayVector parts;
  for (const auto& chunk : data->chunks()) append_fitting_parts(chunk, parts);
  return std::make_shared<arrow::ChunkedArray>(std::move(parts), data->type());
}

// Removes the time zone and keeps the instants, since UTC is stored without one.
chunked without_zone(const chunked& data) {
  if (data->type()->id() != arrow::Type::TIMESTAMP) return data;
  const auto& type = static_cast<const arrow::TimestampType&>(*data->type());
  if (type.timezone().empty()) return data;
  return value_of(data->View(arrow::timestamp(type.unit())), "A column of timestamps cannot be converted");
}

chunked cast_to(const chunked& data, const std::shared_ptr<arrow::DataType>& type, const std::string& name) {
  if (data->type()->Equals(*type)) return data;
  auto options = arrow::compute::CastOptions::Safe(type);
  options.allow_time_truncate = true;  // nanoseconds to microseconds
  const auto result = arrow::compute::Cast(arrow::Datum(data), options);
  if (!result.ok()) {
    throw error(fmt::format("Column '{}' cannot be converted from {} to {}: {}.", name, data->type()->ToString(),
                            type->ToString(), reason_of(result.status())));
  }
  return result->chunked_array();
}

chunked converted_column(const chunked& data, const column& to) {
  start_compute_once();
  if (data->type()->id() == arrow::Type::DICTIONARY) {
    const auto& values = static_cast<const arrow::DictionaryType&>(*data->type()).value_type();
    return converted_column(cast_to(with_fitting_chunks(data), values, to.name), to);
  }
  return cast_to(with_fitting_chunks(without_zone(data)), arrow_type(to.type), to.name);
}

}  // namespace

std::vector<column> loaded_columns(const arrow::Schema& schema) {
  arrow::util::InitializeUTF8();
  std::vector<column> columns;
  std::set<std::string> seen;
  for (const auto& field : schema.fields()) {
    const std::string name = field->name().empty() ? fmt::format("column{}", columns.size()) : field->name();
    if (!arrow::util::ValidateUTF8(name)) {
      throw engine_error(
          fmt::format("The name of column {} is not valid UTF-8: rename it, or convert the file to UTF-8.",
                      columns.size() + 1),
          codes::invalid_text);
    }
    if (!seen.insert(name).second) {
      throw engine_error(fmt::format("Two columns are called '{}': rename one of them.", name),
                         codes::duplicate_column);
    }
    const auto type = loaded_type(*field->type());
    if (!type) {
      throw error(fmt::format(
          "Column '{}' has the type {}, which no table can hold: select the other columns, or convert it first.", name,
          field->type()->ToString()));
    }
    columns.push_back({name, *type, true});
  }
  if (columns.empty()) throw error("A table needs at least one column.");
  return columns;
}

std::shared_ptr<arrow::Schema> stored_schema(const std::vector<column>& columns) {
  arrow::FieldVector fields;
  for (const auto& c : columns) fields.push_back(arrow::field(c.name, arrow_type(c.type), c.nullable));
  return arrow::schema(std::move(fields));
}

std::shared_ptr<arrow::Table> converted(const std::shared_ptr<arrow::Table>& rows, const std::vector<column>& columns) {
  if (static_cast<std::size_t>(rows->num_columns()) != columns.size()) {
    throw error(fmt::format("Rows of {} columns do not fit a table of {}.", rows->num_columns(), columns.size()));
  }
  arrow::ChunkedArrayVector data(columns.size());
  parallel_for(columns.size(),
               [&](std::size_t i) { data[i] = converted_column(rows->column(static_cast<int>(i)), columns[i]); });
  return arrow::Table::Make(stored_schema(columns), std::move(data), rows->num_rows());
}

int errno_of(const arrow::Status& status) { return arrow::internal::ErrnoFromStatus(status); }

std::string reason_of(const arrow::Status& status) {
  // The message of a failed system call is "Error writing bytes to file".
  if (const int reason = errno_of(status); reason != 0) return std::generic_category().message(reason);
  std::string text = status.message();
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text.empty() ? status.CodeAsString() : text;
}

}  // namespace espalier::engine
