// hints.hpp - what a refusal adds for somebody who mistyped a name, forgot quotes or wrote a file where a table stands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/catalog.hpp"

namespace espalier::engine {

/// "; did you mean 'orders'?" with the candidate that differs from `name` by case or by a mistyped letter or two; empty
/// if none is near.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// The sentence for a table that is not there: the nearest one, or how a file of that name is read.
[[nodiscard]] std::string no_such_table(std::string_view name, const catalog& tables);

/// The sentence for an index that is not there.
[[nodiscard]] std::string no_such_index(std::string_view name, const catalog& tables);

/// The sentence for a column that a table does not have.
[[nodiscard]] std::string no_such_column(std::string_view name, const table_version& table);

/// What to write instead, behind a syntax error at that byte of the text; empty where nothing is known.
[[nodiscard]] std::string syntax_hint(std::string_view text, int position);

}  // namespace espalier::engine
