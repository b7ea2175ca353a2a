// render.hpp - an answer as text: a table for people, or JSON.
#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::cli {

enum class answer_format : std::uint8_t { table, csv, json, arrow };

/// "table", "csv", "json" or "arrow"; nothing for other names.
[[nodiscard]] std::optional<answer_format> answer_format_from(std::string_view name);

/// Takes pieces of text, in order.
using text_sink = std::function<void(std::string_view)>;

/// Columns under their names, numbers flush right, and the number of rows below.
void render_table(const arrow::Table& rows, const text_sink& to);

/// One line: an array with an object for each row. Two columns of one name get _1, _2 behind it.
void render_json(const arrow::Table& rows, const text_sink& to);

}  // namespace espalier::cli
