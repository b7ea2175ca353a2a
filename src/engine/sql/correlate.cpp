#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/error.hpp"
#include "engine/expr/failing.hpp"
#include "engine/sql/binder.hpp"

namespace espalier::engine {
bool uses_any(const expr_ptr& e, const std::set<column_id>& columns) {
  std::set<column_id> used;
  collect_columns_and_outer(e, used);
  return std::any_of(used.begin(), used.end(), [&](column_id id) { return columns.contains(id); });
}

bool has_correlated_query(const expr_ptr& e) {
  return any_node(e, [](const expr& node) { return node.query && !free_columns(*node.query).empty(); });
}

bool has_correlated_query(const plan_node& constant_plan) {
  auto& plan = const_cast<plan_node&>(constant_plan);  // only read
  bool found = false;
  for_each_expression(plan, [&](const expr_ptr& e) { found |= has_correlated_query(e); });
  return found || std::ranges::any_of(plan.inputs, [](const plan_ptr& input) { return has_correlated_query(*input); });
}

plan_ptr with_filter(plan_ptr input, std::vector<expr_ptr> conditions) {
  if (conditions.empty()) return input;
  auto out = std::make_shared<filter_node>();
  out->conditions = std::move(conditions);
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

namespace {

struct correlation {
  expr_ptr inner, outer;
};

std::optional<correlation> correlation_of(const expr_ptr& condition, const std::set<column_id>& outer) {
  if (condition->kind != op::equal || has_correlated_query(condition)) return std::nullopt;
  const bool outer_first = uses_any(condition->args[0], outer);
  const auto& theirs = condition->args[outer_first ? 0 : 1];
  const auto& mine = condition->args[outer_first ? 1 : 0];
  std::set<column_id> used;
  collect_columns(mine, used);
  if (used.empty() || uses_any(mine, outer) || !contains_all(outer, theirs)) return std::nullopt;
  return correlation{mine, theirs};
}

}  // namespace

bool is_correlated_equality(const expr_ptr& condition, const std::set<column_id>& outer) {
  if (has_correlated_query(condition)) return false;
  return contains_all(outer, condition) || correlation_of(condition, outer).has_value();
}

std::vector<expr_ptr> correlation_keys(binder& binds, plan_ptr& rows, const std::set<column_id>& outer,
                                       std::vector<expr_ptr>& conditions) {
  std::vector<expr_ptr> keys;
  auto project = std::make_shared<project_node>();
  for (auto& condition : conditions) {
    const auto found = correlation_of(condition, outer);
    if (!found) continue;
    auto key = found->inner;
    if (key->kind != op::column) {
      project->expressions.push_back(key);
      project->outputs.push_back({binds.new_column(), "", key->type});
      key = make_column(project->outputs.back().id, key->type, key->position);
      condition = make_call(op::equal, condition->type, {key, found->outer}, condition->position);
    }
    keys.push_back(std::move(key));
  }
  if (project->expressions.empty()) return keys;
  for (const auto& column : rows->outputs) {
    project->expressions.push_back(make_column(column.id, column.type));
    project->outputs.push_back(column);
  }
  project->inputs = {std::move(rows)};
  rows = std::move(project);
  return keys;
}

void refuse_two_levels_up(int position) {
  throw_sql_error(codes::feature_not_supported, position,
                  "This subquery refers to a table two or more query levels up, which is supported only in the WHERE "
                  "clause of a subquery without GROUP BY, DISTINCT, LIMIT and LATERAL. Rewrite it as a join.");
}

namespace {

[[noreturn]] void refuse_correlation(int position) {
  throw_sql_error(
      codes::feature_not_supported, position,
      "Unsupported correlated subquery: columns of the outer query are allowed in its WHERE, in equalities only where "
      "it has GROUP BY, DISTINCT or LIMIT. Rewrite it as a join.");
}

class hoisting {
 public:
  hoisting(binder& binds, std::set<column_id> outer, int position, bool filters_keys)
      : binds_(binds), outer_(std::move(outer)), position_(position), filters_keys_(filters_keys) {}

  void from(plan_ptr& node) {
    if (free_columns(*node).empty()) return;
    switch (node->kind) {
      case node_kind::filter:
        return from_filter(node);
      case node_kind::project:
        return from_project(static_cast<project_node&>(*node));
      case node_kind::sort:  // the order of the input does not matter to a join
        node = node->inputs[0];
        return from(node);
      case node_kind::join:
        return from_join(static_cast<join_node&>(*node));
      case node_kind::aggregate:
        return from_aggregate(static_cast<aggregate_node&>(*node));
      case node_kind::distinct:
        return from_distinct(*node);
      case node_kind::window:
        return from_window(static_cast<window_node&>(*node));
      case node_kind::limit:
        return from_limit(node);
      case node_kind::window_join:
        return from_window_join(static_cast<window_join_node&>(*node));
      default:
        refuse_correlation(position_);
    }
  }

  std::vector<expr_ptr> take() { return std::move(hoisted_); }
  std::vector<key_filter_link> take_filters() { return std::move(filters_); }

 private:
  void from_filter(plan_ptr& node) {
    auto& filter = static_cast<filter_node&>(*node);
    std::vector<expr_ptr> kept, moved;
    for (const auto& condition : filter.conditions) {
      (uses_any(condition, outer_) ? moved : kept).push_back(condition);
    }
    hoisted_.insert(hoisted_.end(), moved.begin(), moved.end());
    from(filter.inputs[0]);
    node = with_filter(filter.inputs[0], std::move(kept));
    if (filters_keys_) filter_keys(node, moved);
  }

  void filter_keys(plan_ptr& node, const std::vector<expr_ptr>& conditions) {
    auto out = std::make_shared<key_filter_node>();
    key_filter_link link;
    for (const auto& condition : conditions) {
      const auto keys = correlation_of(condition, outer_);
      if (!keys) continue;
      out->keys.push_back(keys->inner);
      link.keys.push_back(keys->outer);
    }
    if (link.keys.empty()) return;
    out->number = link.filter = binds_.new_column();
    out->outputs = node->outputs;
    out->inputs = {std::move(node)};
    node = std::move(out);
    filters_.push_back(std::move(link));
  }

  void from_project(project_node& project) {
    for (const auto& e : project.expressions) {
      if (uses_any(e, outer_)) {
        throw_sql_error(position_, "The columns of this subquery cannot name those of the query around it.");
      }
    }
    from(project.inputs[0]);
    std::set<column_id> needed;
    for (const auto& condition : hoisted_) collect_columns_and_outer(condition, needed);
    const auto shown = output_ids(project);
    for (const auto& column : project.inputs[0]->outputs) {
      if (!needed.contains(column.id) || shown.contains(column.id)) continue;
      project.outputs.push_back(column);
      project.expressions.push_back(make_column(column.id, column.type));
    }
  }

  void from_join(join_node& join) {
    const bool both = join.type == join_type::inner;
    if (!free_columns(*join.inputs[1]).empty() && !both) refuse_correlation(position_);
    std::vector<expr_ptr> kept;
    for (const auto& condition : join.conditions) {
      if (uses_any(condition, outer_) && !both) refuse_correlation(position_);
      (uses_any(condition, outer_) ? hoisted_ : kept).push_back(condition);
    }
    join.conditions = std::move(kept);
    for (auto& input : join.inputs) from(input);
    join.outputs = join.inputs[0]->outputs;
    if (join.type == join_type::semi || join.type == join_type::anti) return;
    join.outputs.insert(join.outputs.end(), join.inputs[1]->outputs.begin(), join.inputs[1]->outputs.end());
  }

  // Returns the conditions from below `input`, expressed in columns that the operator above it has to group by.
  std::vector<expr_ptr> keys_below(plan_ptr& input) {
    const auto before = hoisted_.size();
    from(input);
    std::vector<expr_ptr> below(hoisted_.begin() + static_cast<std::ptrdiff_t>(before), hoisted_.end());
    for (const auto& condition : below) {
      if (!is_correlated_equality(condition, outer_)) refuse_correlation(position_);
    }
    auto keys = correlation_keys(binds_, input, outer_, below);
    std::copy(below.begin(), below.end(), hoisted_.begin() + static_cast<std::ptrdiff_t>(before));
    return keys;
  }

  void from_aggregate(aggregate_node& aggregate) {
    for (const auto& call : aggregate.calls) {
      if (call.argument && uses_any(call.argument, outer_)) refuse_correlation(position_);
      for (const auto& e : call.more) {
        if (uses_any(e, outer_)) refuse_correlation(position_);
      }
    }
    for (const auto& key : aggregate.keys) {
      if (uses_any(key, outer_)) refuse_correlation(position_);
    }
    if (aggregate.keys.empty()) refuse_correlation(position_);
    for (const auto& key : keys_below(aggregate.inputs[0])) {
      if (output_ids(aggregate).contains(key->column)) continue;
      aggregate.outputs.insert(aggregate.outputs.begin() + static_cast<std::ptrdiff_t>(aggregate.keys.size()),
                               {key->column, "", key->type});
      aggregate.keys.push_back(key);
    }
  }

  void from_distinct(plan_node& distinct) {
    const auto columns = distinct.outputs;
    const auto keys = keys_below(distinct.inputs[0]);
    auto only = std::make_shared<project_node>();
    const auto add = [&](const output_column& column) {
      if (output_ids(*only).contains(column.id)) return;
      only->outputs.push_back(column);
      only->expressions.push_back(make_column(column.id, column.type));
    };
    for (const auto& column : columns) add(column);
    for (const auto& key : keys) add({key->column, "", key->type});
    only->inputs = {std::move(distinct.inputs[0])};
    distinct.outputs = only->outputs;
    distinct.inputs = {std::move(only)};
  }

  // The window functions of one outer row see the rows that match it, which the keys make a partition of their own.
  void from_window(window_node& window) {
    for_each_expression(window, [&](expr_ptr& e) {
      if (uses_any(e, outer_) || has_correlated_query(e)) refuse_correlation(position_);
    });
    std::vector<sort_key> keys;
    for (const auto& key : keys_below(window.inputs[0])) {
      keys.push_back({key, false, false});
      if (!output_ids(window).contains(key->column)) window.outputs.push_back({key->column, "", key->type});
    }
    for (auto& call : window.calls) call.partition_keys += keys.size();
    window.keys.insert(window.keys.begin(), keys.begin(), keys.end());
  }

  // The results of a left row do not depend on other left rows.
  void from_window_join(window_join_node& join) {
    for_each_expression(join, [&](expr_ptr& e) {
      if (uses_any(e, outer_)) refuse_correlation(position_);
    });
    if (!free_columns(*join.inputs[1]).empty()) refuse_correlation(position_);
    from(join.inputs[0]);
    join.outputs = join.inputs[0]->outputs;
    for (const auto& call : join.calls) join.outputs.push_back({call.output, call.function, call.type});
  }

  void from_limit(plan_ptr& node) {
    const auto& limit = static_cast<const limit_node&>(*node);
    auto out = std::make_shared<group_limit_node>();
    out->limit = limit.limit;
    out->offset = limit.offset;
    auto below = limit.inputs[0];
    if (below->kind == node_kind::sort) {
      out->keys = keys_below(below->inputs[0]);
      below->outputs = below->inputs[0]->outputs;
    } else {
      out->keys = keys_below(below);
    }
    out->outputs = below->outputs;
    out->inputs = {std::move(below)};
    node = std::move(out);
  }

  binder& binds_;
  std::set<column_id> outer_;
  int position_;
  bool filters_keys_;
  std::vector<expr_ptr> hoisted_;
  std::vector<key_filter_link> filters_;
};

// Returns whether an operator above the correlated conditions of a subquery evaluates an expression that may fail.
bool has_failing_expression(plan_node& plan, const std::set<column_id>& outer) {
  if (plan.kind == node_kind::join) {
    // The right side of such a join is computed for the left rows.
    return !static_cast<const join_node&>(plan).filters.empty() && !free_columns(*plan.inputs[0]).empty();
  }
  bool fails = false, is_correlated = false;
  for_each_expression(plan, [&](const expr_ptr& e) {
    fails |= !cannot_fail(e);
    is_correlated |= plan.kind == node_kind::filter && uses_any(e, outer);
  });
  if (is_correlated) return false;
  const auto below = [&](const plan_ptr& input) { return has_failing_expression(*input, outer); };
  return (fails && plan.kind != node_kind::limit) || std::ranges::any_of(plan.inputs, below);
}

bool is_one(const expr_ptr& e) {
  return e && is_literal(e) && e->value->is_valid && static_cast<const arrow::Int64Scalar&>(*e->value).value == 1;
}

// EXISTS only tests whether there is a row, so LIMIT 1, the order and the select list are dropped.
plan_ptr any_rows(plan_ptr query) {
  const auto is_limit = [](const plan_node& node) {
    if (node.kind != node_kind::limit) return false;
    const auto& limit = static_cast<const limit_node&>(node);
    return is_one(limit.limit) && !limit.offset;
  };
  while (query->kind == node_kind::project || query->kind == node_kind::sort || query->kind == node_kind::distinct ||
         is_limit(*query)) {
    query = query->inputs[0];
  }
  return query;
}

// The parts of SELECT ... FROM ... WHERE ... ORDER BY ... LIMIT 1, from the top down.
struct nearest_query {
  const sort_node* sort = nullptr;
  const project_node* project = nullptr;
  std::vector<expr_ptr> conditions;
  plan_ptr input;
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
  out.input = at->inputs[0];
  if (out.input->kind == node_kind::filter) {
    out.conditions = static_cast<const filter_node&>(*out.input).conditions;
    out.input = out.input->inputs[0];
  }
  return out;
}

// Returns the values of the query's outputs, in the columns that its inner projection reads.
std::optional<std::vector<expr_ptr>> selected_values(const plan_node& query, const project_node& inner) {
  const auto value_of = [&](column_id id) -> expr_ptr {
    for (std::size_t i = 0; i < inner.outputs.size(); ++i) {
      if (inner.outputs[i].id == id) return inner.expressions[i];
    }
    return nullptr;
  };
  std::vector<expr_ptr> out;
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    const bool projects = query.kind == node_kind::project;
    out.push_back(
        value_of(projects ? static_cast<const project_node&>(query).expressions[i]->column : query.outputs[i].id));
    if (!out.back()) return std::nullopt;
  }
  return out;
}

// Returns the sort keys, expressed in the columns that the projection reads.
std::optional<std::vector<sort_key>> keys_below_projection(const nearest_query& query) {
  std::vector<sort_key> out = query.sort->keys;
  for (auto& key : out) {
    const auto& outputs = query.project->outputs;
    const auto is_key = [&](const output_column& output) {
      return key.value->kind == op::column && output.id == key.value->column;
    };
    const auto found = std::ranges::find_if(outputs, is_key);
    if (found == outputs.end()) return std::nullopt;
    key.value = query.project->expressions[static_cast<std::size_t>(found - outputs.begin())];
  }
  return out;
}

// Assigns each condition to a part of the as-of join. Returns false if one of them does not fit any part.
bool read_conditions(const nearest_query& query, const std::set<column_id>& outer, const expr_ptr& reached,
                     const expr_ptr& at, as_of_node& out, std::vector<expr_ptr>& inner) {
  out.earlier = query.sort->keys[0].descending;
  for (const auto& written : query.conditions) {
    if (has_correlated_query(written)) return false;
    if (!uses_any(written, outer)) {
      inner.push_back(written);
      continue;
    }
    const auto condition = reached ? compared_where(reached, written, outer) : written;
    if (!condition) return false;
    out.conditions.push_back(condition);
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

// The two values whose distance a query is ordered by.
struct distance_parts {
  expr_ptr inner, outer;
};

// Returns the parts of abs(a.n - b.n), of integers or dates, and of abs(extract(epoch from a.ts - b.ts)). A distance in
// seconds is rounded from 272 years on, but never less than one that is shorter; the join compares exact distances, as
// PostgreSQL does, whose seconds are numeric.
std::optional<distance_parts> distance_of(const expr_ptr& key, const std::set<column_id>& outer) {
  const auto is_call = [](const expr& e, const char* name) { return e.kind == op::function && e.name == name; };
  if (!is_call(*key, "abs") || key->args.size() != 1) return std::nullopt;
  const expr* difference = key->args[0].get();
  if (is_call(*difference, "seconds_of")) difference = difference->args[0].get();
  if (difference->kind != op::subtract && !is_call(*difference, "time_between")) return std::nullopt;
  const bool outer_first = uses_any(difference->args[0], outer);
  const auto& theirs = difference->args[outer_first ? 0 : 1];
  const auto& mine = difference->args[outer_first ? 1 : 0];
  std::set<column_id> used;
  collect_columns(mine, used);
  if (used.empty() || uses_any(mine, outer) || !uses_any(theirs, outer) || !contains_all(outer, theirs)) {
    return std::nullopt;
  }
  const auto type = mine->type;
  const bool is_exact = is_integer(type.id) || type.id == type_id::date || type.id == type_id::timestamp;
  if (!is_exact || type != theirs->type || !cannot_fail(mine) || !cannot_fail(theirs)) return std::nullopt;
  return distance_parts{mine, theirs};
}

// Reads ... ORDER BY abs(a.t - b.t) LIMIT 1 with equalities of both sides. A second key may be b.t, ascending.
bool read_distance(const nearest_query& query, const std::vector<sort_key>& keys, const std::set<column_id>& outer,
                   as_of_node& out, std::vector<expr_ptr>& inner) {
  const auto parts = distance_of(keys[0].value, outer);
  if (!parts || keys[0].descending || keys[0].nulls_first || keys.size() > 2) return false;
  if (keys.size() == 2 && (keys[1].descending || keys[1].nulls_first || !same(*keys[1].value, *parts->inner))) {
    return false;
  }
  for (const auto& condition : query.conditions) {
    if (has_correlated_query(condition)) return false;
    if (!uses_any(condition, outer)) {
      inner.push_back(condition);
      continue;
    }
    const auto equal = correlation_of(condition, outer);
    if (!equal) return false;
    out.equal.emplace_back(equal->outer, equal->inner);
    out.conditions.push_back(condition);
  }
  out.left_at = parts->outer;
  out.right_at = parts->inner;
  out.distance = keys[0].value;
  return true;
}

// Returns the left columns of the join and the selected expressions, which are evaluated for the rows that were found.
// Where none was found they are NULL, whatever their value would be for NULLs.
plan_ptr with_selected(binder& binds, std::shared_ptr<as_of_node> join, const plan_node& left, const plan_node& right,
                       const std::vector<expr_ptr>& selected) {
  constexpr column_type mark_type{type_id::int16}, truth{type_id::boolean};
  const auto of_left = output_ids(left);
  auto out = std::make_shared<project_node>();
  for (const auto& column : left.outputs) out->expressions.push_back(make_column(column.id, column.type));
  for (const auto& e : selected) {
    if (!join->keep_unmatched || (is_null_without_row(e) && !uses_any(e, of_left))) {
      out->expressions.push_back(e);
      continue;
    }
    if (!join->mark) {
      join->mark = binds.new_column();
      join->outputs.push_back({*join->mark, "", mark_type});
    }
    const auto is_found = make_call(op::is_not_null, truth, {make_column(*join->mark, mark_type)}, e->position);
    out->expressions.push_back(make_call(op::case_when, e->type, {is_found, e, make_null(e->type)}, e->position));
  }
  out->outputs = left.outputs;
  out->outputs.insert(out->outputs.end(), right.outputs.begin(), right.outputs.end());
  out->inputs = {std::move(join)};
  return out;
}

}  // namespace

std::vector<expr_ptr> pull_up_correlated_predicates(binder& binds, plan_ptr& plan, int position, bool may_fail,
                                                    std::vector<key_filter_link>& filters) {
  const auto outer = free_columns(*plan);
  hoisting work(binds, outer, position, may_fail || has_failing_expression(*plan, outer));
  work.from(plan);
  if (!free_columns(*plan).empty()) refuse_correlation(position);
  const auto found = work.take_filters();
  filters.insert(filters.end(), found.begin(), found.end());
  return work.take();
}

plan_ptr recognise_as_of(binder& binds, const plan_ptr& left, const plan_ptr& right, bool keep_unmatched,
                         const expr_ptr& reached) {
  const auto query = parts_of(right);
  if (!query || !free_columns(*query->input).empty()) return nullptr;
  const auto outer = output_ids(*left);
  const auto keys = keys_below_projection(*query);
  if (!keys) return nullptr;
  auto out = std::make_shared<as_of_node>();
  out->keep_unmatched = keep_unmatched;
  std::vector<expr_ptr> inner;
  if (uses_any(keys->front().value, outer)) {
    if (reached || !read_distance(*query, *keys, outer, *out, inner)) return nullptr;
  } else {
    const auto uses_outer = [&](const expr_ptr& e) { return uses_any(e, outer); };
    if (std::ranges::any_of(query->project->expressions, uses_outer)) return nullptr;
    out->right_at = keys->front().value;
    out->ties.assign(keys->begin() + 1, keys->end());
    // Keys that decide between equal rows are evaluated for rows that no left row meets.
    if (!std::ranges::all_of(out->ties, [](const sort_key& key) { return cannot_fail(key.value); })) return nullptr;
    if (!read_conditions(*query, outer, reached, out->right_at, *out, inner)) return nullptr;
  }

  plan_ptr input = with_filter(query->input, std::move(inner));
  if (reached && may_fail(*input)) return nullptr;  // it is computed for all left rows
  const auto selected = selected_values(*right, *query->project);
  const auto is_outer_column = [&](const expr_ptr& e) { return e->kind == op::column && outer.contains(e->column); };
  if (!selected || std::ranges::any_of(*selected, is_outer_column)) return nullptr;
  out->outputs = left->outputs;
  // A column that is selected twice has another id the second time.
  bool plain = true;
  for (std::size_t i = 0; i < selected->size(); ++i) {
    const auto& e = *(*selected)[i];
    plain &= e.kind == op::column && e.column == right->outputs[i].id;
  }
  const auto& right_outputs = plain ? right->outputs : input->outputs;
  out->outputs.insert(out->outputs.end(), right_outputs.begin(), right_outputs.end());
  out->inputs = {left, std::move(input)};
  return plain ? out : with_selected(binds, std::move(out), *left, *right, *selected);
}

plan_ptr binder::exists_join(plan_ptr input, const expr_ptr& e, bool negated) {
  plan_ptr inner = any_rows(e->query);
  std::vector<key_filter_link> filters;
  auto conditions = pull_up_correlated_predicates(*this, inner, e->position, false, filters);
  const auto have = output_ids(*input);
  const auto of_inner = output_ids(*inner);
  std::set<column_id> both = have;
  both.insert(of_inner.begin(), of_inner.end());
  for (const auto& condition : conditions) {
    if (!contains_all(both, condition)) refuse_two_levels_up(e->position);
  }
  return joined(std::move(input), std::move(inner), negated ? join_type::anti : join_type::semi, std::move(conditions),
                std::move(filters));
}

plan_ptr binder::in_join(plan_ptr input, const expr_ptr& e) {
  const auto left = lifted(input, e->args[0]);
  plan_ptr inner = e->query;
  auto value = make_column(inner->outputs[0].id, inner->outputs[0].type);
  std::vector<expr_ptr> conditions;
  std::vector<key_filter_link> filters;
  if (!free_columns(*inner).empty()) {
    // The conditions guard the value, so it is evaluated behind them.
    if (inner->kind == node_kind::project && !cannot_fail(static_cast<const project_node&>(*inner).expressions[0])) {
      value = static_cast<const project_node&>(*inner).expressions[0];
      inner = inner->inputs[0];
    }
    conditions = pull_up_correlated_predicates(*this, inner, e->position, false, filters);
  }
  conditions.push_back(comparison(op::equal, left, value, e->position));
  return joined(std::move(input), std::move(inner), join_type::semi, std::move(conditions), std::move(filters));
}

plan_ptr binder::filtered(plan_ptr input, const expr_ptr& condition) {
  std::vector<expr_ptr> parts, kept;
  split_conjunction(condition, parts);
  const auto own = output_ids(*input);
  reached_where reached;  // conditions on columns of `input` alone are checked below the joins of subqueries
  for (const auto& part : parts) {
    const bool negated = part->kind == op::logical_not;
    const auto& core = negated ? part->args[0] : part;
    const bool correlated = core->query && !free_columns(*core->query).empty();
    const bool joins = correlated && !has_correlated_query(*core->query);
    if (has_correlated_query(part) && !contains_all(own, part)) {
      // A subquery of it names columns of a query further out. Where this query is itself a subquery, the condition
      // moves out until all of its columns are in reach (joined_groups).
      kept.push_back(part);
    } else if (core->kind == op::exists_query && joins) {
      input = exists_join(std::move(input), core, negated);
    } else if (core->kind == op::in_query && !negated && (joins || !correlated)) {
      input = in_join(std::move(input), core);
    } else {
      kept.push_back(lifted(input, part, reached));
      if (contains_all(own, kept.back())) continue;
      reached.push_back(make_call(op::is_true, {type_id::boolean}, {kept.back()}, part->position));
    }
  }
  return with_filter(std::move(input), std::move(kept));
}

}  // namespace espalier::engine
