// bind_aggregate.cpp - binds calls of aggregates.
//
// FILTER (WHERE c) is rewritten to CASE WHEN c THEN argument END, since every aggregate ignores NULLs.
#include <arrow/scalar.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/functions.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/clauses.hpp"

namespace espalier::engine {
namespace {

constexpr column_type text_type{type_id::varchar};
constexpr column_type double_type{type_id::float64};

bool is_deviation(const std::string& name) { return name.starts_with("var") || name.starts_with("stddev"); }

bool takes_order(const std::string& name) { return name == "string_agg" || name.starts_with("percentile_"); }

void refuse_nested(const expr_ptr& argument, int position) {
  if (has_aggregate(argument))
    throw_sql_error(codes::grouping_error, position, "An aggregate cannot stand inside another.");
  if (has_window(argument)) {
    throw_sql_error(codes::grouping_error, position,
                    "A window function cannot stand inside an aggregate; compute it in a subquery in FROM.");
  }
}

}  // namespace

// bool_and and bool_or are bound as min and max of 0 and 1.
expr_ptr binder::bool_aggregate(const ast::expression& e, const scope& names) {
  auto args = arguments(e, names);
  if (args.size() != 1 || e.number == 1)
    throw_sql_error(codes::undefined_function, e.position, fmt::format("{} takes one argument.", e.text));
  if (args[0]->open) args[0] = coerced(args[0], column_type{type_id::boolean});
  if (args[0]->type.id != type_id::boolean) {
    throw_sql_error(e.position, fmt::format("{} takes boolean values, not {}.", e.text, sql_name(args[0]->type)));
  }
  refuse_nested(args[0], e.position);
  if (e.filter) args[0] = only_where(condition(*e.filter, names, "FILTER"), args[0]);
  auto out = std::make_shared<expr>();
  out->kind = op::aggregate;
  out->position = e.position;
  out->name = e.text == "bool_or" ? "max" : "min";
  out->type = {type_id::int32};
  out->args = {coerced(args[0], {type_id::int32})};
  const auto one = make_literal(std::make_shared<arrow::Int32Scalar>(1), {type_id::int32});
  return make_call(op::equal, column_type{type_id::boolean}, {out, one}, e.position);
}

// string_agg(text, separator ORDER BY ...), percentile_cont(fraction) WITHIN GROUP (ORDER BY value).
expr_ptr binder::ordered_aggregate(const ast::expression& e, const scope& names) {
  auto args = arguments(e, names);
  const bool texts = e.text == "string_agg";
  if (args.size() != (texts ? 2U : 1U) || e.number == 1 || e.within_group == texts) {
    throw_sql_error(e.position, texts ? "string_agg takes a text and a separator."
                                      : fmt::format("Write {}(fraction) WITHIN GROUP (ORDER BY value).", e.text));
  }
  std::vector<expr_ptr> order;
  std::vector<std::uint8_t> directions;
  for (const auto& key : e.order) {
    order.push_back(expression(*key.value, names));
    if (order.back()->open) order.back() = coerced(order.back(), text_type);
    directions.push_back(direction_of(key));
  }
  auto out = std::make_shared<expr>();
  out->kind = op::aggregate;
  out->position = e.position;
  out->name = e.text;
  out->number = e.flag ? 1 : 0;
  if (texts) {
    for (auto& arg : args) {
      if (!arg->open && arg->type.id != type_id::varchar) {
        throw_sql_error(arg->position, fmt::format("string_agg takes text, not {}; cast it.", sql_name(arg->type)));
      }
      arg = coerced(arg, text_type);
    }
    // DISTINCT keeps one of several equal texts, so its position in the order of another expression would be ambiguous.
    for (const auto& key : order) {
      if (e.flag && !same(*key, *args[0])) {
        throw_sql_error(e.position, "string_agg with DISTINCT can be ordered by its argument only.");
      }
    }
    out->args = {args[0], args[1]};
    out->args.insert(out->args.end(), order.begin(), order.end());
    out->directions = std::move(directions);
  } else {
    if (order.size() != 1) throw_sql_error(e.position, fmt::format("{} is ordered by one value.", e.text));
    if (e.flag) throw_sql_error(e.position, fmt::format("{} does not take DISTINCT.", e.text));
    if (!is_constant(args[0]))
      throw_sql_error(e.position, fmt::format("The fraction of {} has to be a constant.", e.text));
    auto value = order[0];
    if (e.text == "percentile_cont") {
      if (!is_numeric(value->type.id)) {
        throw_sql_error(e.position, fmt::format("percentile_cont takes numbers, not {}.", sql_name(value->type)));
      }
      value = coerced(value, double_type);
    }
    out->args = {value, coerced(args[0], double_type)};
    out->directions = {directions[0]};
  }
  for (const auto& arg : out->args) refuse_nested(arg, e.position);
  if (e.filter) out->args[0] = only_where(condition(*e.filter, names, "FILTER"), out->args[0]);
  out->type = aggregate_type(e.text, out->args[0]->type, e.position);
  return out;
}

expr_ptr binder::aggregate(const ast::expression& e, const scope& names) {
  if (e.text == "bool_and" || e.text == "bool_or" || e.text == "every") return bool_aggregate(e, names);
  if (takes_order(e.text)) return ordered_aggregate(e, names);
  if (e.within_group) throw_sql_error(e.position, fmt::format("{} does not take WITHIN GROUP.", e.text));
  // The other aggregates do not depend on the order, but its expressions are bound so that errors in them are reported.
  for (const auto& key : e.order) (void)expression(*key.value, names);
  auto out = std::make_shared<expr>();
  out->kind = op::aggregate;
  out->position = e.position;
  out->name = e.text;
  out->number = e.flag ? 1 : 0;
  out->args = arguments(e, names);
  const bool star = e.number == 1;
  if (star && e.text != "count") throw_sql_error(e.position, fmt::format("{}(*) has no meaning.", e.text));
  if (out->args.size() != (star ? 0U : 1U))
    throw_sql_error(codes::undefined_function, e.position, fmt::format("{} takes one argument.", e.text));
  if (!star && out->args[0]->open) out->args[0] = coerced(out->args[0], text_type);
  if (!star) refuse_nested(out->args[0], e.position);
  out->type = aggregate_type(e.text, star ? column_type{type_id::int64} : out->args[0]->type, e.position);
  if (is_deviation(e.text)) out->args[0] = coerced(out->args[0], double_type);
  if (e.filter) {
    const auto filter = condition(*e.filter, names, "FILTER");
    out->args = {only_where(filter, star ? make_boolean(true) : out->args[0])};
  }
  return out;
}

}  // namespace espalier::engine
