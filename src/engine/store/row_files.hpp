// row_files.hpp - the rows of a table in files: segments as Arrow files, which any Arrow reader opens, and the mask of
// live rows as sections.
#pragma once

#include <arrow/type_fwd.h>

#include <filesystem>
#include <memory>
#include <span>

#include "engine/store/catalog_file.hpp"
#include "engine/store/mapped_files.hpp"

namespace espalier::engine {

/// `quick` checks what makes data unsafe to read, `full` every value.
enum class row_check : std::uint8_t { quick, full };

/// Writes one segment. The record has its size and the checksum of all its bytes.
[[nodiscard]] file_record write_segment(file_layer& layer, const std::filesystem::path& path,
                                        const arrow::RecordBatch& rows);
/// Returns the rows of a mapped file, which they keep alive. Verifies its checksum. Throws damaged_file.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> read_segment(mapped_files& files, const file_record& file,
                                                               row_check check);
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> read_segment(std::shared_ptr<mapped_file> mapped,
                                                               const std::filesystem::path& path,
                                                               const file_record& file, row_check check);
/// The same for bytes that outlive the result and are aligned to 64 bytes, without verifying a checksum.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> parse_segment(std::shared_ptr<arrow::Buffer> bytes,
                                                                const std::filesystem::path& path, row_check check);

[[nodiscard]] file_record write_live(file_layer& layer, const std::filesystem::path& path, const arrow::Buffer& bits,
                                     std::uint64_t rows);
[[nodiscard]] std::shared_ptr<arrow::Buffer> read_live(mapped_files& files, const file_record& file);

}  // namespace espalier::engine
