#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <vector>

#include "engine/table/arrow_status.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

// Row groups of about this many bytes are read at once: all cores are busy, and progress is reported in between.
constexpr std::int64_t bytes_at_once = std::int64_t{512} << 20;

std::unique_ptr<parquet::arrow::FileReader> open_parquet(const std::filesystem::path& path, const std::string& what) {
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(true);
  properties.set_pre_buffer(true);
  parquet::arrow::FileReaderBuilder builder;
  require_ok(builder.Open(value_of(arrow::io::ReadableFile::Open(path.string()), what)), what);
  return value_of(builder.properties(properties)->Build(), what);
}

std::shared_ptr<arrow::Table> read_groups(parquet::arrow::FileReader& reader, const std::filesystem::path& path,
                                          const std::string& what, const progress& tell) {
  const auto& metadata = *reader.parquet_reader()->metadata();
  const int groups = metadata.num_row_groups();
  std::vector<std::shared_ptr<arrow::Table>> parts;
  std::uint64_t rows = 0;
  for (int first = 0; first < groups;) {
    std::vector<int> some;
    for (std::int64_t bytes = 0; first < groups && bytes < bytes_at_once; ++first) {
      some.push_back(first);
      bytes += metadata.RowGroup(first)->total_byte_size();
    }
    parts.push_back(value_of(reader.ReadRowGroups(some), what));
    rows += static_cast<std::uint64_t>(parts.back()->num_rows());
    if (tell) tell("reading " + path.filename().string(), rows, static_cast<std::uint64_t>(metadata.num_rows()));
  }
  if (parts.empty()) return value_of(reader.ReadTable(), what);
  return value_of(arrow::ConcatenateTables(parts), what);
}

}  // namespace

std::vector<std::string> parquet_file_names(const std::filesystem::path& path) {
  const std::string what = fmt::format("'{}' cannot be read as Parquet", path.string());
  try {
    std::shared_ptr<arrow::Schema> schema;
    require_ok(open_parquet(path, what)->GetSchema(&schema), what);
    return schema->field_names();
  } catch (const parquet::ParquetException& e) {
    throw error(fmt::format("{}: {}.", what, e.what()));
  }
}

std::shared_ptr<arrow::Table> read_parquet_file(const std::filesystem::path& path, const progress& tell) {
  const std::string what = fmt::format("'{}' cannot be read as Parquet", path.string());
  try {
    return read_groups(*open_parquet(path, what), path, what, tell);
  } catch (const parquet::ParquetException& e) {
    throw error(fmt::format("{}: {}.", what, e.what()));
  }
}

}  // namespace espalier::engine
