// clauses.hpp - clauses that aggregates and window functions share.
#pragma once

#include <cstdint>

#include "engine/expr/expr.hpp"
#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// Returns the argument of an aggregate with FILTER: NULL, which aggregates ignore, where the condition is not true.
[[nodiscard]] inline expr_ptr only_where(const expr_ptr& filter, const expr_ptr& value) {
  return make_call(op::case_when, value->type, {filter, value, make_null(value->type)}, value->position);
}

/// Returns the direction of an ORDER BY key, as in expr::directions. NULLs are the greatest values.
[[nodiscard]] inline std::uint8_t direction_of(const ast::sort_key& key) {
  const bool first = key.nulls == ast::nulls_order::standard ? key.descending : key.nulls == ast::nulls_order::first;
  return static_cast<std::uint8_t>((key.descending ? 1 : 0) | (first ? 2 : 0));
}

}  // namespace espalier::engine
