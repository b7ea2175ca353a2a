// read.hpp - reads one or several CSV, Parquet or Arrow files into the stored types of a table.
#pragma once

#include <arrow/type_fwd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/table_version.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

enum class file_format : std::uint8_t { csv, parquet, arrow };

/// Accepts "csv", "parquet" and "arrow" in any case; returns nothing for other names.
[[nodiscard]] std::optional<file_format> format_from_name(std::string_view name);
/// Chooses by suffix: .csv, .tsv, .txt; .parquet, .pq; .arrow, .feather, .ipc. Returns nothing for others.
[[nodiscard]] std::optional<file_format> format_from_path(const std::filesystem::path& path);
[[nodiscard]] std::string_view to_string(file_format format);

struct csv_options {
  char delimiter = ',';
  char quote = '"';
  bool header = true;                ///< the first line has the names; otherwise they are column0, column1, ...
  std::string null_text{};           ///< the text of NULL; a quoted value is never NULL
  std::vector<std::string> names{};  ///< replace the header's names, for all columns
  std::map<std::string, column_type> types{};  ///< types by column name; those of other columns are inferred
};

/// Returns the files that match `*`, `?` and `[...]` in the pattern, sorted; `{this,that}` is expanded in this order. A
/// backslash escapes the next character. The name of an existing file matches itself. Throws if nothing matches.
[[nodiscard]] std::vector<std::filesystem::path> matching_files(const std::string& path_or_glob);

/// Handling of columns whose types a table cannot store.
enum class unsupported_columns : std::uint8_t {
  refused,
  kept  ///< kept as they are, for queries that do not use them; at least one other column is required
};

/// Reads all files, whose columns must agree, into stored types. Uses all cores. Throws one sentence with the file
/// name.
[[nodiscard]] std::shared_ptr<arrow::Table> read_table(const std::string& path_or_glob, file_format format,
                                                       const csv_options& options = {}, const progress& tell = {},
                                                       unsupported_columns odd = unsupported_columns::refused);

}  // namespace espalier::engine
