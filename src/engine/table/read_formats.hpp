// read_formats.hpp - one file of one format, in whatever types it has; read.cpp makes a table of them.
#pragma once

#include <arrow/type_fwd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/table/read.hpp"

namespace espalier::engine {

using csv_types = std::map<std::string, std::shared_ptr<arrow::DataType>>;

/// `types`: of columns by name; those of others are guessed from the first megabytes.
[[nodiscard]] std::shared_ptr<arrow::Table> read_csv_file(const std::filesystem::path& path, const csv_options& options,
                                                          const csv_types& types, const progress& tell);
[[nodiscard]] std::shared_ptr<arrow::Table> read_parquet_file(const std::filesystem::path& path, const progress& tell);
[[nodiscard]] std::shared_ptr<arrow::Table> read_arrow_file(const std::filesystem::path& path, const progress& tell);

/// Names of the columns in one file, as it writes them; a CSV file has a header.
[[nodiscard]] std::vector<std::string> csv_file_names(const std::filesystem::path& path, const csv_options& options);
[[nodiscard]] std::vector<std::string> parquet_file_names(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::string> arrow_file_names(const std::filesystem::path& path);

/// Does a quoted value of this CSV file contain a line break? Arrow cuts files at line breaks, which is much faster
/// where the answer is no.
[[nodiscard]] bool has_quoted_line_breaks(const std::filesystem::path& path, char quote);
/// Does the file contain 0x or 0X anywhere? Arrow reads numbers that begin with it as hexadecimal.
[[nodiscard]] bool may_have_hexadecimals(const std::filesystem::path& path);

}  // namespace espalier::engine
