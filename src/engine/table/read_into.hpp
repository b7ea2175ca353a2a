// read_into.hpp - rows of files for a table that is there: its columns and its types decide, nothing is guessed.
#pragma once

#include "engine/table/read.hpp"

namespace espalier::engine {

enum class column_match : std::uint8_t {
  by_position,  ///< refused where the file names exactly these columns in another order
  by_name       ///< each file in an order of its own, with all of these columns and no others
};

/// What the files hold for `columns`, in their order and types. Names agree exactly or, where that finds none, in
/// another case. Throws one sentence that names the file, and the column where one is to blame.
[[nodiscard]] std::shared_ptr<arrow::Table> read_into(const std::vector<column>& columns,
                                                      const std::string& path_or_glob, file_format format,
                                                      const csv_options& options, column_match match,
                                                      const progress& tell = {});

}  // namespace espalier::engine
