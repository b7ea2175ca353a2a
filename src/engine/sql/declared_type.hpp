// declared_type.hpp - types as statements write them, with what they say beyond the type of values: lengths of texts,
// and numeric without digits.
#pragma once

#include "engine/catalog.hpp"
#include "engine/sql/ast.hpp"
#include "engine/sql/expr.hpp"

namespace espalier::engine {

inline constexpr int plain_numeric_scale = 9;  ///< of numeric without digits, which has a precision of 38

/// Throws `located_error` for types that are not supported.
[[nodiscard]] declared_type declared(const ast::type_name& type);
/// The value as INSERT and UPDATE store it: texts that are too long and digits that would be lost are refused.
[[nodiscard]] expr_ptr stored(const expr_ptr& value, const declared_type& to);
/// The value as an explicit CAST has it: texts are cut.
[[nodiscard]] expr_ptr explicitly_cast(const expr_ptr& value, const declared_type& to);

}  // namespace espalier::engine
