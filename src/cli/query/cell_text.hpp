// cell_text.hpp - single values of an answer as people and JSON read them.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>

namespace espalier::cli {

/// As PostgreSQL would print it: 2024-02-29 12:00:00.5, true, 12.50. NULL for NULL.
[[nodiscard]] std::string cell_text(const arrow::Array& values, std::int64_t row);

/// The same as a JSON value: numbers bare and exact, what JSON has no number for (NaN) and all else quoted.
[[nodiscard]] std::string cell_json(const arrow::Array& values, std::int64_t row);

[[nodiscard]] std::string json_string(const std::string& text);

/// Columns of numbers are set flush right.
[[nodiscard]] bool is_set_right(const arrow::DataType& type);

}  // namespace espalier::cli
