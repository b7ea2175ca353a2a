#include "engine/store/row_files.hpp"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/store/checksum.hpp"
#include "engine/store/sections.hpp"
#include "engine/table/arrow_status.hpp"

namespace espalier::engine {
namespace {

constexpr std::string_view live_kind = "live rows";

// An Arrow output stream into an output_file that computes the checksum. Errors of the file are exceptions, which
// Arrow's writers propagate.
class summed_stream final : public arrow::io::OutputStream {
 public:
  explicit summed_stream(output_file& file) : file_(file) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return static_cast<std::int64_t>(file_.position()); }
  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    const std::span piece(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes));
    checksum_.add(piece);
    file_.write(piece);
    return arrow::Status::OK();
  }
  std::uint64_t checksum() const { return checksum_.value(); }

 private:
  output_file& file_;
  running_checksum checksum_;
  bool closed_ = false;
};

// A mapped file as a buffer; slices of it keep it alive.
class mapped_buffer final : public arrow::Buffer {
 public:
  explicit mapped_buffer(std::shared_ptr<mapped_file> file)
      : arrow::Buffer(reinterpret_cast<const std::uint8_t*>(file->bytes().data()),
                      static_cast<std::int64_t>(file->bytes().size())),
        file_(std::move(file)) {}

 private:
  std::shared_ptr<mapped_file> file_;
};

void require_undamaged(const arrow::Status& status, const std::filesystem::path& path) {
  if (!status.ok()) throw damaged_file(path, reason_of(status));
}

}  // namespace

file_record write_segment(file_layer& layer, const std::filesystem::path& path, const arrow::RecordBatch& rows) {
  const std::string what = fmt::format("'{}' cannot be written", path.string());
  // A file that the reader rejects would make the table unreadable, so the rows are validated before they are written.
  require_ok(rows.ValidateFull(), what);
  output_file file(layer, path);
  summed_stream stream(file);
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.alignment = static_cast<std::int32_t>(section_alignment);
  options.allow_64bit = true;
  const auto writer = value_of(arrow::ipc::MakeFileWriter(&stream, rows.schema(), options), what);
  require_ok(writer->WriteRecordBatch(rows), what);
  require_ok(writer->Close(), what);
  const std::uint64_t bytes = file.position();
  file.finish();
  return {path.filename().string(), bytes, stream.checksum(), static_cast<std::uint64_t>(rows.num_rows())};
}

std::shared_ptr<arrow::RecordBatch> parse_segment(std::shared_ptr<arrow::Buffer> bytes,
                                                  const std::filesystem::path& path, row_check check) {
  const auto reader =
      arrow::ipc::RecordBatchFileReader::Open(std::make_shared<arrow::io::BufferReader>(std::move(bytes)));
  require_undamaged(reader.status(), path);
  if ((*reader)->num_record_batches() != 1) throw damaged_file(path, "it has not exactly one batch of rows");
  auto batch = (*reader)->ReadRecordBatch(0);
  require_undamaged(batch.status(), path);
  require_undamaged(check == row_check::full ? (*batch)->ValidateFull() : (*batch)->Validate(), path);
  return std::move(batch).MoveValueUnsafe();
}

std::shared_ptr<arrow::RecordBatch> read_segment(mapped_files& files, const file_record& file, row_check check) {
  return read_segment(files.take(file), files.path_of(file), file, check);
}

std::shared_ptr<arrow::RecordBatch> read_segment(std::shared_ptr<mapped_file> mapped, const std::filesystem::path& path,
                                                 const file_record& file, row_check check) {
  if (mapped->bytes().size() != file.bytes) {
    throw damaged_file(path, fmt::format("it has {} bytes instead of {}", mapped->bytes().size(), file.bytes));
  }
  mapped->require_whole();
  if (checksum_of(mapped->bytes()) != file.checksum) throw damaged_file(path, "checksum mismatch");
  auto rows = parse_segment(std::make_shared<mapped_buffer>(std::move(mapped)), path, check);
  if (static_cast<std::uint64_t>(rows->num_rows()) != file.rows || file.rows == 0) {
    throw damaged_file(path, "its number of rows differs from that in the catalog");
  }
  return rows;
}

file_record write_live(file_layer& layer, const std::filesystem::path& path, const arrow::Buffer& bits,
                       std::uint64_t rows) {
  output_file file(layer, path);
  file_section_writer writer(file, live_kind);
  writer.add("bits", std::as_bytes(std::span(bits.data(), (rows + 7) / 8)));
  const std::uint64_t checksum = writer.finish();
  const std::uint64_t bytes = file.position();
  file.finish();
  return {path.filename().string(), bytes, checksum, rows};
}

std::shared_ptr<arrow::Buffer> read_live(mapped_files& files, const file_record& file) {
  const auto path = files.path_of(file);
  const auto sections = mapped_sections::open(files.take(file), path, live_kind);
  if (sections->checksum() != file.checksum) throw damaged_file(path, "it is not the one that the catalog names");
  const auto bits = sections->get_array<std::uint8_t>("bits", (file.rows + 7) / 8);
  auto copy = value_of(arrow::AllocateBuffer(static_cast<std::int64_t>(bits.size())), "There is not enough memory");
  std::ranges::copy(bits, copy->mutable_data());
  return copy;
}

}  // namespace espalier::engine
