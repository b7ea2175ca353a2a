#include "engine/sql/reached.hpp"

#include "engine/plan/visit.hpp"

namespace espalier::engine {

expr_ptr when(const expr_ptr& condition, const expr_ptr& value) {
  return make_call(op::case_when, value->type, {condition, value, make_null(value->type)}, value->position);
}

expr_ptr compared_where(const expr_ptr& condition, const expr_ptr& comparison, const std::set<column_id>& outer) {
  if (!is_comparison(comparison->kind)) return nullptr;
  for (std::size_t i = 0; i < 2; ++i) {
    std::set<column_id> used;
    collect_columns_and_outer(comparison->args[i], used);
    if (used.empty() || !contains_all(outer, comparison->args[i])) continue;
    auto sides = comparison->args;
    sides[i] = when(condition, sides[i]);
    return make_call(comparison->kind, comparison->type, std::move(sides), comparison->position);
  }
  return nullptr;
}

}  // namespace espalier::engine
