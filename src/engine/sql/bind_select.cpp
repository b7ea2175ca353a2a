#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/evaluate.hpp"
#include "engine/expr/functions.hpp"
#include "engine/plan/shared_plans.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/declared_type.hpp"
#include "engine/sql/group.hpp"
#include "engine/sql/limits.hpp"
#include "engine/sql/window.hpp"

namespace espalier::engine {
namespace {

using ast::expression_kind;

// Returns the name that PostgreSQL gives to an output column without an alias.
std::string default_name(const ast::expression& e) {
  switch (e.kind) {
    case expression_kind::column:
      return e.names.back();
    case expression_kind::call:
      return e.text;
    case expression_kind::cast:
      return e.args.empty() || e.args[0]->kind != expression_kind::column ? e.type.name : default_name(*e.args[0]);
    case expression_kind::case_when:
      return "case";
    case expression_kind::coalesce:
      return "coalesce";
    case expression_kind::nullif:
      return "nullif";
    case expression_kind::extreme:
      return e.text;
    case expression_kind::exists:
      return "exists";
    case expression_kind::scalar_query:
      if (e.query->targets.size() != 1) return "?column?";
      return e.query->targets[0].name.empty() ? default_name(*e.query->targets[0].value) : e.query->targets[0].name;
    default:
      return "?column?";
  }
}

std::shared_ptr<project_node> projected(binder& binds, plan_ptr input, const std::vector<expr_ptr>& expressions,
                                        const std::vector<std::string>& names) {
  auto out = std::make_shared<project_node>();
  out->expressions = expressions;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const auto& e = expressions[i];
    // A plain column keeps its id, so that the planner can look through projections.
    const auto id = e->kind == op::column ? e->column : binds.new_column();
    out->outputs.push_back({id, i < names.size() ? names[i] : std::string(), e->type});
  }
  out->inputs = {std::move(input)};
  return out;
}

// Aggregates and window functions read the rows of the input, so the subqueries in their arguments are joined to the
// input.
expr_ptr lifted_arguments(binder& binds, plan_ptr& plan, op kind, const expr_ptr& e) {
  return rewrite(
      e, [&](const expr_ptr& node) -> expr_ptr { return node->kind == kind ? binds.lifted(plan, node) : nullptr; });
}

// As in PostgreSQL, the DISTINCT ON expressions must match the leading ORDER BY expressions, if there are any.
void check_distinct_on(const std::vector<expr_ptr>& keys, std::size_t ordered_by, int position) {
  const auto count = keys.size() - ordered_by;
  for (std::size_t i = 0; i < std::min(count, ordered_by); ++i) {
    const bool found = std::any_of(keys.begin() + static_cast<std::ptrdiff_t>(ordered_by), keys.end(),
                                   [&](const expr_ptr& key) { return same(*key, *keys[i]); });
    if (!found)
      throw_sql_error(position, "The expressions of SELECT DISTINCT ON have to be the first ones of ORDER BY.");
  }
}

plan_ptr first_of_each(plan_ptr input, std::vector<expr_ptr> keys) {
  auto out = std::make_shared<group_limit_node>();
  out->keys = std::move(keys);
  out->limit = make_literal(std::make_shared<arrow::Int64Scalar>(1), {type_id::int64});
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

expr_ptr output_reference(const plan_node& project, std::size_t i) {
  return make_column(project.outputs[i].id, project.outputs[i].type);
}

}  // namespace

std::vector<expr_ptr> binder::targets(const ast::select& select, const scope& names,
                                      std::vector<std::string>& output_names) {
  std::vector<expr_ptr> out;
  for (const auto& target : select.targets) {
    if (target.value->kind == expression_kind::star) {
      const std::string table = target.value->names.empty() ? std::string() : target.value->names[0];
      const auto before = out.size();
      for (const auto& column : names.columns) {
        if (table.empty() ? column.merged : column.table != table) continue;
        out.push_back(make_column(column.id, column.type, target.position));
        output_names.push_back(column.name);
      }
      if (out.size() == before) {
        throw_sql_error(codes::undefined_table, target.position,
                        table.empty() ? "* needs a FROM." : fmt::format("There is no table '{}' in FROM.", table));
      }
      continue;
    }
    auto value = expression(*target.value, names);
    if (value->open) value = coerced(value, {type_id::varchar});
    out.push_back(std::move(value));
    output_names.push_back(target.name.empty() ? default_name(*target.value) : target.name);
  }
  if (out.empty()) throw_sql_error(select.position, "SELECT needs at least one column.");
  if (out.size() > limits::select_columns) throw_sql_error(codes::too_complex, select.position, too_many_columns());
  return out;
}

// Binds an ORDER BY or GROUP BY item, which is a position, an output name or an expression.
expr_ptr binder::output_or_expression(const ast::expression& e, const scope& names,
                                      const std::vector<expr_ptr>& outputs,
                                      const std::vector<std::string>& output_names, const char* clause) {
  if (e.kind == expression_kind::integer) {
    const auto place = std::stoll(e.text);
    if (place < 1 || place > static_cast<long long>(outputs.size())) {
      throw_sql_error(codes::invalid_column_reference, e.position,
                      fmt::format("{} {} names no column of the answer.", clause, e.text));
    }
    return outputs[static_cast<std::size_t>(place) - 1];
  }
  expr_ptr named;
  if (e.kind == expression_kind::column && e.names.size() == 1) {
    for (std::size_t i = 0; i < output_names.size(); ++i) {
      if (output_names[i] != e.names[0]) continue;
      if (named && !same(*named, *outputs[i])) {
        throw_sql_error(codes::ambiguous_column, e.position,
                        fmt::format("{} '{}' names two columns of the answer.", clause, e.names[0]));
      }
      named = outputs[i];
    }
  }
  if (!named) named = expression(e, names);
  if (named->open) throw_sql_error(e.position, fmt::format("{} a constant has no meaning.", clause));
  return named;
}

std::vector<expr_ptr> binder::sort_expressions(const ast::select& select, const scope& names,
                                               const std::vector<expr_ptr>& outputs,
                                               const std::vector<std::string>& output_names) {
  std::vector<expr_ptr> out;
  for (const auto& key : select.order_by) {
    out.push_back(output_or_expression(*key.value, names, outputs, output_names, "ORDER BY"));
  }
  return out;
}

std::vector<expr_ptr> binder::distinct_keys(const ast::select& select, const scope& names,
                                            const std::vector<expr_ptr>& outputs,
                                            const std::vector<std::string>& output_names) {
  std::vector<expr_ptr> out;
  for (const auto& e : select.distinct_on) {
    out.push_back(output_or_expression(*e, names, outputs, output_names, "DISTINCT ON"));
  }
  return out;
}

expr_ptr binder::row_count(const ast::expression* e, const char* clause) {
  if (!e) return nullptr;
  auto out = folded(coerced(expression(*e, scope{}), {type_id::int64}));
  if (!is_constant(out)) throw_sql_error(e->position, fmt::format("{} takes a constant.", clause));
  if (is_literal(out) && !out->value->is_valid) return nullptr;
  if (is_literal(out) && static_cast<const arrow::Int64Scalar&>(*out->value).value < 0) {
    refuse_negative(clause, e->position);
  }
  return out;
}

plan_ptr binder::limited(plan_ptr input, const ast::select& select) {
  const auto limit = row_count(select.limit.get(), "LIMIT");
  const auto offset = row_count(select.offset.get(), "OFFSET");
  if (!limit && !offset) return input;
  auto out = std::make_shared<limit_node>();
  out->limit = limit;
  out->offset = offset;
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

plan_ptr binder::ordered(plan_ptr input, const ast::select& select, std::vector<expr_ptr> keys) {
  if (keys.empty()) return input;
  auto out = std::make_shared<sort_node>();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto& key = select.order_by[i];
    const bool first = key.nulls == ast::nulls_order::standard ? key.descending : key.nulls == ast::nulls_order::first;
    out->keys.push_back({std::move(keys[i]), key.descending, first});
  }
  out->outputs = input->outputs;
  out->inputs = {std::move(input)};
  return out;
}

plan_ptr binder::core(const ast::select& select, const scope* outer) {
  scope names;
  names.outer = outer;
  auto plan = from(select.from, names);
  if (select.where) plan = filtered(std::move(plan), condition(*select.where, names, "WHERE"));

  std::vector<std::string> output_names;
  std::vector<expr_ptr> outputs, keys;
  std::size_t ordered_by = 0;
  {
    const window_permission allowed(*this, &select);
    check_windows(select, names);
    outputs = targets(select, names, output_names);
    keys = sort_expressions(select, names, outputs, output_names);
    ordered_by = keys.size();
    for (auto& key : distinct_keys(select, names, outputs, output_names)) keys.push_back(std::move(key));
  }
  check_distinct_on(keys, ordered_by, select.position);
  expr_ptr having;
  if (select.having) {
    const window_permission none(*this, nullptr, "HAVING");
    having = expression(*select.having, names);
    if (having->type.id != type_id::boolean)
      throw_sql_error(codes::datatype_mismatch, select.having->position, "HAVING takes a condition.");
  }
  bool grouped = !select.group_by.empty() || having;
  for (const auto& e : outputs) grouped |= has_aggregate(e);
  for (const auto& e : keys) grouped |= has_aggregate(e);
  if (grouped) {
    for (auto& e : outputs) e = lifted_arguments(*this, plan, op::aggregate, e);
    for (auto& e : keys) e = lifted_arguments(*this, plan, op::aggregate, e);
    if (having) having = lifted_arguments(*this, plan, op::aggregate, having);
    grouping groups(*this, select, names, outputs, output_names);
    for (auto& e : outputs) e = groups.above(e);
    for (auto& e : keys) e = groups.above(e);
    if (having) having = groups.above(having);
    plan = groups.plan(std::move(plan));
    if (having) plan = filtered(std::move(plan), having);
  }
  // Other subqueries are joined above the window functions, which may guard them.
  windowing windows(*this);
  for (auto& e : outputs) e = windows.above(lifted_arguments(*this, plan, op::window, e));
  for (auto& e : keys) e = windows.above(lifted_arguments(*this, plan, op::window, e));
  plan = windows.plan(std::move(plan));
  for (auto& e : outputs) e = lifted(plan, e);
  for (auto& e : keys) e = lifted(plan, e);

  // Sort keys that are not in the select list are computed as hidden columns, which a projection drops at the end.
  const std::size_t visible = outputs.size();
  std::vector<std::size_t> key_places;
  for (const auto& key : keys) {
    std::size_t place = 0;
    while (place < outputs.size() && !same(*outputs[place], *key)) ++place;
    if (place == outputs.size()) {
      if (select.distinct)
        throw_sql_error(codes::invalid_column_reference, key->position,
                        "With DISTINCT, ORDER BY can name columns of the answer only.");
      outputs.push_back(key);
    }
    key_places.push_back(place);
  }
  auto project = projected(*this, std::move(plan), outputs, output_names);
  std::vector<expr_ptr> sorted_by;
  for (const auto place : key_places) sorted_by.push_back(output_reference(*project, place));
  const std::vector<expr_ptr> one_for_each(sorted_by.begin() + static_cast<std::ptrdiff_t>(ordered_by),
                                           sorted_by.end());
  sorted_by.resize(ordered_by);
  const auto final_outputs = std::vector<output_column>(
      project->outputs.begin(), project->outputs.begin() + static_cast<std::ptrdiff_t>(visible));
  plan_ptr out = project;
  if (select.distinct) {
    auto distinct = std::make_shared<distinct_node>();
    distinct->outputs = out->outputs;
    distinct->inputs = {out};
    out = distinct;
  }
  out = ordered(std::move(out), select, std::move(sorted_by));
  if (!one_for_each.empty()) out = first_of_each(std::move(out), one_for_each);
  out = limited(std::move(out), select);
  if (outputs.size() > visible) {
    auto trimmed = std::make_shared<project_node>();
    trimmed->outputs = final_outputs;
    for (const auto& output : final_outputs) trimmed->expressions.push_back(make_column(output.id, output.type));
    trimmed->inputs = {std::move(out)};
    out = trimmed;
  }
  return out;
}

plan_ptr binder::values(const ast::select& select, std::span<const declared_type> wanted) {
  auto out = std::make_shared<values_node>();
  const std::size_t width = select.values[0].size();
  if (width > limits::select_columns) throw_sql_error(codes::too_complex, select.position, too_many_columns());
  std::vector<std::vector<expr_ptr>> columns(width);
  for (const auto& row : select.values) {
    if (row.size() != width)
      throw_sql_error(codes::syntax_error, select.position, "All rows of VALUES need the same number of values.");
    for (std::size_t i = 0; i < width; ++i) columns[i].push_back(folded(expression(*row[i], scope{})));
  }
  for (std::size_t i = 0; i < width; ++i) {
    if (i < wanted.size()) {
      for (auto& value : columns[i]) value = folded(stored(value, wanted[i]));
    }
    const auto type = i < wanted.size() ? wanted[i].type : unify(columns[i], select.position);
    out->outputs.push_back({new_column(), fmt::format("column{}", i + 1), type});
  }
  for (std::size_t r = 0; r < select.values.size(); ++r) {
    auto& row = out->rows.emplace_back();
    for (std::size_t i = 0; i < width; ++i) row.push_back(columns[i][r]);
  }
  return out;
}

namespace {

// An untyped NULL takes the type of the other side.
expr_ptr union_column(const plan_node& side, std::size_t i, const column_type& other) {
  if (side.kind == node_kind::project && is_null_literal(static_cast<const project_node&>(side).expressions[i])) {
    return make_null(other);
  }
  return output_reference(side, i);
}

}  // namespace

plan_ptr binder::set_union(const ast::select& select, const scope* outer) {
  auto left = query_inside(*select.union_left, outer);  // a long chain does not count as nesting
  auto right = query(*select.union_right, outer);
  if (left->outputs.size() != right->outputs.size()) {
    throw_sql_error(codes::syntax_error, select.union_right->position,
                    "Both sides of UNION need the same number of columns.");
  }
  // A UNION of a UNION removes duplicates once, at the top.
  if (!select.union_all && left->kind == node_kind::distinct && left->inputs[0]->kind == node_kind::union_all) {
    left = left->inputs[0];
  }
  auto out = std::make_shared<append_node>();
  std::vector<expr_ptr> left_columns, right_columns;
  std::vector<std::string> output_names;
  for (std::size_t i = 0; i < left->outputs.size(); ++i) {
    std::vector<expr_ptr> both{union_column(*left, i, right->outputs[i].type),
                               union_column(*right, i, left->outputs[i].type)};
    const auto type = unify(both, select.union_right->position);
    left_columns.push_back(both[0]);
    right_columns.push_back(both[1]);
    output_names.push_back(left->outputs[i].name);
    out->outputs.push_back({new_column(), left->outputs[i].name, type});
  }
  if (select.set != ast::select::set_kind::unite) {
    auto set = std::make_shared<set_operation_node>();
    set->intersect = select.set == ast::select::set_kind::intersect;
    set->all = select.union_all;
    set->outputs = out->outputs;
    set->inputs = {projected(*this, left, left_columns, output_names),
                   projected(*this, right, right_columns, output_names)};
    return set;
  }
  // A chain of UNION ALL stays flat: a thousand branches become inputs of one node and not a thousand nested nodes.
  const bool extends = left->kind == node_kind::union_all &&
                       std::ranges::all_of(left_columns, [](const expr_ptr& e) { return e->kind == op::column; });
  if (extends) {
    out->outputs = left->outputs;
    out->inputs = std::move(left->inputs);
  } else {
    out->inputs = {projected(*this, left, left_columns, output_names)};
  }
  out->inputs.push_back(projected(*this, right, right_columns, output_names));
  plan_ptr plan = out;
  if (!select.union_all) {
    auto distinct = std::make_shared<distinct_node>();
    distinct->outputs = plan->outputs;
    distinct->inputs = {plan};
    plan = distinct;
  }
  return plan;
}

plan_ptr binder::rows_for(const ast::select& select, std::span<const declared_type> wanted) {
  const bool plain =
      !select.values.empty() && select.with.empty() && select.order_by.empty() && !select.limit && !select.offset;
  return plain ? values(select, wanted) : query(select);
}

plan_ptr binder::query(const ast::select& select, const scope* outer) {
  if (query_depth_ == limits::queries_through_with) {
    throw_sql_error(codes::too_complex, select.position,
                    fmt::format("More than {} queries of WITH name each other in a row; write several statements.",
                                limits::queries_through_with));
  }
  ++query_depth_;
  auto out = query_inside(select, outer);
  if (--query_depth_ == 0) inline_single_uses(*out);
  return out;
}

plan_ptr binder::query_inside(const ast::select& select, const scope* outer) {
  const window_permission of_the_outer_query(*this, nullptr);
  const auto visible = common_tables_.size();
  check_common_tables(select);
  for (const auto& common : select.with) common_tables_.push_back(&common);
  plan_ptr out;
  if (!select.union_left && select.values.empty()) {
    out = core(select, outer);
  } else {
    out = select.union_left ? set_union(select, outer) : values(select);
    std::vector<expr_ptr> outputs;
    std::vector<std::string> output_names;
    for (std::size_t i = 0; i < out->outputs.size(); ++i) {
      outputs.push_back(output_reference(*out, i));
      output_names.push_back(out->outputs[i].name);
    }
    auto keys = sort_expressions(select, scope{}, outputs, output_names);
    for (const auto& key : keys) {
      if (key->kind != op::column)
        throw_sql_error(codes::feature_not_supported, key->position,
                        "ORDER BY of UNION can name columns of the answer only.");
    }
    out = limited(ordered(std::move(out), select, std::move(keys)), select);
  }
  bind_unused_common_tables(select);
  common_tables_.resize(visible);
  return out;
}

}  // namespace espalier::engine
