// render.hpp - formats a result as text: a table, or JSON.
#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::cli {

enum class answer_format : std::uint8_t { table, csv, json, arrow };

/// Accepts "table", "csv", "json" or "arrow"; returns nothing for other names.
[[nodiscard]] std::optional<answer_format> answer_format_from(std::string_view name);

/// Receives pieces of text, in order.
using text_sink = std::function<void(std::string_view)>;

/// Prints columns under their names, numbers right-aligned, and the number of rows below.
void render_table(const arrow::Table& rows, const text_sink& to);

/// Prints one line: an array with an object per row. Duplicate column names get the suffixes _1, _2.
void render_json(const arrow::Table& rows, const text_sink& to);

}  // namespace espalier::cli
