// read.hpp - CSV, Parquet and Arrow files, one or many, into a table's stored types.
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

/// "csv", "parquet", "arrow", in any case; nothing for other names.
[[nodiscard]] std::optional<file_format> format_from_name(std::string_view name);
/// By the ending: .csv, .tsv, .txt; .parquet, .pq; .arrow, .feather, .ipc. Nothing for others.
[[nodiscard]] std::optional<file_format> format_from_path(const std::filesystem::path& path);
[[nodiscard]] std::string_view to_string(file_format format);

struct csv_options {
  char delimiter = ',';
  char quote = '"';
  bool header = true;                          ///< the first line has the names; else they are column0, column1, ...
  std::string null_text{};                     ///< how NULL is written; never where it is quoted
  std::vector<std::string> names{};            ///< instead of the header's, for all columns
  std::map<std::string, column_type> types{};  ///< of columns by name; those of others are found from the values
};

/// Files that match `*`, `?` and `[...]` in the pattern, sorted; those of `{this,that}` in this order. A backslash
/// takes the meaning of the next character away. The name of a file that exists is itself. Throws where nothing
/// matches.
[[nodiscard]] std::vector<std::filesystem::path> matching_files(const std::string& path_or_glob);

/// Columns of types that no table can hold.
enum class unsupported_columns : std::uint8_t {
  refused,
  kept  ///< as they are, for questions that do not use them; some other column there must be
};

/// Everything in the files, which must agree in their columns, in stored types. Uses all cores. Throws one sentence
/// that names the file.
[[nodiscard]] std::shared_ptr<arrow::Table> read_table(const std::string& path_or_glob, file_format format,
                                                       const csv_options& options = {}, const progress& tell = {},
                                                       unsupported_columns odd = unsupported_columns::refused);

}  // namespace espalier::engine
