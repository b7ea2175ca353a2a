#include "engine/plan/planner.hpp"

#include <arrow/scalar.h>
#include <arrow/table.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/catalog.hpp"
#include "engine/plan/join_order.hpp"
#include "engine/plan/sample.hpp"
#include "engine/plan/visit.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

double log2_of(double rows) { return std::log2(std::max(rows, 2.0)); }

std::optional<std::uint64_t> literal_count(const expr_ptr& e) {
  if (!e) return 0;
  if (!is_literal(e) || !e->value->is_valid) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<const arrow::Int64Scalar&>(*e->value).value);
}

// A sort below a LIMIT has to return the first rows only. Projections between them do not matter.
void limit_sort(const limit_node& limit) {
  const auto count = limit.limit ? literal_count(limit.limit) : std::nullopt;
  const auto offset = literal_count(limit.offset);
  if (!count || !offset || *count > no_limit - *offset) return;
  plan_node* at = limit.inputs[0].get();
  while (at->kind == node_kind::project) at = at->inputs[0].get();
  if (at->kind == node_kind::sort) static_cast<sort_node*>(at)->limit = *count + *offset;
}

double input_rows(const plan_node& node) { return node.inputs.empty() ? 0 : node.inputs[0]->estimate; }

void estimate(plan_node& node) {
  double below = 0;
  for (const auto& input : node.inputs) below += input->cost;
  const double rows = input_rows(node);
  switch (node.kind) {
    case node_kind::loaded:
      node.estimate = static_cast<double>(static_cast<file_scan_node&>(node).rows->num_rows());
      break;
    case node_kind::values:
      node.estimate = static_cast<double>(static_cast<values_node&>(node).rows.size());
      break;
    case node_kind::filter: {
      node.estimate = rows;
      const auto& conditions = static_cast<filter_node&>(node).conditions;
      for (const auto& condition : conditions) node.estimate *= selectivity(condition);
      node.cost = below + rows * cost::scanned_value * static_cast<double>(conditions.size() + node.outputs.size());
      return;
    }
    case node_kind::aggregate:
      node.estimate = static_cast<aggregate_node&>(node).keys.empty() ? 1 : std::max(1.0, std::sqrt(rows) * 4);
      node.estimate = std::min(node.estimate, std::max(rows, 1.0));
      node.cost = below + rows * (static_cast<aggregate_node&>(node).in_order ? cost::counted_row : cost::hashed_row);
      return;
    case node_kind::distinct:
      node.estimate = std::max(1.0, rows / 2);
      node.cost = below + rows * (static_cast<distinct_node&>(node).in_order ? cost::counted_row : cost::hashed_row);
      return;
    case node_kind::sort:
      node.estimate = std::min(rows, static_cast<double>(static_cast<sort_node&>(node).limit));
      node.cost = below + rows * log2_of(rows) * cost::sorted_row;
      return;
    case node_kind::window:
      node.estimate = rows;
      node.cost = below + rows * log2_of(rows) * cost::sorted_row;
      return;
    case node_kind::limit: {
      const auto count = literal_count(static_cast<limit_node&>(node).limit);
      node.estimate =
          static_cast<limit_node&>(node).limit && count ? std::min(rows, static_cast<double>(*count)) : rows;
      break;
    }
    case node_kind::union_all:
      for (const auto& input : node.inputs) node.estimate += input->estimate;
      break;
    case node_kind::project:
    case node_kind::numbered:
    case node_kind::key_filter:
      node.estimate = rows;
      break;
    case node_kind::set_operation:
      node.estimate = std::max(1.0, rows / 2);
      node.cost = below + (rows + node.inputs[1]->estimate) * cost::hashed_row;
      return;
    case node_kind::group_limit:
      node.estimate = std::max(1.0, rows / 2);
      node.cost = below + rows * cost::hashed_row;
      return;
    case node_kind::as_of_join:
      node.estimate = rows;
      node.cost = below + rows * cost::index_probe;
      return;
    case node_kind::window_join:
      node.estimate = rows;
      node.cost = below + 2 * rows * cost::index_probe +
                  node.inputs[1]->estimate * log2_of(node.inputs[1]->estimate) * cost::sorted_row;
      return;
    case node_kind::scan:
    case node_kind::join:
    case node_kind::index_aggregate:
    case node_kind::shared:
      return;  // set when they are chosen
  }
  node.cost = below;
}

void plan_shared(shared_node& node, const planner_options& options) {
  auto& source = *node.source;
  if (!source.planned) source.body = optimized(source.body, options);
  source.planned = true;
  node.estimate = source.body->estimate;
  node.cost = source.body->cost;
}

// Joins are ordered by the row counts of their inputs, so the conditions of a scan are evaluated on a sample of its
// rows.
void sample_scan(plan_node& input, const planner_options& options) {
  if (input.kind != node_kind::scan) return;
  auto& scan = static_cast<scan_node&>(input);
  if (!scan.ranges.empty() || scan.conditions.empty()) return;
  if (const auto share = sampled_share(scan, options)) {
    scan.estimate = *share * static_cast<double>(scan.table->version->live_rows());
  }
}

plan_ptr chosen(plan_ptr node, const planner_options& options) {
  if (node->kind == node_kind::shared) plan_shared(static_cast<shared_node&>(*node), options);
  if (node->kind == node_kind::limit) limit_sort(static_cast<limit_node&>(*node));
  if (node->kind == node_kind::aggregate) {
    if (auto by_index = aggregate_by_index(static_cast<aggregate_node&>(*node), options)) return by_index;
  }
  if (has_join_order(*node)) {
    const auto plan_input = [&](plan_ptr input) {
      input = chosen(std::move(input), options);
      sample_scan(*input, options);
      return input;
    };
    return ordered_joins(static_cast<join_node&>(*node), plan_input, options);
  }
  for (auto& input : node->inputs) {
    input = chosen(input, options);
    if (node->kind == node_kind::join) sample_scan(*input, options);
  }
  if (node->kind == node_kind::sort) {
    if (auto by_index = order_by_index(static_cast<sort_node&>(*node), options)) return by_index;
  }
  if (node->kind == node_kind::aggregate || node->kind == node_kind::distinct) group_by_index(*node, options);
  if (node->kind == node_kind::scan) choose_access_path(static_cast<scan_node&>(*node), options);
  if (node->kind == node_kind::join) choose_join_method(static_cast<join_node&>(*node), options);
  if (node->kind == node_kind::as_of_join) choose_as_of_index(static_cast<as_of_node&>(*node), options);
  if (node->kind == node_kind::window_join) choose_window_index(static_cast<window_join_node&>(*node), options);
  estimate(*node);
  return node;
}

// A projection that only passes columns through under the same ids is removed below a join, since it would hide the
// scan's indexes.
plan_ptr behind_plain_projections(plan_ptr node) {
  while (node->kind == node_kind::project) {
    const auto& project = static_cast<const project_node&>(*node);
    for (std::size_t i = 0; i < project.expressions.size(); ++i) {
      const auto& e = *project.expressions[i];
      if (e.kind != op::column || e.column != project.outputs[i].id) return node;
    }
    node = node->inputs[0];
  }
  return node;
}

void drop_plain_projections(plan_node& plan) {
  for (auto& input : plan.inputs) {
    const bool joins =
        plan.kind == node_kind::join || plan.kind == node_kind::as_of_join || plan.kind == node_kind::window_join;
    if (joins) input = behind_plain_projections(input);
    drop_plain_projections(*input);
  }
}

// Expressions are shared and immutable, so an expression with a subquery is rebuilt with the planned subquery. Several
// expressions may have the same one, which is `planned` once.
void plan_subqueries(plan_node& plan, const planner_options& options, std::map<plan_ptr, plan_ptr>& planned) {
  for_each_expression(plan, [&](expr_ptr& e) {
    e = rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
      if (!node->query) return nullptr;
      const auto [known, added] = planned.try_emplace(node->query);
      if (added) known->second = optimized(node->query, options);
      auto copy = std::make_shared<expr>(*node);
      copy->query = known->second;
      return copy;
    });
  });
  for (const auto& input : plan.inputs) plan_subqueries(*input, options, planned);
}

}  // namespace

double selectivity(const expr_ptr& condition) {
  switch (condition->kind) {
    case op::equal:
    case op::is_null:
      return 0.01;
    case op::in_list:
      return std::min(0.5, 0.01 * static_cast<double>(condition->args.size()));
    case op::like:
      return 0.1;
    case op::logical_and: {
      double out = 1;
      for (const auto& arg : condition->args) out *= selectivity(arg);
      return out;
    }
    case op::not_equal:
    case op::is_not_null:
      return 0.95;
    default:
      return 0.33;
  }
}

plan_ptr optimized(plan_ptr plan, const planner_options& options) {
  const auto outputs = output_ids(*plan);
  plan = with_late_projections(push_down(std::move(plan), {}));
  std::map<plan_ptr, plan_ptr> planned;
  plan_subqueries(*plan, options, planned);
  prune(*plan, outputs);
  drop_plain_projections(*plan);
  return chosen(std::move(plan), options);
}

}  // namespace espalier::engine
