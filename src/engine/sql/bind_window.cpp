// bind_window.cpp - binds calls with OVER.
//
// FILTER (WHERE c) of an aggregate is rewritten to CASE WHEN c THEN argument END, as without OVER.
#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/functions.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/clauses.hpp"
#include "engine/sql/hints.hpp"
#include "engine/sql/window_definition.hpp"

namespace espalier::engine {
namespace {

constexpr column_type bigint_type{type_id::int64};
constexpr column_type integer_type{type_id::int32};

bool is_bool_aggregate(const std::string& name) { return name == "bool_and" || name == "bool_or" || name == "every"; }

bool is_window_aggregate(const std::string& name) {
  constexpr std::array names = {"count", "sum", "avg", "min", "max"};
  return std::find(names.begin(), names.end(), name) != names.end() || is_bool_aggregate(name);
}

void refuse_other_calls(const ast::expression& e) {
  if (e.flag) {
    throw_sql_error(codes::feature_not_supported, e.position,
                    "DISTINCT in a window function is not supported; remove duplicates in a subquery.");
  }
  if (!e.order.empty() || e.within_group) {
    throw_sql_error(codes::feature_not_supported, e.position,
                    "ORDER BY inside the parentheses of a window function is not supported; write it in OVER.");
  }
  if (is_window_aggregate(e.text)) return;
  if (is_aggregate_function(e.text)) {
    throw_sql_error(codes::feature_not_supported, e.position,
                    fmt::format("{} as a window function is not supported; use GROUP BY and a join.", e.text));
  }
  if (!is_window_function(e.text)) {
    if (is_scalar_function(e.text) || current_timestamp_type(e.text)) {
      throw_sql_error(codes::wrong_object_type, e.position,
                      fmt::format("{} is neither a window function nor an aggregate and does not take OVER.", e.text));
    }
    const auto hint = did_you_mean(e.text, function_names());
    throw_sql_error(codes::undefined_function, e.position,
                    fmt::format("The function {} is not supported{}", e.text, hint.empty() ? "." : hint));
  }
  if (e.number == 1) throw_sql_error(e.position, fmt::format("{}(*) has no meaning.", e.text));
  if (e.filter) {
    throw_sql_error(codes::feature_not_supported, e.position,
                    fmt::format("FILTER is allowed for aggregates only, not for {}.", e.text));
  }
}

void require_count(const ast::expression& e, std::size_t least, std::size_t most) {
  if (e.args.size() >= least && e.args.size() <= most) return;
  const auto range = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  throw_sql_error(codes::undefined_function, e.position,
                  fmt::format("{} takes {} argument{}.", e.text, range, most == 1 ? "" : "s"));
}

expr_ptr integer_argument(const ast::expression& call, const expr_ptr& arg) {
  if (!arg->open && !is_integer(arg->type.id)) {
    throw_sql_error(codes::undefined_function, arg->position,
                    fmt::format("{} takes an integer here, not {}.", call.text, sql_name(arg->type)));
  }
  return coerced(arg, arg->type.id == type_id::int64 ? bigint_type : integer_type);
}

// Converts the arguments of a function other than an aggregate and returns the type of its result.
column_type bind_signature(const ast::expression& e, std::vector<expr_ptr>& args) {
  if (e.text == "row_number" || e.text == "rank" || e.text == "dense_rank") {
    require_count(e, 0, 0);
    return bigint_type;
  }
  if (e.text == "percent_rank" || e.text == "cume_dist") {
    require_count(e, 0, 0);
    return {type_id::float64};
  }
  if (e.text == "ntile") {
    require_count(e, 1, 1);
    args[0] = coerced(integer_argument(e, args[0]), bigint_type);
    return integer_type;
  }
  const bool shifts = e.text == "lag" || e.text == "lead";
  const std::size_t arguments = e.text == "nth_value" ? 2 : 1;
  require_count(e, arguments, shifts ? 3 : arguments);
  if (args.size() > 1) args[1] = coerced(integer_argument(e, args[1]), bigint_type);
  if (args.size() < 3) {
    if (args[0]->open) args[0] = coerced(args[0], column_type{type_id::varchar});
    return args[0]->type;
  }
  std::vector<expr_ptr> both{args[0], args[2]};
  const auto type = unify(both, e.position);
  args[0] = both[0];
  args[2] = both[1];
  return type;
}

}  // namespace

window_permission::window_permission(binder& binds, const ast::select* select, const char* clause)
    : binds_(binds), before_(binds.windows_of_), clause_before_(binds.clause_) {
  binds.windows_of_ = select;
  binds.clause_ = clause;
}

window_permission::~window_permission() {
  binds_.windows_of_ = before_;
  binds_.clause_ = clause_before_;
}

void binder::bind_window(const resolved_window& window, const scope& names, expr& call) {
  const window_permission none(*this, nullptr, "a window definition");
  auto shape = std::make_shared<window_shape>();
  shape->arguments = call.args.size();
  shape->partition_keys = window.partition_by.size();
  shape->order_keys = window.order_by.size();
  const auto key = [&](const ast::expression& e) {
    auto value = expression(e, names);
    return value->open ? coerced(value, column_type{type_id::varchar}) : value;
  };
  for (const auto* e : window.partition_by) call.args.push_back(key(*e));
  for (const auto* sort : window.order_by) {
    call.args.push_back(key(*sort->value));
    call.directions.push_back(direction_of(*sort));
  }
  bind_frame(*window.frame, names, call, *shape);
  call.window = std::move(shape);
}

void binder::bind_over(const ast::expression& e, const scope& names, expr& call) {
  bind_window(resolved_over(*windows_of_, *e.over), names, call);
}

// bool_and and bool_or are bound as min and max of 0 and 1.
expr_ptr binder::bool_window(const ast::expression& e, const scope& names) {
  require_count(e, 1, 1);
  auto out = std::make_shared<expr>();
  out->kind = op::window;
  out->position = e.position;
  out->name = e.text == "bool_or" ? "max" : "min";
  out->type = integer_type;
  {
    const window_permission none(*this, nullptr, "the arguments of another window function");
    auto arg = expression(*e.args[0], names);
    if (arg->open) arg = coerced(arg, column_type{type_id::boolean});
    if (arg->type.id != type_id::boolean) {
      throw_sql_error(e.position, fmt::format("{} takes boolean values, not {}.", e.text, sql_name(arg->type)));
    }
    if (e.filter) arg = only_where(condition(*e.filter, names, "FILTER"), arg);
    out->args = {coerced(arg, integer_type)};
  }
  bind_over(e, names, *out);
  const auto one = make_literal(std::make_shared<arrow::Int32Scalar>(1), integer_type);
  return make_call(op::equal, column_type{type_id::boolean}, {out, one}, e.position);
}

expr_ptr binder::window_call(const ast::expression& e, const scope& names) {
  if (windows_of_ == nullptr) {
    throw_sql_error(codes::windowing_error, e.position,
                    fmt::format("A window function cannot stand in {}; compute it in a subquery in FROM.",
                                clause_ == nullptr ? "this clause" : clause_));
  }
  refuse_other_calls(e);
  if (is_bool_aggregate(e.text)) return bool_window(e, names);
  auto out = std::make_shared<expr>();
  out->kind = op::window;
  out->position = e.position;
  out->name = e.text;
  {
    const window_permission none(*this, nullptr, "the arguments of another window function");
    out->args = arguments(e, names);
    if (!is_window_aggregate(e.text)) {
      out->type = bind_signature(e, out->args);
    } else {
      const bool star = e.number == 1;
      if (star && e.text != "count") throw_sql_error(e.position, fmt::format("{}(*) has no meaning.", e.text));
      if (!star) require_count(e, 1, 1);
      if (!star && out->args[0]->open) out->args[0] = coerced(out->args[0], column_type{type_id::varchar});
      out->type = aggregate_type(e.text, star ? bigint_type : out->args[0]->type, e.position);
      if (e.filter) {
        const auto filter = condition(*e.filter, names, "FILTER");
        out->args = {only_where(filter, star ? make_boolean(true) : out->args[0])};
      }
    }
  }
  bind_over(e, names, *out);
  return out;
}

void binder::check_windows(const ast::select& select, const scope& names) {
  for (std::size_t i = 0; i < select.windows.size(); ++i) {
    expr unused;
    bind_window(resolved_definition(select, i), names, unused);
  }
}

}  // namespace espalier::engine
