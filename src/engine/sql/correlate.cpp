#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/sql/binder.hpp"
#include "engine/sql/error.hpp"

namespace espalier::engine {
namespace {

bool uses_any(const bound_ptr& e, const std::set<column_id>& columns) {
  std::set<column_id> used;
  collect_columns(e, used);
  return std::any_of(used.begin(), used.end(), [&](column_id id) { return columns.contains(id); });
}

bool has_correlated_query(const bound_ptr& e) {
  return any_node(e, [](const bound& node) { return node.query && !free_columns(*node.query).empty(); });
}

plan_ptr with_filter(plan_ptr input, std::vector<bound_ptr> conditions) {
  if (conditions.empty()) return input;
  auto out = std::make_shared<filter_node>();
  out->conditions = std::move(conditions);
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

void hoist(plan_ptr& node, const std::set<column_id>& outer, std::vector<bound_ptr>& hoisted, int position) {
  if (free_columns(*node).empty()) return;
  if (node->kind == node_kind::filter) {
    auto& filter = static_cast<filter_node&>(*node);
    std::vector<bound_ptr> kept;
    for (const auto& condition : filter.conditions) {
      if (has_correlated_query(condition)) refuse(condition->position, "A subquery here reaches out of two queries.");
      (uses_any(condition, outer) ? hoisted : kept).push_back(condition);
    }
    hoist(filter.inputs[0], outer, hoisted, position);
    node = with_filter(filter.inputs[0], std::move(kept));
    return;
  }
  if (node->kind == node_kind::project) {
    auto& project = static_cast<project_node&>(*node);
    for (const auto& e : project.expressions) {
      if (uses_any(e, outer))
        refuse(position, "The columns of this subquery cannot name those of the query around it.");
    }
    hoist(project.inputs[0], outer, hoisted, position);
    std::set<column_id> needed;
    for (const auto& condition : hoisted) collect_columns(condition, needed);
    const auto shown = output_ids(project);
    for (const auto& column : project.inputs[0]->outputs) {
      if (!needed.contains(column.id) || shown.contains(column.id)) continue;
      project.outputs.push_back(column);
      project.expressions.push_back(make_column(column.id, column.type));
    }
    return;
  }
  if (node->kind == node_kind::sort) {  // whose order means nothing to a join
    node = node->inputs[0];
    hoist(node, outer, hoisted, position);
    return;
  }
  refuse(
      position,
      "This subquery names columns of the query around it in a way that is not supported; they can stand in its WHERE, "
      "where it has no GROUP BY, DISTINCT or LIMIT (other than an as-of join's), or rewrite it as a join.");
}

bool is_one(const bound_ptr& e) {
  return e && is_literal(e) && e->value->is_valid && static_cast<const arrow::Int64Scalar&>(*e->value).value == 1;
}

// The parts of SELECT ... FROM ... WHERE ... ORDER BY ... LIMIT 1, from the top down.
struct nearest_query {
  const sort_node* sort = nullptr;
  const project_node* project = nullptr;
  const filter_node* filter = nullptr;
};

std::optional<nearest_query> parts_of(const plan_ptr& plan) {
  nearest_query out;
  const plan_node* at = plan.get();
  if (at->kind == node_kind::project) {
    for (const auto& e : static_cast<const project_node*>(at)->expressions) {
      if (e->kind != op::column) return std::nullopt;
    }
    at = at->inputs[0].get();
  }
  if (at->kind != node_kind::limit) return std::nullopt;
  const auto& limit = static_cast<const limit_node&>(*at);
  if (!is_one(limit.limit) || limit.offset) return std::nullopt;
  at = at->inputs[0].get();
  if (at->kind != node_kind::sort) return std::nullopt;
  out.sort = static_cast<const sort_node*>(at);
  at = at->inputs[0].get();
  if (at->kind != node_kind::project) return std::nullopt;
  out.project = static_cast<const project_node*>(at);
  at = at->inputs[0].get();
  if (at->kind != node_kind::filter || out.sort->keys.size() != 1) return std::nullopt;
  out.filter = static_cast<const filter_node*>(at);
  return out;
}

// Sorts the conditions into the as-of join's parts; false if one of them fits none.
bool read_conditions(const nearest_query& query, const std::set<column_id>& outer, const bound_ptr& at, as_of_node& out,
                     std::vector<bound_ptr>& inner) {
  out.earlier = query.sort->keys[0].descending;
  for (const auto& condition : query.filter->conditions) {
    if (!uses_any(condition, outer)) {
      inner.push_back(condition);
      continue;
    }
    if (!is_comparison(condition->kind) || condition->kind == op::not_equal) return false;
    const bool outer_first = uses_any(condition->args[0], outer);
    const auto& mine = condition->args[outer_first ? 1 : 0];
    const auto& theirs = condition->args[outer_first ? 0 : 1];
    if (uses_any(mine, outer) || !contains_all(outer, theirs)) return false;
    const op kind = outer_first ? mirrored(condition->kind) : condition->kind;
    if (kind == op::equal) {
      out.equal.emplace_back(theirs, mine);
      continue;
    }
    if (!same(*mine, *at)) return false;
    const bool towards = (kind == op::less || kind == op::less_equal) == out.earlier;
    if (!towards) {
      out.tolerance.push_back(condition);
      continue;
    }
    if (out.left_at) return false;
    out.left_at = theirs;
    out.strict = kind == op::less || kind == op::greater;
  }
  return out.left_at != nullptr;
}

}  // namespace

std::vector<bound_ptr> hoist_outer_conditions(plan_ptr& plan, int position) {
  std::vector<bound_ptr> out;
  hoist(plan, free_columns(*plan), out, position);
  if (!free_columns(*plan).empty())
    refuse(position, "This subquery names columns of the query around it too deep inside.");
  return out;
}

std::shared_ptr<as_of_node> recognise_as_of(const plan_ptr& left, const plan_ptr& right) {
  const auto query = parts_of(right);
  if (!query || !free_columns(*query->filter->inputs[0]).empty()) return nullptr;
  const auto outer = output_ids(*left);
  // The sort key in terms of what the projection reads.
  bound_ptr at;
  for (std::size_t i = 0; i < query->project->outputs.size(); ++i) {
    if (uses_any(query->project->expressions[i], outer)) return nullptr;
    const auto& key = query->sort->keys[0].value;
    if (key->kind == op::column && query->project->outputs[i].id == key->column) at = query->project->expressions[i];
  }
  if (!at) return nullptr;
  auto out = std::make_shared<as_of_node>();
  out->right_at = at;
  std::vector<bound_ptr> inner;
  if (!read_conditions(*query, outer, at, *out, inner)) return nullptr;

  plan_ptr input = with_filter(query->filter->inputs[0], std::move(inner));
  const bool plain = std::all_of(query->project->expressions.begin(), query->project->expressions.end(),
                                 [](const bound_ptr& e) { return e->kind == op::column; });
  if (!plain) {
    auto project = std::make_shared<project_node>(*query->project);
    const auto shown = output_ids(*project);
    for (const auto& column : input->outputs) {
      if (shown.contains(column.id)) continue;
      project->outputs.push_back(column);
      project->expressions.push_back(make_column(column.id, column.type));
    }
    project->inputs = {input};
    input = project;
  }
  out->outputs = left->outputs;
  out->outputs.insert(out->outputs.end(), right->outputs.begin(), right->outputs.end());
  out->inputs = {left, input};
  return out;
}

plan_ptr binder::exists_join(plan_ptr input, const bound_ptr& e, bool negated) {
  plan_ptr inner = e->query;
  auto conditions = hoist_outer_conditions(inner, e->position);
  const auto have = output_ids(*input);
  const auto of_inner = output_ids(*inner);
  std::set<column_id> both = have;
  both.insert(of_inner.begin(), of_inner.end());
  for (const auto& condition : conditions) {
    if (!contains_all(both, condition)) refuse(e->position, "This subquery names columns that are out of its reach.");
  }
  return joined(std::move(input), std::move(inner), negated ? join_type::anti : join_type::semi, std::move(conditions));
}

plan_ptr binder::in_join(plan_ptr input, const bound_ptr& e) {
  plan_ptr inner = e->query;
  const auto output = inner->outputs[0];
  std::vector<bound_ptr> conditions;
  if (!free_columns(*inner).empty()) conditions = hoist_outer_conditions(inner, e->position);
  conditions.push_back(comparison(op::equal, e->args[0], make_column(output.id, output.type), e->position));
  return joined(std::move(input), std::move(inner), join_type::semi, std::move(conditions));
}

plan_ptr binder::filtered(plan_ptr input, const bound_ptr& condition) {
  std::vector<bound_ptr> parts, kept;
  split_conjunction(condition, parts);
  for (const auto& part : parts) {
    const bool negated = part->kind == op::logical_not;
    const auto& core = negated ? part->args[0] : part;
    const bool correlated = core->query && !free_columns(*core->query).empty();
    if (core->kind == op::exists_query && correlated) {
      input = exists_join(std::move(input), core, negated);
    } else if (core->kind == op::in_query && !negated) {
      input = in_join(std::move(input), core);
    } else {
      if (has_correlated_query(part)) {
        refuse(part->position,
               "A subquery that names columns of the query around it can stand in EXISTS, NOT EXISTS and IN only, as a "
               "condition of its own.");
      }
      kept.push_back(part);
    }
  }
  return with_filter(std::move(input), std::move(kept));
}

}  // namespace espalier::engine
