// write.hpp - writes rows to CSV, Parquet and Arrow files.
#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <filesystem>
#include <memory>

#include "engine/table/read.hpp"

namespace espalier::engine {

/// Writes to a file that appears when it is complete (replaced_file.hpp); a failure leaves the existing file unchanged.
void write_table(const std::shared_ptr<arrow::Table>& rows, const std::filesystem::path& path, file_format format,
                 const csv_options& options = {});

/// Writes to a stream, such as a terminal or a pipe. Uses Arrow's stream format if `format` is arrow.
void write_table(const std::shared_ptr<arrow::Table>& rows, arrow::io::OutputStream& to, file_format format,
                 const csv_options& options = {});

}  // namespace espalier::engine
