// window_join_rule.cpp - recognises correlated aggregates that are aggregates over windows of one ordered value.
#include <algorithm>
#include <array>
#include <string_view>

#include "engine/sql/binder.hpp"

namespace espalier::engine {
namespace {

bool has_window_form(const aggregate_call& call, const std::set<column_id>& inner) {
  constexpr std::array<std::string_view, 5> functions{"count", "sum", "avg", "min", "max"};
  if (std::ranges::find(functions, call.function) == functions.end() || !call.more.empty()) return false;
  if (call.distinct && call.function != "min" && call.function != "max") return false;
  return !call.argument || (contains_all(inner, call.argument) && !has_correlated_query(call.argument));
}

// The value is evaluated for rows that no condition may reach, so it must not be able to fail.
bool is_plain_value(const expr_ptr& e) {
  if (e->type.id == type_id::varchar) return false;  // keys of texts differ between columns
  if (e->kind == op::cast) {
    const auto from = e->args[0]->type.id, to = e->type.id;
    return is_integer(from) && is_integer(to) && from <= to && is_plain_value(e->args[0]);
  }
  return e->kind == op::column;
}

// Adds a condition to the join. Returns false if it is neither an equality nor a bound, or if there is such a bound
// already.
bool add_condition(window_join_node& join, const expr_ptr& condition, const std::set<column_id>& outer,
                   const std::set<column_id>& inner) {
  if (!is_comparison(condition->kind) || condition->kind == op::not_equal || has_correlated_query(condition)) {
    return false;
  }
  const bool outer_first = uses_any(condition->args[0], outer);
  const auto& theirs = condition->args[outer_first ? 0 : 1];
  const auto& mine = condition->args[outer_first ? 1 : 0];
  std::set<column_id> used;
  collect_columns(mine, used);
  if (used.empty() || !contains_all(inner, mine) || !contains_all(outer, theirs)) return false;
  const op kind = outer_first ? mirrored(condition->kind) : condition->kind;
  if (kind == op::equal) {
    join.equal.emplace_back(theirs, mine);
    return true;
  }
  if (!is_plain_value(mine) || mine->type != theirs->type || (join.at && !same(*join.at, *mine))) return false;
  join.at = mine;
  const bool is_lower = kind == op::greater || kind == op::greater_equal;
  auto& bound = is_lower ? join.lo : join.hi;
  if (bound) return false;
  bound = theirs;
  (is_lower ? join.lo_inclusive : join.hi_inclusive) = kind == op::greater_equal || kind == op::less_equal;
  return true;
}

}  // namespace

std::shared_ptr<window_join_node> recognise_window_join(const plan_ptr& left, const plan_ptr& right,
                                                        const std::vector<expr_ptr>& conditions,
                                                        const std::vector<aggregate_call>& calls) {
  const auto outer = output_ids(*left), inner = output_ids(*right);
  const auto fits = [&](const aggregate_call& call) { return has_window_form(call, inner); };
  if (!std::ranges::all_of(calls, fits)) return nullptr;
  auto out = std::make_shared<window_join_node>();
  for (const auto& condition : conditions) {
    if (!add_condition(*out, condition, outer, inner)) return nullptr;
  }
  if (!out->at) return nullptr;
  out->calls = calls;
  out->outputs = left->outputs;
  for (const auto& call : calls) out->outputs.push_back({call.output, call.function, call.type});
  out->inputs = {left, right};
  return out;
}

}  // namespace espalier::engine
