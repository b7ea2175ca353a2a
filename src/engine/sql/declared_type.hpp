// declared_type.hpp - declared types, with the modifiers that are not part of a value's type: the length of a text, and
// numeric without a precision.
#pragma once

#include "engine/catalog.hpp"
#include "engine/expr/expr.hpp"
#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// Throws `located_error` for types that are not supported.
[[nodiscard]] declared_type declared(const ast::type_name& type);
/// Converts a value as INSERT and UPDATE store it. Texts that are too long and a loss of digits are errors.
[[nodiscard]] expr_ptr stored(const expr_ptr& value, const declared_type& to);
/// Converts a value by an explicit CAST, which truncates texts.
[[nodiscard]] expr_ptr explicitly_cast(const expr_ptr& value, const declared_type& to);

}  // namespace espalier::engine
