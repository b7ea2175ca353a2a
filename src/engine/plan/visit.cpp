#include "engine/plan/visit.hpp"

#include <algorithm>

#include "engine/expr/failing.hpp"

namespace espalier::engine {
namespace {

using visitor = std::function<void(expr_ptr&)>;

void visit_list(std::vector<expr_ptr>& list, const visitor& visit) {
  for (auto& e : list) visit(e);
}

void visit_pairs(std::vector<std::pair<expr_ptr, expr_ptr>>& pairs, const visitor& visit) {
  for (auto& [left, right] : pairs) {
    visit(left);
    visit(right);
  }
}

void visit_if(expr_ptr& e, const visitor& visit) {
  if (e) visit(e);
}

void visit_calls(std::vector<aggregate_call>& calls, const visitor& visit) {
  for (auto& call : calls) {
    visit_if(call.argument, visit);
    visit_list(call.more, visit);
  }
}

void visit_window(window_node& node, const visitor& visit) {
  for (auto& key : node.keys) visit(key.value);
  for (auto& call : node.calls) {
    visit_list(call.arguments, visit);
    visit_if(call.frame.start_offset, visit);
    visit_if(call.frame.end_offset, visit);
    visit_if(call.range_key, visit);
    visit_if(call.range_start, visit);
    visit_if(call.range_end, visit);
  }
}

void visit_range(index_range& range, const visitor& visit) {
  visit_list(range.equal, visit);
  visit_if(range.lo, visit);
  visit_if(range.hi, visit);
}

void visit_join(join_node& join, const visitor& visit) {
  visit_list(join.conditions, visit);
  visit_pairs(join.equal, visit);
  visit_list(join.residual, visit);
  visit_if(join.band_value, visit);
  visit_if(join.band_lo, visit);
  visit_if(join.band_hi, visit);
  if (join.overlap) {
    for (auto& end : join.overlap->ends) visit(end);
  }
  if (join.lookup) visit_range(*join.lookup, visit);
  for (auto& link : join.filters) visit_list(link.keys, visit);
}

void visit_as_of(as_of_node& join, const visitor& visit) {
  visit_pairs(join.equal, visit);
  visit_if(join.left_at, visit);
  visit_if(join.right_at, visit);
  visit_if(join.distance, visit);
  for (auto& key : join.ties) visit(key.value);
  visit_list(join.tolerance, visit);
  visit_list(join.conditions, visit);
}

void visit_window_join(window_join_node& join, const visitor& visit) {
  visit_pairs(join.equal, visit);
  visit(join.at);
  visit_if(join.finish, visit);
  visit_if(join.lo, visit);
  visit_if(join.hi, visit);
  visit_calls(join.calls, visit);
  visit_list(join.conditions, visit);
}

void subqueries_in(const expr_ptr& e, std::vector<std::pair<plan_ptr, const expr*>>& found) {
  if (e->query) found.emplace_back(e->query, e.get());
  for (const auto& arg : e->args) subqueries_in(arg, found);
}

void collect(const plan_node& constant_plan, std::set<column_id>& used, std::set<column_id>& made) {
  auto& plan = const_cast<plan_node&>(constant_plan);  // only read
  for (const auto& output : plan.outputs) {
    // A projection or a join passes on columns of its inputs; counting them as defined here would hide outer columns.
    const bool passes_on =
        plan.kind != node_kind::scan && plan.kind != node_kind::loaded && plan.kind != node_kind::values &&
        plan.kind != node_kind::project && plan.kind != node_kind::aggregate && plan.kind != node_kind::union_all &&
        plan.kind != node_kind::numbered && plan.kind != node_kind::set_operation && plan.kind != node_kind::shared;
    if (!passes_on) made.insert(output.id);
  }
  if (plan.kind == node_kind::window) {
    for (const auto& call : static_cast<const window_node&>(plan).calls) made.insert(call.output);
  }
  if (plan.kind == node_kind::as_of_join) {
    const auto& join = static_cast<const as_of_node&>(plan);
    if (join.mark) made.insert(*join.mark);
  }
  if (plan.kind == node_kind::window_join) {
    for (const auto& call : static_cast<const window_join_node&>(plan).calls) made.insert(call.output);
  }
  for_each_expression(plan, [&](expr_ptr& e) {
    collect_columns(e, used);
    std::vector<std::pair<plan_ptr, const expr*>> inner;
    subqueries_in(e, inner);
    for (const auto& [query, where] : inner) collect(*query, used, made);
  });
  for (const auto& input : plan.inputs) collect(*input, used, made);
}

// A projection of an outer column keeps its id; the column is free nevertheless.
void uncount_outer_projections(const plan_node& plan, std::set<column_id>& made) {
  for (const auto& input : plan.inputs) uncount_outer_projections(*input, made);
  if (plan.kind != node_kind::project) return;
  const auto below = plan.inputs.empty() ? std::set<column_id>() : output_ids(*plan.inputs[0]);
  for (const auto& e : static_cast<const project_node&>(plan).expressions) {
    if (e->kind == op::column && !below.contains(e->column)) made.erase(e->column);
  }
}

}  // namespace

void for_each_expression(plan_node& node, const visitor& visit) {
  switch (node.kind) {
    case node_kind::scan: {
      auto& scan = static_cast<scan_node&>(node);
      visit_list(scan.conditions, visit);
      visit_list(scan.residual, visit);
      for (auto& range : scan.ranges) visit_range(range, visit);
      break;
    }
    case node_kind::values:
      for (auto& row : static_cast<values_node&>(node).rows) visit_list(row, visit);
      break;
    case node_kind::filter:
      visit_list(static_cast<filter_node&>(node).conditions, visit);
      break;
    case node_kind::project:
      visit_list(static_cast<project_node&>(node).expressions, visit);
      break;
    case node_kind::aggregate:
      visit_list(static_cast<aggregate_node&>(node).keys, visit);
      visit_calls(static_cast<aggregate_node&>(node).calls, visit);
      break;
    case node_kind::index_aggregate:
      visit_range(static_cast<index_aggregate_node&>(node).range, visit);
      break;
    case node_kind::sort:
      for (auto& key : static_cast<sort_node&>(node).keys) visit(key.value);
      break;
    case node_kind::window:
      visit_window(static_cast<window_node&>(node), visit);
      break;
    case node_kind::limit:
      visit_if(static_cast<limit_node&>(node).limit, visit);
      visit_if(static_cast<limit_node&>(node).offset, visit);
      break;
    case node_kind::join:
      visit_join(static_cast<join_node&>(node), visit);
      break;
    case node_kind::as_of_join:
      visit_as_of(static_cast<as_of_node&>(node), visit);
      break;
    case node_kind::window_join:
      visit_window_join(static_cast<window_join_node&>(node), visit);
      break;
    case node_kind::key_filter:
      visit_list(static_cast<key_filter_node&>(node).keys, visit);
      break;
    case node_kind::group_limit:
      visit_list(static_cast<group_limit_node&>(node).keys, visit);
      visit_if(static_cast<group_limit_node&>(node).limit, visit);
      visit_if(static_cast<group_limit_node&>(node).offset, visit);
      break;
    case node_kind::loaded:
    case node_kind::distinct:
    case node_kind::union_all:
    case node_kind::numbered:
    case node_kind::set_operation:
    case node_kind::shared:
      break;
  }
}

void for_each_subquery(plan_node& node, const std::function<void(const plan_ptr&, const expr&)>& visit) {
  std::vector<std::pair<plan_ptr, const expr*>> found;
  for_each_expression(node, [&](expr_ptr& e) { subqueries_in(e, found); });
  for (const auto& [query, where] : found) {
    visit(query, *where);
    for_each_subquery(*query, visit);
  }
  for (const auto& input : node.inputs) for_each_subquery(*input, visit);
}

void for_each_node(plan_node& plan, const std::function<void(plan_node&)>& visit) {
  std::set<const plan_node*> seen;
  const auto walk = [&](const auto& self, plan_node& node) -> void {
    if (!seen.insert(&node).second) return;
    visit(node);
    std::vector<std::pair<plan_ptr, const expr*>> found;
    for_each_expression(node, [&](expr_ptr& e) { subqueries_in(e, found); });
    for (const auto& [query, where] : found) self(self, *query);
    for (const auto& input : node.inputs) self(self, *input);
    if (node.kind == node_kind::shared) self(self, *static_cast<shared_node&>(node).source->body);
  };
  walk(walk, plan);
}

bool may_fail(plan_node& plan) {
  bool fails = false;
  const auto add_calls = [&](const auto& calls) {
    for (const auto& call : calls) fails |= !aggregate_cannot_fail(call);
  };
  for_each_node(plan, [&](plan_node& node) {
    for_each_expression(node, [&](const expr_ptr& e) { fails |= !cannot_fail(e); });
    if (node.kind == node_kind::aggregate) add_calls(static_cast<aggregate_node&>(node).calls);
    if (node.kind == node_kind::window_join) add_calls(static_cast<window_join_node&>(node).calls);
    fails |= node.kind == node_kind::window;  // its sums may overflow
  });
  return fails;
}

std::set<column_id> output_ids(const plan_node& plan) {
  std::set<column_id> out;
  for (const auto& output : plan.outputs) out.insert(output.id);
  return out;
}

std::set<column_id> free_columns(const plan_node& plan) {
  std::set<column_id> used, made, out;
  collect(plan, used, made);
  uncount_outer_projections(plan, made);
  std::set_difference(used.begin(), used.end(), made.begin(), made.end(), std::inserter(out, out.end()));
  return out;
}

void collect_columns_and_outer(const expr_ptr& e, std::set<column_id>& into) {
  collect_columns(e, into);
  std::vector<std::pair<plan_ptr, const expr*>> queries;
  subqueries_in(e, queries);
  for (const auto& [query, where] : queries) into.merge(free_columns(*query));
}

bool contains_all(const std::set<column_id>& have, const expr_ptr& e) {
  std::set<column_id> used;
  collect_columns_and_outer(e, used);
  return std::includes(have.begin(), have.end(), used.begin(), used.end());
}

}  // namespace espalier::engine
