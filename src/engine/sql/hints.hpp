// hints.hpp - hints in error messages for misspelt names, missing quotes and file names in place of table names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/catalog.hpp"

namespace espalier::engine {

/// Returns "; did you mean 'orders'?" for the candidate that differs from `name` by case or by one or two characters.
/// Returns an empty string if there is none.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Returns the error message for an unknown table, with the most similar name or how to read a file of that name.
[[nodiscard]] std::string no_such_table(std::string_view name, const catalog& tables);

/// Returns the error message for an unknown index.
[[nodiscard]] std::string no_such_index(std::string_view name, const catalog& tables);

/// Returns the error message for an unknown column of a table.
[[nodiscard]] std::string no_such_column(std::string_view name, const table_version& table);

/// Returns what to write instead after a syntax error at byte `position`, or an empty string.
[[nodiscard]] std::string syntax_hint(std::string_view text, int position);

}  // namespace espalier::engine
