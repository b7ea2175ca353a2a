// file_options.hpp - the options of COPY, read_csv, read_parquet and read_arrow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/table/read.hpp"

namespace espalier::engine {

/// Returns the format that read_csv, read_parquet or read_arrow reads.
[[nodiscard]] std::optional<file_format> format_of_function(std::string_view name);

/// Reads delimiter (sep, delim), quote, header and null (nullstr). Throws for other options, and for any option if the
/// format is not CSV.
[[nodiscard]] csv_options read_file_options(const std::vector<std::pair<std::string, std::string>>& options,
                                            file_format format, int position);

/// Throws 42501 for a statement that reads or writes files by `what`, where database_options forbids that.
[[noreturn]] void refuse_file_access(int position, const std::string& what);

}  // namespace espalier::engine
