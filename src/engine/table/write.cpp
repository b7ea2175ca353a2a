#include "engine/table/write.hpp"

#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include "engine/table/arrow_result.hpp"
#include "engine/table/replaced_file.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t parquet_group_rows = std::int64_t{1} << 20;
constexpr std::int32_t csv_rows_at_once = 1 << 14;

void write_csv(const arrow::Table& rows, arrow::io::OutputStream& to, const csv_options& options,
               const std::string& what) {
  if (options.quote != '"') throw error("CSV files are written with \" as the quote: leave the option out.");
  auto write = arrow::csv::WriteOptions::Defaults();
  write.include_header = options.header;
  write.delimiter = options.delimiter;
  write.null_string = options.null_text;
  write.batch_size = csv_rows_at_once;
  require_ok(arrow::csv::WriteCSV(rows, write, &to), what);
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

// Streams that belong to the caller, for functions that ask for a share in them.
std::shared_ptr<arrow::io::OutputStream> borrowed(arrow::io::OutputStream& to) {
  return {&to, [](arrow::io::OutputStream*) {}};
}

void write_to_file(const arrow::Table& rows, const std::filesystem::path& path, file_format format,
                   const csv_options& options, const std::string& what) {
  replaced_file whole(path);
  const auto file = value_of(arrow::io::FileOutputStream::Open(whole.duplicate_handle()), what);
  switch (format) {
    case file_format::csv:
      write_csv(rows, *file, options, what);
      break;
    case file_format::parquet:
      write_parquet(rows, file, what);
      break;
    case file_format::arrow:
      write_batches(rows, *value_of(arrow::ipc::MakeFileWriter(file, rows.schema()), what), what);
      break;
  }
  require_ok(file->Close(), what);
  whole.finish();
}

}  // namespace

void write_table(const std::shared_ptr<arrow::Table>& rows, const std::filesystem::path& path, file_format format,
                 const csv_options& options) {
  write_to_file(*rows, path, format, options, fmt::format("'{}' cannot be written", path.string()));
}

void write_table(const std::shared_ptr<arrow::Table>& rows, arrow::io::OutputStream& to, file_format format,
                 const csv_options& options) {
  const std::string what = "The answer cannot be written";
  switch (format) {
    case file_format::csv:
      return write_csv(*rows, to, options, what);
    case file_format::parquet:
      return write_parquet(*rows, borrowed(to), what);
    case file_format::arrow:
      return write_batches(*rows, *value_of(arrow::ipc::MakeStreamWriter(&to, rows->schema()), what), what);
  }
}

}  // namespace espalier::engine
