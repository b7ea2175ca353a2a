// convert.hpp - Arrow data of any kind into the types that tables store.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/table/table_version.hpp"

namespace espalier::engine {

/// The columns a table made of this data has. Throws where a column's type cannot be stored, or two have one name.
[[nodiscard]] std::vector<column> loaded_columns(const arrow::Schema& schema);

/// The same values in the stored types of `columns`, taken by position. Throws one sentence, naming the column, where a
/// value does not fit. What is stored already is not copied.
[[nodiscard]] std::shared_ptr<arrow::Table> converted(const std::shared_ptr<arrow::Table>& rows,
                                                      const std::vector<column>& columns);

/// Arrow schema of stored columns.
[[nodiscard]] std::shared_ptr<arrow::Schema> stored_schema(const std::vector<column>& columns);

/// What Arrow says about a failure, without its prefix and line breaks, to stand inside a sentence.
[[nodiscard]] std::string reason_of(const arrow::Status& status);

}  // namespace espalier::engine
