#include <algorithm>
#include <map>

#include "engine/expr/failing.hpp"
#include "engine/plan/common_conjuncts.hpp"
#include "engine/plan/planner.hpp"
#include "engine/plan/visit.hpp"

namespace espalier::engine {
namespace {

plan_ptr with_conditions(plan_ptr plan, std::vector<expr_ptr> conditions) {
  if (conditions.empty()) return plan;
  auto out = std::make_shared<filter_node>();
  out->conditions = std::move(conditions);
  out->outputs = plan->outputs;
  out->inputs = {std::move(plan)};
  return out;
}

constexpr double most_growth = 1000;  // added nodes of a condition that is pushed through a projection

// Rewrites the condition to the columns that the projection reads.
expr_ptr seen_through(const expr_ptr& condition, const std::map<column_id, expr_ptr>& meaning) {
  return rewrite(condition, [&](const expr_ptr& e) -> expr_ptr {
    if (e->kind != op::column) return nullptr;
    const auto found = meaning.find(e->column);
    return found == meaning.end() ? nullptr : found->second;
  });
}

plan_ptr through_project(std::shared_ptr<project_node> project, const std::vector<expr_ptr>& conditions) {
  std::map<column_id, expr_ptr> meaning;
  for (std::size_t i = 0; i < project->outputs.size(); ++i) meaning[project->outputs[i].id] = project->expressions[i];
  std::vector<expr_ptr> below, above;
  for (const auto& condition : conditions) {
    auto seen = seen_through(condition, meaning);
    // Nested expressions would grow with every projection. Once a condition stays above, the later ones stay, too,
    // since it may guard them.
    const bool small = above.empty() && tree_size(seen) <= tree_size(condition) + most_growth;
    (small ? below : above).push_back(small ? std::move(seen) : condition);
  }
  project->inputs[0] = push_down(project->inputs[0], std::move(below));
  return with_conditions(project, std::move(above));
}

plan_ptr through_aggregate(std::shared_ptr<aggregate_node> aggregate, const std::vector<expr_ptr>& conditions) {
  std::set<column_id> keys;
  for (std::size_t i = 0; i < aggregate->keys.size(); ++i) {
    if (aggregate->keys[i]->kind == op::column) keys.insert(aggregate->outputs[i].id);
  }
  std::vector<expr_ptr> below, above;
  for (const auto& condition : conditions) {
    std::set<column_id> used;
    collect_columns(condition, used);
    // A condition without columns applies to all groups, also to the single group of an aggregation over no rows, so it
    // stays above.
    (!used.empty() && contains_all(keys, condition) ? below : above).push_back(condition);
  }
  aggregate->inputs[0] = push_down(aggregate->inputs[0], std::move(below));
  return with_conditions(aggregate, std::move(above));
}

// A condition on columns that every call partitions by removes whole partitions, so it may be checked first. Any other
// condition would change the rows that the calls see.
plan_ptr through_window(std::shared_ptr<window_node> window, const std::vector<expr_ptr>& conditions) {
  std::size_t shared = window->keys.size();
  for (const auto& call : window->calls) shared = std::min(shared, call.partition_keys);
  std::set<column_id> partition;
  for (std::size_t i = 0; i < shared; ++i) {
    if (window->keys[i].value->kind == op::column) partition.insert(window->keys[i].value->column);
  }
  std::vector<expr_ptr> below, above;
  for (const auto& condition : conditions) {
    (above.empty() && contains_all(partition, condition) ? below : above).push_back(condition);
  }
  window->inputs[0] = push_down(window->inputs[0], std::move(below));
  return with_conditions(window, std::move(above));
}

plan_ptr through_join(std::shared_ptr<join_node> join, std::vector<expr_ptr> conditions) {
  const auto left = output_ids(*join->inputs[0]);
  const auto right = output_ids(*join->inputs[1]);
  const auto type = join->type;
  std::vector<expr_ptr> to_left, to_right, on, above;
  std::vector<expr_ptr> written;
  for (const auto& condition : join->conditions) add_factored(condition, written);
  for (const auto& condition : written) {
    // The ON condition of an outer join decides which rows match, not which rows of the preserved side are returned.
    const bool may_left = type == join_type::inner || type == join_type::semi;
    const bool may_right = type != join_type::full;
    if (may_left && contains_all(left, condition)) {
      to_left.push_back(condition);
    } else if (may_right && contains_all(right, condition)) {
      to_right.push_back(condition);
    } else {
      on.push_back(condition);
    }
  }
  for (const auto& condition : conditions) {
    const bool may_left = type != join_type::full;
    const bool may_right = type == join_type::inner;
    if (may_left && contains_all(left, condition)) {
      to_left.push_back(condition);
    } else if (may_right && contains_all(right, condition)) {
      to_right.push_back(condition);
    } else {
      (type == join_type::inner ? on : above).push_back(condition);
    }
  }
  if (type == join_type::inner) {
    for (const auto& condition : on) {
      if (auto implied = implied_by_or(condition, left)) to_left.push_back(std::move(implied));
      if (auto implied = implied_by_or(condition, right)) to_right.push_back(std::move(implied));
    }
  }
  join->conditions = std::move(on);
  join->inputs[0] = push_down(join->inputs[0], std::move(to_left));
  join->inputs[1] = push_down(join->inputs[1], std::move(to_right));
  return with_conditions(join, std::move(above));
}

struct split_conditions {
  std::vector<expr_ptr> below, above;
};

// A condition on left columns is checked below the join, unless it may fail for a row that an earlier one excludes.
split_conditions conditions_of_left(const std::set<column_id>& left, const std::vector<expr_ptr>& conditions) {
  split_conditions out;
  for (const auto& condition : conditions) {
    const bool moves = contains_all(left, condition) && (out.above.empty() || cannot_fail(condition));
    (moves ? out.below : out.above).push_back(condition);
  }
  return out;
}

plan_ptr through_as_of(std::shared_ptr<as_of_node> join, const std::vector<expr_ptr>& conditions) {
  auto [below, above] = conditions_of_left(output_ids(*join->inputs[0]), conditions);
  join->inputs[0] = push_down(join->inputs[0], std::move(below));
  join->inputs[1] = push_down(join->inputs[1], {});
  return with_conditions(join, std::move(above));
}

// A left row keeps its results whatever the other left rows are, so a condition on left columns is checked first.
plan_ptr through_window_join(std::shared_ptr<window_join_node> join, const std::vector<expr_ptr>& conditions) {
  auto [below, above] = conditions_of_left(output_ids(*join->inputs[0]), conditions);
  join->inputs[0] = push_down(join->inputs[0], std::move(below));
  join->inputs[1] = push_down(join->inputs[1], {});
  return with_conditions(join, std::move(above));
}

}  // namespace

plan_ptr push_down(plan_ptr plan, std::vector<expr_ptr> conditions) {
  switch (plan->kind) {
    case node_kind::filter: {
      auto& filter = static_cast<filter_node&>(*plan);
      std::vector<expr_ptr> all;  // in the order of the statement, since a condition may guard later ones
      for (const auto& condition : filter.conditions) add_factored(condition, all);
      all.insert(all.end(), conditions.begin(), conditions.end());
      return push_down(filter.inputs[0], std::move(all));
    }
    case node_kind::scan: {
      auto& scan = static_cast<scan_node&>(*plan);
      scan.conditions.insert(scan.conditions.end(), conditions.begin(), conditions.end());
      // An index checks its conditions first, so every path does: they fail for the same rows.
      scan.conditions = harmless_first(std::move(scan.conditions));
      return plan;
    }
    case node_kind::project:
      return through_project(std::static_pointer_cast<project_node>(plan), conditions);
    case node_kind::aggregate:
      return through_aggregate(std::static_pointer_cast<aggregate_node>(plan), conditions);
    case node_kind::window:
      return through_window(std::static_pointer_cast<window_node>(plan), conditions);
    case node_kind::join:
      return through_join(std::static_pointer_cast<join_node>(plan), std::move(conditions));
    case node_kind::as_of_join:
      return through_as_of(std::static_pointer_cast<as_of_node>(plan), conditions);
    case node_kind::window_join:
      return through_window_join(std::static_pointer_cast<window_join_node>(plan), conditions);
    case node_kind::sort:
    case node_kind::distinct:
    case node_kind::numbered:
    case node_kind::key_filter:
      plan->inputs[0] = push_down(plan->inputs[0], std::move(conditions));
      return plan;
    case node_kind::limit:
    case node_kind::group_limit:
    case node_kind::union_all:
    case node_kind::set_operation:
      for (auto& input : plan->inputs) input = push_down(input, {});
      return with_conditions(plan, std::move(conditions));
    case node_kind::loaded:
    case node_kind::values:
    case node_kind::index_aggregate:
    case node_kind::shared:
      return with_conditions(plan, std::move(conditions));
  }
  return plan;
}

}  // namespace espalier::engine
