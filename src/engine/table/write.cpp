#include "engine/table/write.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include "engine/table/arrow_status.hpp"
#include "engine/table/replaced_file.hpp"
#include "engine/text_values.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t parquet_group_rows = std::int64_t{1} << 20;
constexpr std::int32_t csv_rows_at_once = 1 << 14;

// Arrow formats dates more than 30,000 years from 1970 incorrectly.
constexpr std::int64_t farthest_day = 11'000'000;

bool is_far(std::int64_t value, std::int64_t per_day) {
  return value > farthest_day * per_day || value < -farthest_day * per_day;
}

// Returns a column of dates or timestamps as text if one of them is that far from 1970, otherwise null.
template <class Array, class Text>
std::shared_ptr<arrow::ChunkedArray> far_dates_as_text(const arrow::ChunkedArray& column, std::int64_t per_day,
                                                       const Text& text, const std::string& what) {
  bool any = false;
  for (const auto& chunk : column.chunks()) {
    const auto& values = static_cast<const Array&>(*chunk);
    for (std::int64_t i = 0; i < values.length() && !any; ++i)
      any = values.IsValid(i) && is_far(values.Value(i), per_day);
  }
  if (!any) return nullptr;
  arrow::ArrayVector chunks;
  for (const auto& chunk : column.chunks()) {
    for (std::int64_t begin = 0; begin < chunk->length(); begin += parquet_group_rows) {
      const auto part = chunk->Slice(begin, parquet_group_rows);
      const auto& values = static_cast<const Array&>(*part);
      arrow::StringBuilder builder;
      for (std::int64_t i = 0; i < values.length(); ++i) {
        require_ok(values.IsNull(i) ? builder.AppendNull() : builder.Append(text(values.Value(i))), what);
      }
      chunks.push_back(value_of(builder.Finish(), what));
    }
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow::utf8());
}

std::shared_ptr<arrow::Table> with_far_dates_as_text(std::shared_ptr<arrow::Table> rows, const std::string& what) {
  for (int i = 0; i < rows->num_columns(); ++i) {
    const auto& column = *rows->column(i);
    std::shared_ptr<arrow::ChunkedArray> text;
    if (column.type()->id() == arrow::Type::DATE32) {
      text = far_dates_as_text<arrow::Date32Array>(column, 1, text_of_date, what);
    } else if (column.type()->Equals(arrow::timestamp(arrow::TimeUnit::MICRO))) {
      text = far_dates_as_text<arrow::TimestampArray>(column, 86'400'000'000, text_of_timestamp, what);
    }
    if (text) rows = value_of(rows->SetColumn(i, rows->field(i)->WithType(arrow::utf8()), std::move(text)), what);
  }
  return rows;
}

void write_csv(const std::shared_ptr<arrow::Table>& rows, arrow::io::OutputStream& to, const csv_options& options,
               const std::string& what) {
  if (options.quote != '"') throw error("CSV files are written with \" as the quote: leave the option out.");
  auto write = arrow::csv::WriteOptions::Defaults();
  write.include_header = options.header;
  write.delimiter = options.delimiter;
  write.null_string = options.null_text;
  write.batch_size = csv_rows_at_once;
  require_ok(arrow::csv::WriteCSV(*with_far_dates_as_text(rows, what), write, &to), what);
}

void write_parquet(const arrow::Table& rows, const std::shared_ptr<arrow::io::OutputStream>& to,
                   const std::string& what) {
  const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().set_use_threads(true)->build();
  try {
    require_ok(parquet::arrow::WriteTable(rows, arrow::default_memory_pool(), to, parquet_group_rows, properties,
                                          arrow_properties),
               what);
  } catch (const parquet::ParquetException& e) {
    throw error(fmt::format("{}: {}.", what, e.what()));
  }
}

void write_batches(const arrow::Table& rows, arrow::ipc::RecordBatchWriter& writer, const std::string& what) {
  require_ok(writer.WriteTable(rows), what);
  require_ok(writer.Close(), what);
}

// Wraps a stream of the caller for functions that require shared ownership.
std::shared_ptr<arrow::io::OutputStream> borrowed(arrow::io::OutputStream& to) {
  return {&to, [](arrow::io::OutputStream*) {}};
}

void write_to_file(const std::shared_ptr<arrow::Table>& rows, const std::filesystem::path& path, file_format format,
                   const csv_options& options, const std::string& what) {
  replaced_file whole(path);
  const auto file = value_of(arrow::io::FileOutputStream::Open(whole.duplicate_handle()), what);
  switch (format) {
    case file_format::csv:
      write_csv(rows, *file, options, what);
      break;
    case file_format::parquet:
      write_parquet(*rows, file, what);
      break;
    case file_format::arrow:
      write_batches(*rows, *value_of(arrow::ipc::MakeFileWriter(file, rows->schema()), what), what);
      break;
  }
  require_ok(file->Close(), what);
  whole.finish();
}

}  // namespace

void write_table(const std::shared_ptr<arrow::Table>& rows, const std::filesystem::path& path, file_format format,
                 const csv_options& options) {
  write_to_file(rows, path, format, options, fmt::format("'{}' cannot be written", path.string()));
}

void write_table(const std::shared_ptr<arrow::Table>& rows, arrow::io::OutputStream& to, file_format format,
                 const csv_options& options) {
  const std::string what = "The answer cannot be written";
  switch (format) {
    case file_format::csv:
      return write_csv(rows, to, options, what);
    case file_format::parquet:
      return write_parquet(*rows, borrowed(to), what);
    case file_format::arrow:
      return write_batches(*rows, *value_of(arrow::ipc::MakeStreamWriter(&to, rows->schema()), what), what);
  }
}

}  // namespace espalier::engine
