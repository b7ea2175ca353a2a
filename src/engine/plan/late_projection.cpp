// late_projection.cpp - the select list of ORDER BY ... LIMIT is evaluated for the rows of the result.
//
// An index that has the order of ORDER BY is read until there are enough rows, so expressions of the select list that
// may fail are evaluated above LIMIT, whatever the access path. Sort keys are evaluated for all rows.
#include <algorithm>

#include "engine/expr/failing.hpp"
#include "engine/plan/planner.hpp"
#include "engine/plan/visit.hpp"

namespace espalier::engine {
namespace {

// Returns the projection below LIMIT, or below LIMIT and a sort; null if there is none.
project_node* projection_below(const plan_node& limit, sort_node*& sort) {
  plan_node* at = limit.inputs[0].get();
  if (at->kind == node_kind::sort) {
    sort = static_cast<sort_node*>(at);
    at = at->inputs[0].get();
  }
  return at->kind == node_kind::project ? static_cast<project_node*>(at) : nullptr;
}

// Moves expressions that may fail above the LIMIT. Returns null if there are none.
plan_ptr projected_late(const plan_ptr& limit) {
  sort_node* sort = nullptr;
  auto* below = projection_below(*limit, sort);
  if (below == nullptr) return nullptr;
  std::set<column_id> keys;
  if (sort != nullptr) {
    for (const auto& key : sort->keys) collect_columns(key.value, keys);
  }
  const auto is_late = [&](std::size_t i) {
    return !keys.contains(below->outputs[i].id) && !cannot_fail(below->expressions[i]);
  };
  auto above = std::make_shared<project_node>();
  std::vector<output_column> outputs;
  std::vector<expr_ptr> expressions;
  std::set<column_id> have, read;
  for (std::size_t i = 0; i < below->outputs.size(); ++i) {
    const auto& output = below->outputs[i];
    above->outputs.push_back(output);
    if (is_late(i)) {
      above->expressions.push_back(below->expressions[i]);
      collect_columns(below->expressions[i], read);
      continue;
    }
    above->expressions.push_back(make_column(output.id, output.type));
    outputs.push_back(output);
    expressions.push_back(below->expressions[i]);
    have.insert(output.id);
  }
  if (outputs.size() == below->outputs.size()) return nullptr;
  for (const auto& column : below->inputs[0]->outputs) {
    if (!read.contains(column.id) || !have.insert(column.id).second) continue;
    outputs.push_back(column);
    expressions.push_back(make_column(column.id, column.type));
  }
  below->outputs = outputs;
  below->expressions = std::move(expressions);
  if (sort != nullptr) sort->outputs = outputs;
  limit->outputs = std::move(outputs);
  above->inputs = {limit};
  return above;
}

}  // namespace

plan_ptr with_late_projections(plan_ptr plan) {
  for (auto& input : plan->inputs) input = with_late_projections(std::move(input));
  if (plan->kind != node_kind::limit) return plan;
  auto late = projected_late(plan);
  return late ? late : plan;
}

}  // namespace espalier::engine
