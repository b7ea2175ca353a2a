// write.hpp - rows into CSV, Parquet and Arrow files.
#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <filesystem>
#include <memory>

#include "engine/table/read.hpp"

namespace espalier::engine {

/// Into a file that appears when it is whole (replaced_file.hpp): a failure leaves what was there before.
void write_table(const std::shared_ptr<arrow::Table>& rows, const std::filesystem::path& path, file_format format,
                 const csv_options& options = {});

/// Into a stream, such as a terminal's or a pipe's. Arrow's stream format where `format` is arrow.
void write_table(const std::shared_ptr<arrow::Table>& rows, arrow::io::OutputStream& to, file_format format,
                 const csv_options& options = {});

}  // namespace espalier::engine
