// read_into.hpp - reads files into an existing table, whose columns and types are used; nothing is inferred.
#pragma once

#include "engine/table/read.hpp"

namespace espalier::engine {

enum class column_match : std::uint8_t {
  by_position,  ///< refused if the file names exactly these columns in another order
  by_name       ///< each file in its own order, with exactly these columns
};

/// Returns the rows of the files for `columns`, in their order and types. Names match exactly or, if that fails,
/// ignoring case. Throws one sentence with the file and, if applicable, the column.
[[nodiscard]] std::shared_ptr<arrow::Table> read_into(const std::vector<column>& columns,
                                                      const std::string& path_or_glob, file_format format,
                                                      const csv_options& options, column_match match,
                                                      const progress& tell = {});

}  // namespace espalier::engine
