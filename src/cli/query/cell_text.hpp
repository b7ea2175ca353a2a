// cell_text.hpp - formats single values of a result as text and as JSON.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>

namespace espalier::cli {

/// Formats as PostgreSQL does: 2024-02-29 12:00:00.5, true, 12.50. NULL is NULL.
[[nodiscard]] std::string cell_text(const arrow::Array& values, std::int64_t row);

/// Formats as a JSON value: numbers are exact and unquoted; numbers that JSON does not support (NaN) and all other
/// values are quoted.
[[nodiscard]] std::string cell_json(const arrow::Array& values, std::int64_t row);

[[nodiscard]] std::string json_string(const std::string& text);

/// Columns of numbers are right-aligned.
[[nodiscard]] bool is_set_right(const arrow::DataType& type);

}  // namespace espalier::cli
