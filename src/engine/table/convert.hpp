// convert.hpp - converts Arrow data of any type to the stored types of tables.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/table/table_version.hpp"

namespace espalier::engine {

/// Returns the columns of a table with this data. Throws if a column's type cannot be stored or two columns have the
/// same name.
[[nodiscard]] std::vector<column> loaded_columns(const arrow::Schema& schema);

/// Converts the values to the stored types of `columns`, by position. Throws one sentence with the column if a value
/// does not fit. Data that already has the stored type is not copied.
[[nodiscard]] std::shared_ptr<arrow::Table> converted(const std::shared_ptr<arrow::Table>& rows,
                                                      const std::vector<column>& columns);

/// Returns the Arrow schema of stored columns.
[[nodiscard]] std::shared_ptr<arrow::Schema> stored_schema(const std::vector<column>& columns);

/// Returns the errno of a failed system call, or 0 for other statuses.
[[nodiscard]] int errno_of(const arrow::Status& status);
/// Returns the system's message for errno_of(), otherwise Arrow's error message without its prefix and line breaks, for
/// use inside a sentence.
[[nodiscard]] std::string reason_of(const arrow::Status& status);

}  // namespace espalier::engine
