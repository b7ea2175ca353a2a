// read_formats.hpp - reads one file of one format, with the types it has; read.cpp combines them into a table.
#pragma once

#include <arrow/type_fwd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/table/read.hpp"

namespace espalier::engine {

using csv_types = std::map<std::string, std::shared_ptr<arrow::DataType>>;

/// `types` has types by column name; those of other columns are inferred from the first megabytes.
[[nodiscard]] std::shared_ptr<arrow::Table> read_csv_file(const std::filesystem::path& path, const csv_options& options,
                                                          const csv_types& types, const progress& tell);
[[nodiscard]] std::shared_ptr<arrow::Table> read_parquet_file(const std::filesystem::path& path, const progress& tell);
[[nodiscard]] std::shared_ptr<arrow::Table> read_arrow_file(const std::filesystem::path& path, const progress& tell);

/// Returns the column names of one file, as written; a CSV file has a header.
[[nodiscard]] std::vector<std::string> csv_file_names(const std::filesystem::path& path, const csv_options& options);
[[nodiscard]] std::vector<std::string> parquet_file_names(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::string> arrow_file_names(const std::filesystem::path& path);

/// Returns whether a quoted value of this CSV file contains a line break. If not, Arrow can split the file at line
/// breaks, which is much faster.
[[nodiscard]] bool has_quoted_line_breaks(const std::filesystem::path& path, char quote);
/// Returns whether the file contains 0x or 0X anywhere. Arrow reads numbers with this prefix as hexadecimal.
[[nodiscard]] bool may_have_hexadecimals(const std::filesystem::path& path);

}  // namespace espalier::engine
