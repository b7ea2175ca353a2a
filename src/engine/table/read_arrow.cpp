// read_arrow.cpp - reads Arrow's file and stream formats, which the first bytes distinguish. Arrow trusts the offsets
// inside the data, and files may be untrusted, so everything is validated before use.
#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <cstring>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

constexpr std::string_view arrow_file_magic = "ARROW1";

using batch_list = std::vector<std::shared_ptr<arrow::RecordBatch>>;

batch_list read_file_batches(const std::shared_ptr<arrow::io::ReadableFile>& file, const std::filesystem::path& path,
                             const std::string& what, const progress& tell, std::shared_ptr<arrow::Schema>& schema) {
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(file), what);
  schema = reader->schema();
  batch_list batches;
  const int count = reader->num_record_batches();
  for (int i = 0; i < count; ++i) {
    batches.push_back(value_of(reader->ReadRecordBatch(i), what));
    if (tell)
      tell("reading " + path.filename().string(), static_cast<std::uint64_t>(i) + 1, static_cast<std::uint64_t>(count));
  }
  return batches;
}

batch_list read_stream_batches(const std::shared_ptr<arrow::io::ReadableFile>& file, const std::filesystem::path& path,
                               const std::string& what, const progress& tell, std::shared_ptr<arrow::Schema>& schema) {
  const auto reader = value_of(arrow::ipc::RecordBatchStreamReader::Open(file), what);
  schema = reader->schema();
  batch_list batches;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> next;
    require_ok(reader->ReadNext(&next), what);
    if (!next) return batches;
    batches.push_back(std::move(next));
    if (tell) tell("reading " + path.filename().string(), batches.size(), 0);
  }
}

// The file is positioned at its beginning.
std::shared_ptr<arrow::io::ReadableFile> opened_arrow(const std::filesystem::path& path, const std::string& what,
                                                      bool& is_file) {
  auto file = value_of(arrow::io::ReadableFile::Open(path.string()), what);
  const auto start = value_of(file->ReadAt(0, static_cast<std::int64_t>(arrow_file_magic.size())), what);
  is_file = start->size() == static_cast<std::int64_t>(arrow_file_magic.size()) &&
            std::memcmp(start->data(), arrow_file_magic.data(), arrow_file_magic.size()) == 0;
  require_ok(file->Seek(0), what);
  return file;
}

}  // namespace

std::vector<std::string> arrow_file_names(const std::filesystem::path& path) {
  const std::string what = fmt::format("'{}' cannot be read as Arrow", path.string());
  bool is_file = false;
  const auto file = opened_arrow(path, what, is_file);
  const auto schema = is_file ? value_of(arrow::ipc::RecordBatchFileReader::Open(file), what)->schema()
                              : value_of(arrow::ipc::RecordBatchStreamReader::Open(file), what)->schema();
  return schema->field_names();
}

std::shared_ptr<arrow::Table> read_arrow_file(const std::filesystem::path& path, const progress& tell) {
  const std::string what = fmt::format("'{}' cannot be read as Arrow", path.string());
  bool is_file = false;
  const auto file = opened_arrow(path, what, is_file);
  std::shared_ptr<arrow::Schema> schema;
  const auto batches =
      is_file ? read_file_batches(file, path, what, tell, schema) : read_stream_batches(file, path, what, tell, schema);
  parallel_for(batches.size(), [&](std::size_t i) { require_ok(batches[i]->ValidateFull(), what); });
  return value_of(arrow::Table::FromRecordBatches(schema, batches), what);
}

}  // namespace espalier::engine
