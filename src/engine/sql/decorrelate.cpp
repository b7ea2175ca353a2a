// decorrelate.cpp - turns correlated subqueries into joins.
//
// (SELECT max(x) FROM u WHERE u.k = t.k) is computed once per u.k and left-joined to t. Rows of t without a match get
// NULL from the join, which is the result of an aggregate over no rows; count, whose result is 0, is wrapped in
// COALESCE. Bounds of one column of u next to the equalities make a window join (window_join_rule.cpp). If another
// condition is not an equality, or an aggregate reads outer columns, t is joined to u first and the result is grouped
// by the row number of t. Expressions above the aggregates are evaluated above the join, only for the
// rows of t, so an expression cannot fail for a group without a matching row of t.
#include <arrow/scalar.h>

#include <algorithm>
#include <map>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/failing.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/window_join_rule.hpp"

namespace espalier::engine {

/// The query SELECT values FROM rows ORDER BY keys LIMIT limit OFFSET offset. Its expressions are over columns of
/// `rows` and outer columns.
struct correlated_rows {
  plan_ptr rows;
  std::vector<expr_ptr> values;
  std::vector<sort_key> keys;
  expr_ptr limit, offset;
  bool limited = false;
  std::vector<expr_ptr> hoisted;         ///< conditions with outer columns that were removed from `rows`
  std::vector<key_filter_link> filters;  ///< of `rows`, for the join with the outer rows
  expr_ptr reached;  ///< an outer column that is true for the rows that reach the subquery; null: all rows do
};

namespace {

constexpr column_type truth_type{type_id::boolean};
constexpr column_type count_type{type_id::int64};

void see_through(const project_node& project, expr_ptr& e) {
  e = rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
    if (node->kind != op::column) return nullptr;
    for (std::size_t i = 0; i < project.outputs.size(); ++i) {
      if (project.outputs[i].id == node->column) return project.expressions[i];
    }
    return nullptr;
  });
}

correlated_rows rows_of(const plan_ptr& query) {
  correlated_rows out;
  out.rows = query;
  for (const auto& output : query->outputs) out.values.push_back(make_column(output.id, output.type));
  const auto below_projections = [&] {
    while (out.rows->kind == node_kind::project) {
      const auto& project = static_cast<const project_node&>(*out.rows);
      for (auto& value : out.values) see_through(project, value);
      for (auto& key : out.keys) see_through(project, key.value);
      out.rows = project.inputs[0];
    }
  };
  below_projections();
  if (out.rows->kind == node_kind::limit) {
    const auto& limit = static_cast<const limit_node&>(*out.rows);
    out.limited = true;
    out.limit = limit.limit;
    out.offset = limit.offset;
    out.rows = limit.inputs[0];
  }
  if (out.rows->kind == node_kind::sort) {
    if (out.limited) out.keys = static_cast<const sort_node&>(*out.rows).keys;
    out.rows = out.rows->inputs[0];
  }
  below_projections();
  return out;
}

bool is_at_least_one(const expr_ptr& limit) {
  return limit && is_literal(limit) && limit->value->is_valid &&
         static_cast<const arrow::Int64Scalar&>(*limit->value).value >= 1;
}

// A query with aggregates and without GROUP BY, which returns one row whatever its conditions select.
struct one_group_query {
  std::shared_ptr<aggregate_node> aggregate;
  std::vector<expr_ptr> having;
};

std::optional<one_group_query> one_group_of(const correlated_rows& query) {
  if (query.limited && (query.offset || (query.limit && !is_at_least_one(query.limit)))) return std::nullopt;
  one_group_query out;
  plan_ptr at = query.rows;
  while (at->kind == node_kind::filter) {
    const auto& conditions = static_cast<const filter_node&>(*at).conditions;
    out.having.insert(out.having.begin(), conditions.begin(), conditions.end());
    at = at->inputs[0];
  }
  if (at->kind != node_kind::aggregate) return std::nullopt;
  out.aggregate = std::static_pointer_cast<aggregate_node>(at);
  if (!out.aggregate->keys.empty()) return std::nullopt;
  return out;
}

expr_ptr zero() { return make_literal(std::make_shared<arrow::Int64Scalar>(0), count_type); }

expr_ptr coalesced_counts(const expr_ptr& e, const std::vector<aggregate_call>& calls) {
  return rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
    if (node->kind != op::column) return nullptr;
    for (const auto& call : calls) {
      if (call.output == node->column && call.function == "count") {
        return make_call(op::coalesce, count_type, {node, zero()}, node->position);
      }
    }
    return nullptr;
  });
}

// `value` for pairs; a row without a match, whose columns are NULL, does not evaluate what may fail for NULLs.
expr_ptr of_pairs(const expr_ptr& marker, const expr_ptr& value) {
  return cannot_fail(value) || is_null_without_row(value) ? value : when(marker, value);
}

aggregate_call first_of(const output_column& column, column_id output) {
  aggregate_call out;
  out.function = "first";
  out.argument = make_column(column.id, column.type);
  out.output = output;
  out.type = column.type;
  return out;
}

aggregate_call count_of(const expr_ptr& argument, column_id output) {
  aggregate_call out;
  out.function = "count";
  out.argument = argument;
  out.output = output;
  out.type = count_type;
  return out;
}

plan_ptr aggregated(plan_ptr input, std::vector<expr_ptr> keys, std::vector<aggregate_call> calls) {
  auto out = std::make_shared<aggregate_node>();
  for (const auto& key : keys) out->outputs.push_back({key->column, "", key->type});
  for (const auto& call : calls) out->outputs.push_back({call.output, call.function, call.type});
  out->keys = std::move(keys);
  out->calls = std::move(calls);
  out->inputs = {std::move(input)};
  return out;
}

// `input` with added columns.
struct wider {
  explicit wider(plan_ptr input) {
    for (const auto& column : input->outputs) add(make_column(column.id, column.type), column);
    project->inputs = {std::move(input)};
  }
  void add(expr_ptr value, output_column column) {
    project->expressions.push_back(std::move(value));
    project->outputs.push_back(std::move(column));
  }
  std::shared_ptr<project_node> project = std::make_shared<project_node>();
};

// Returns the first rows of each group of equal `groups`, by the query's order and limit.
plan_ptr limited_per_group(binder& binds, plan_ptr rows, const correlated_rows& query, std::vector<expr_ptr> groups) {
  if (!query.limited) return rows;
  wider keyed(std::move(rows));
  auto sort = std::make_shared<sort_node>();
  for (const auto& key : query.keys) {
    const auto id = binds.new_column();
    keyed.add(key.value, {id, "", key.value->type});
    sort->keys.push_back({make_column(id, key.value->type), key.descending, key.nulls_first});
  }
  plan_ptr input = keyed.project;
  if (!sort->keys.empty()) {
    sort->outputs = input->outputs;
    sort->inputs = {std::move(input)};
    input = sort;
  }
  auto out = std::make_shared<group_limit_node>();
  out->keys = std::move(groups);
  out->limit = query.limit;
  out->offset = query.offset;
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

// Returns whether the conditions are keys by which the subquery is computed once for all outer rows. The inner sides
// are evaluated for all of its rows, so another condition must not guard them. `needs_keys` is true if the subquery
// evaluates what may fail, and would not be restricted to rows that an outer row meets.
bool are_keys(const std::vector<expr_ptr>& conditions, const std::set<column_id>& outer, bool needs_keys) {
  const auto is_key = [&](const expr_ptr& e) {
    return is_correlated_equality(e, outer) && (conditions.size() == 1 || cannot_fail(e));
  };
  return !(needs_keys && !conditions.empty()) && std::ranges::all_of(conditions, is_key);
}

// Restricts the join of the subquery with the outer rows to those that reach it. If there are none, its rows are not
// computed.
void restrict_to_reached(binder& binds, correlated_rows& query, std::vector<expr_ptr>& conditions) {
  if (!query.reached) return;
  auto out = std::make_shared<key_filter_node>();
  out->keys = {make_boolean(true)};
  out->number = binds.new_column();
  out->outputs = query.rows->outputs;
  out->inputs = {std::move(query.rows)};
  query.filters.push_back({out->number, {make_boolean(true)}});
  query.rows = std::move(out);
  conditions.insert(conditions.begin(), query.reached);
}

// The conditions for a join that makes no pairs, or nothing if it cannot restrict them to the rows that reach the
// subquery. `rows` are computed for all outer rows.
std::optional<std::vector<expr_ptr>> conditions_of_reached(const correlated_rows& query, plan_node& rows,
                                                           const std::vector<expr_ptr>& conditions,
                                                           const std::set<column_id>& outer) {
  if (!query.reached) return conditions;
  std::vector<expr_ptr> out;
  for (const auto& condition : conditions) {
    out.push_back(compared_where(query.reached, condition, outer));
    if (!out.back()) return std::nullopt;
  }
  if (may_fail(rows)) return std::nullopt;
  return out;
}

// Returns an outer row whose pairs are all beyond LIMIT as if it had no match.
void keep_each_group(plan_node& pairs, const expr_ptr& marker) {
  if (pairs.kind == node_kind::group_limit) static_cast<group_limit_node&>(pairs).mark = marker->column;
}

std::shared_ptr<numbered_node> numbered(binder& binds, plan_ptr input) {
  auto out = std::make_shared<numbered_node>();
  out->outputs = input->outputs;
  out->outputs.push_back({binds.new_column(), "row number", count_type});
  out->inputs = {std::move(input)};
  return out;
}

void refuse_out_of_reach(const std::vector<expr_ptr>& expressions, const plan_node& outer, const plan_node& inner,
                         int position) {
  auto both = output_ids(outer);
  both.merge(output_ids(inner));
  for (const auto& e : expressions) {
    if (!contains_all(both, e)) refuse_two_levels_up(position);
  }
}

// Removes the conditions with correlated subqueries from `conditions` and returns them. A join cannot evaluate them.
std::vector<expr_ptr> conditions_with_queries(std::vector<expr_ptr>& conditions) {
  std::vector<expr_ptr> out;
  std::erase_if(conditions, [&](const expr_ptr& condition) {
    if (!has_correlated_query(condition)) return false;
    out.push_back(condition);
    return true;
  });
  return out;
}

// Adds a column to `pairs` that is true where `marker` and the filters are, else NULL, and returns it. Subqueries of
// the filters, which may name columns of both sides of the pairs, become joins. The pairs that pass are sorted first,
// since "first" takes the value of the first row of a group.
expr_ptr mark_passing(binder& binds, plan_ptr& pairs, const expr_ptr& marker, const std::vector<expr_ptr>& filters) {
  const auto condition =
      binds.lifted(pairs, conjunction(filters), {make_call(op::is_true, truth_type, {marker}, marker->position)});
  const auto out = make_column(binds.new_column(), truth_type);
  wider flagged(std::move(pairs));
  flagged.add(when(marker, when(condition, make_boolean(true))), {out->column, "", truth_type});
  auto sort = std::make_shared<sort_node>();
  sort->keys.push_back({out, false, false});
  sort->outputs = flagged.project->outputs;
  sort->inputs = {flagged.project};
  pairs = std::move(sort);
  return out;
}

// Returns a reference to the rows of a shared plan, with new column ids.
std::shared_ptr<shared_node> reader_of(binder& binds, const std::shared_ptr<shared_plan>& source,
                                       std::map<column_id, expr_ptr>& ids) {
  auto out = std::make_shared<shared_node>();
  out->source = source;
  for (const auto& column : source->body->outputs) {
    out->columns.push_back(column.id);
    out->outputs.push_back({binds.new_column(), column.name, column.type});
    ids[column.id] = make_column(out->outputs.back().id, column.type);
  }
  return out;
}

expr_ptr with_ids(const expr_ptr& e, const std::map<column_id, expr_ptr>& ids) {
  return rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
    const auto found = node->kind == op::column ? ids.find(node->column) : ids.end();
    return found == ids.end() ? nullptr : found->second;
  });
}

// `value IN (subquery)` as two left joins, each of which has at most one match per outer row. The first joins by the
// keys of the subquery and the value, and a match means that the value was found. The second joins by the keys only and
// decides whether the result may be NULL. A single join by the keys, compared afterwards, would have far more pairs.
struct membership_joins {
  plan_ptr equal, any;
  std::vector<expr_ptr> on_equal, on_any;
  expr_ptr answer;
};

membership_joins membership_of(binder& binds, const correlated_rows& query, const std::set<column_id>& outer,
                               const expr& test) {
  auto rows = query.rows;
  auto conditions = query.hoisted;
  auto keys = correlation_keys(binds, rows, outer, conditions);
  wider valued(std::move(rows));
  const auto value = make_column(binds.new_column(), test.args[1]->type);
  valued.add(test.args[1], {value->column, "", value->type});
  auto group = keys;
  group.push_back(value);
  const auto count = binds.new_column();
  const auto source = std::make_shared<shared_plan>();
  source->name = "values of IN";
  source->body = aggregated(valued.project, group, {count_of(nullptr, count)});
  membership_joins out;
  std::map<column_id, expr_ptr> in_equal, in_any;
  out.equal = reader_of(binds, source, in_equal);
  for (const auto& condition : conditions) out.on_equal.push_back(with_ids(condition, in_equal));
  out.on_equal.push_back(make_call(op::equal, truth_type, {test.args[0], in_equal[value->column]}, test.position));
  const auto reader = reader_of(binds, source, in_any);
  std::vector<expr_ptr> any_keys;
  for (const auto& key : keys) any_keys.push_back(in_any[key->column]);
  const auto groups = binds.new_column(), nulls = binds.new_column();
  const auto is_null = [&](const expr_ptr& e) { return make_call(op::is_null, truth_type, {e}, test.position); };
  out.any = aggregated(
      reader, any_keys,
      {count_of(nullptr, groups), count_of(when(is_null(in_any[value->column]), make_boolean(true)), nulls)});
  for (const auto& condition : conditions) out.on_any.push_back(with_ids(condition, in_any));
  const auto more_than_none = [&](const expr_ptr& number) {
    return make_call(op::greater, truth_type, {make_call(op::coalesce, count_type, {number, zero()}), zero()},
                     test.position);
  };
  // The value is not evaluated where the subquery has no rows.
  const auto unknown =
      make_call(op::logical_and, truth_type, {more_than_none(make_column(groups, count_type)), is_null(test.args[0])},
                test.position);
  out.answer = make_call(op::case_when, truth_type,
                         {more_than_none(in_equal[count]), make_boolean(true), unknown, make_null(truth_type),
                          more_than_none(make_column(nulls, count_type)), make_null(truth_type), make_boolean(false)},
                         test.position);
  return out;
}

}  // namespace

// Returns `input` with the results of `calls` as added columns. They are computed over the rows of the subquery, per
// row of `input`.
plan_ptr binder::joined_groups(plan_ptr input, correlated_rows query, std::vector<aggregate_call> calls, int position) {
  const auto outer = output_ids(*input);
  auto conditions = std::move(query.hoisted);
  std::vector<expr_ptr> evaluated;
  for (const auto& call : calls) {
    if (call.argument) evaluated.push_back(call.argument);
    evaluated.insert(evaluated.end(), call.more.begin(), call.more.end());
  }
  for (const auto& key : query.keys) evaluated.push_back(key.value);
  const bool fails = !std::ranges::all_of(evaluated, cannot_fail) || !std::ranges::all_of(calls, aggregate_cannot_fail);
  if (!free_columns(*query.rows).empty()) {
    conditions = pull_up_correlated_predicates(*this, query.rows, position, fails, query.filters);
  }
  auto reached = conditions;
  reached.insert(reached.end(), evaluated.begin(), evaluated.end());
  refuse_out_of_reach(reached, *input, *query.rows, position);
  const auto reads_outer = [&](const expr_ptr& e) { return uses_any(e, outer); };
  const bool by_key =
      are_keys(conditions, outer, query.filters.empty() && fails) && std::ranges::none_of(evaluated, reads_outer);
  if (!by_key && !query.limited) {
    // A window join evaluates its arguments for the rows of windows only.
    const bool has_filter = query.filters.size() == 1 && query.rows->kind == node_kind::key_filter;
    const auto rows = has_filter ? query.rows->inputs[0] : query.rows;
    if (has_filter || query.filters.empty()) {
      if (const auto links = conditions_of_reached(query, *rows, conditions, outer)) {
        if (auto windows = recognise_window_join(input, rows, *links, calls)) return windows;
        if (auto counts = recognise_span_counts(*this, input, rows, *links, calls)) return counts;
        if (auto sums = recognise_span_aggregates(input, rows, *links, calls)) return sums;
      }
    }
  }
  restrict_to_reached(*this, query, conditions);
  if (by_key) {
    const auto keys = correlation_keys(*this, query.rows, outer, conditions);
    auto groups = aggregated(limited_per_group(*this, query.rows, query, keys), keys, std::move(calls));
    return joined(std::move(input), std::move(groups), join_type::left, std::move(conditions),
                  std::move(query.filters));
  }
  const auto columns = input->outputs;
  const auto rows = numbered(*this, std::move(input));
  const auto number = make_column(rows->outputs.back().id, count_type);
  wider marked(query.rows);
  auto marker = make_column(new_column(), truth_type);
  marked.add(make_boolean(true), {marker->column, "", truth_type});
  const auto filters = conditions_with_queries(conditions);
  auto pairs = joined(rows, marked.project, join_type::left, std::move(conditions), std::move(query.filters));
  if (!filters.empty()) {
    if (query.limited) refuse_two_levels_up(position);
    marker = mark_passing(*this, pairs, marker, filters);
  }
  for (auto& key : query.keys) key.value = of_pairs(marker, key.value);
  pairs = limited_per_group(*this, std::move(pairs), query, {number});
  keep_each_group(*pairs, marker);
  for (auto& call : calls) {
    for (auto& e : call.more) e = of_pairs(marker, e);
    if (!call.argument) {
      call.argument = marker;
    } else if (call.argument->kind != op::column || outer.contains(call.argument->column) || !filters.empty()) {
      call.argument = when(marker, call.argument);
    }
  }
  for (const auto& column : columns) calls.push_back(first_of(column, column.id));
  return aggregated(std::move(pairs), {number}, std::move(calls));
}

expr_ptr binder::reached_column(plan_ptr& input, const reached_where& reached) {
  reached_where known;  // a condition that the input cannot evaluate is left out, so more rows seem to reach it
  const auto own = output_ids(*input);
  std::ranges::copy_if(reached, std::back_inserter(known), [&](const expr_ptr& e) { return contains_all(own, e); });
  if (known.empty()) return nullptr;
  const auto out = make_column(new_column(), truth_type);
  wider marked(std::move(input));
  marked.add(conjunction(known), {out->column, "", truth_type});
  input = marked.project;
  return out;
}

expr_ptr binder::lifted_query(plan_ptr& input, const expr_ptr& e, const reached_where& reached) {
  auto query = rows_of(e->query);
  const bool fails = may_fail(*e->query) || !std::ranges::all_of(e->args, cannot_fail);
  if (fails) query.reached = reached_column(input, reached);
  if (e->kind == op::exists_query) {
    // The select list and the order do not matter to EXISTS, but the number of rows that LIMIT leaves does.
    if (query.limited && !query.offset && (!query.limit || is_at_least_one(query.limit))) query.limited = false;
    if (one_group_of(query)) throw_sql_error(e->position, "EXISTS of an aggregate without GROUP BY is not supported.");
    const auto count = new_column();
    input = joined_groups(std::move(input), std::move(query), {count_of(nullptr, count)}, e->position);
    const auto rows = make_call(op::coalesce, count_type, {make_column(count, count_type), zero()});
    return make_call(op::greater, truth_type, {rows, zero()}, e->position);
  }
  if (e->kind == op::in_query) {
    const auto test = comparison(op::equal, e->args[0], query.values[0], e->position);
    const auto outer = output_ids(*input);
    if (!free_columns(*query.rows).empty()) {
      const bool may_fail = !cannot_fail(test->args[1]);
      query.hoisted = pull_up_correlated_predicates(*this, query.rows, e->position, may_fail, query.filters);
    }
    refuse_out_of_reach(query.hoisted, *input, *query.rows, e->position);
    if (!query.limited && test->kind == op::equal && contains_all(outer, test->args[0]) &&
        !uses_any(test->args[1], outer) &&
        are_keys(query.hoisted, outer, query.filters.empty() && !cannot_fail(test->args[1]))) {
      restrict_to_reached(*this, query, query.hoisted);
      auto joins = membership_of(*this, query, outer, *test);
      // Whichever join is executed first reads the rows that both share.
      input =
          joined(std::move(input), std::move(joins.equal), join_type::left, std::move(joins.on_equal), query.filters);
      input = joined(std::move(input), std::move(joins.any), join_type::left, std::move(joins.on_any), query.filters);
      return joins.answer;
    }
    const auto unknown = make_call(op::is_null, truth_type, {test}, e->position);
    const auto is_true = make_boolean(true);
    const auto equal_rows = new_column(), unknown_rows = new_column();
    input = joined_groups(std::move(input), std::move(query),
                          {count_of(when(test, is_true), equal_rows), count_of(when(unknown, is_true), unknown_rows)},
                          e->position);
    const auto any = [&](column_id count) {
      const auto rows = make_call(op::coalesce, count_type, {make_column(count, count_type), zero()});
      return make_call(op::greater, truth_type, {rows, zero()}, e->position);
    };
    return make_call(op::case_when, truth_type,
                     {any(equal_rows), is_true, any(unknown_rows), make_null(truth_type), make_boolean(false)},
                     e->position);
  }
  expr_ptr value = query.values[0];
  if (const auto group = one_group_of(query)) {
    if (!group->having.empty()) value = when(conjunction(group->having), value);
    value = coalesced_counts(value, group->aggregate->calls);
    query.limited = false;
    query.keys.clear();
    query.rows = group->aggregate->inputs[0];
    input = joined_groups(std::move(input), std::move(query), group->aggregate->calls, e->position);
    return value;
  }
  if (query.limited) {
    if (auto nearest = recognise_as_of(*this, input, e->query, true, query.reached)) {
      input = nearest;
      return make_column(e->query->outputs[0].id, e->type, e->position);
    }
  }
  // A scalar subquery may have one row per outer row. The aggregates return the first row and the number of rows.
  std::vector<aggregate_call> calls;
  std::map<column_id, expr_ptr> firsts;
  for (const auto& column : query.rows->outputs) {
    if (!uses_any(value, {column.id}) || firsts.contains(column.id)) continue;
    calls.push_back(first_of(column, new_column()));
    firsts[column.id] = make_column(calls.back().output, column.type);
  }
  calls.push_back(count_of(nullptr, new_column()));
  const auto count = make_column(calls.back().output, count_type);
  value = rewrite(value, [&](const expr_ptr& node) -> expr_ptr {
    const auto found = node->kind == op::column ? firsts.find(node->column) : firsts.end();
    return found == firsts.end() ? nullptr : found->second;
  });
  input = joined_groups(std::move(input), std::move(query), std::move(calls), e->position);
  auto single = std::make_shared<expr>(*make_call(op::function, value->type, {value, count}, e->position));
  single->name = "single_row";
  return when(make_call(op::greater, truth_type, {count, zero()}), single);
}

expr_ptr binder::lifted(plan_ptr& input, const expr_ptr& e, const reached_where& reached) {
  if (!any_node(e, [](const expr& node) { return node.query != nullptr; })) return e;
  std::vector<expr_ptr> args;
  for_each_argument(*e, reached, [&](std::size_t i, const reached_where& where) {
    args.push_back(lifted(input, e->args[i], where));
    return args.back();
  });
  auto out = e;
  if (args != e->args) {
    auto changed = std::make_shared<expr>(*e);
    changed->args = std::move(args);
    out = std::move(changed);
  }
  if (!out->query) return out;
  if (const auto known = lifted_.find(out->query); known != lifted_.end()) return known->second;
  if (free_columns(*out->query).empty()) return out;
  return lifted_[out->query] = lifted_query(input, out, reached);
}

plan_ptr binder::lateral_join(plan_ptr left, plan_ptr right, join_type type, std::vector<expr_ptr> on, int position) {
  const auto outer = output_ids(*left);
  const auto made = output_ids(*right);
  const auto outputs = right->outputs;  // copied, since the plan itself is taken apart
  auto query = rows_of(right);
  // A value may have the id of the column that it is computed from.
  const auto above = [&](const plan_ptr& input, const std::vector<expr_ptr>& values) {
    auto out = std::make_shared<project_node>();
    for (const auto& column : input->outputs) {
      if (made.contains(column.id)) continue;
      out->expressions.push_back(make_column(column.id, column.type));
      out->outputs.push_back(column);
    }
    out->expressions.insert(out->expressions.end(), values.begin(), values.end());
    out->outputs.insert(out->outputs.end(), outputs.begin(), outputs.end());
    out->inputs = {input};
    return out;
  };
  if (const auto group = one_group_of(query)) {
    if (type == join_type::left && (!on.empty() || !group->having.empty())) {
      throw_sql_error(position, "LEFT JOIN LATERAL of an aggregate takes ON true, and no HAVING.");
    }
    for (auto& value : query.values) value = coalesced_counts(value, group->aggregate->calls);
    auto conditions = group->having;
    for (auto& condition : conditions) condition = coalesced_counts(condition, group->aggregate->calls);
    const auto values = query.values;
    query.limited = false;
    query.keys.clear();
    query.rows = group->aggregate->inputs[0];
    auto out = joined_groups(std::move(left), std::move(query), group->aggregate->calls, position);
    return with_filter(above(with_filter(std::move(out), std::move(conditions)), values), std::move(on));
  }
  bool may_fail = false;
  for (const auto& key : query.keys) may_fail |= !cannot_fail(key.value);
  auto conditions = pull_up_correlated_predicates(*this, query.rows, position, may_fail, query.filters);
  if (std::ranges::any_of(conditions, [](const expr_ptr& e) { return has_correlated_query(e); })) {
    refuse_two_levels_up(position);
  }
  auto above_rows = query.values;
  for (const auto& key : query.keys) above_rows.push_back(key.value);
  const bool inner_only =
      std::none_of(above_rows.begin(), above_rows.end(), [&](const expr_ptr& e) { return uses_any(e, outer); });
  refuse_out_of_reach(conditions, *left, *query.rows, position);
  refuse_out_of_reach(above_rows, *left, *query.rows, position);
  if (inner_only && (!query.limited || are_keys(conditions, outer, query.filters.empty() && may_fail))) {
    std::vector<expr_ptr> keys;
    if (query.limited) keys = correlation_keys(*this, query.rows, outer, conditions);
    auto rows = limited_per_group(*this, query.rows, query, std::move(keys));
    // The conditions guard the SELECT list, so it is evaluated above the join. ON is behind both.
    std::map<column_id, expr_ptr> meaning;
    for (std::size_t i = 0; i < outputs.size(); ++i) meaning[outputs[i].id] = query.values[i];
    for (const auto& condition : on) conditions.push_back(with_ids(condition, meaning));
    if (type == join_type::left && !std::ranges::all_of(query.values, is_null_without_row)) {
      wider marked(std::move(rows));
      const auto marker = make_column(new_column(), truth_type);
      marked.add(make_boolean(true), {marker->column, "", truth_type});
      rows = marked.project;
      for (auto& value : query.values) {
        if (!is_null_without_row(value)) value = when(marker, value);
      }
    }
    auto pairs = joined(std::move(left), std::move(rows), type, std::move(conditions), std::move(query.filters));
    return above(pairs, query.values);
  }
  if (type == join_type::left && !on.empty()) {
    throw_sql_error(position, "LEFT JOIN LATERAL with LIMIT, or with outer columns in its SELECT list, takes ON true.");
  }
  const auto rows = numbered(*this, std::move(left));
  const auto number = make_column(rows->outputs.back().id, count_type);
  wider marked(query.rows);
  const auto marker = make_column(new_column(), truth_type);
  marked.add(make_boolean(true), {marker->column, "", truth_type});
  auto pairs = joined(rows, marked.project, type, std::move(conditions), std::move(query.filters));
  if (type == join_type::left) {
    for (auto& key : query.keys) key.value = of_pairs(marker, key.value);
  }
  pairs = limited_per_group(*this, std::move(pairs), query, {number});
  if (type == join_type::left) {
    keep_each_group(*pairs, marker);
    const bool keeps_matches = !query.limited || (!query.offset && (!query.limit || is_at_least_one(query.limit)));
    for (auto& value : query.values) {
      const bool is_null_without_match = value->kind == op::column && !outer.contains(value->column);
      if (!keeps_matches || !is_null_without_match) value = when(marker, value);
    }
  }
  return with_filter(above(std::move(pairs), query.values), std::move(on));
}

}  // namespace espalier::engine
