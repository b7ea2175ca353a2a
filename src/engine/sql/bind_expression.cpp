#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/functions.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/declared_type.hpp"
#include "engine/sql/hints.hpp"
#include "engine/sql/interval.hpp"
#include "engine/sql/limits.hpp"

namespace espalier::engine {
namespace {

using ast::expression_kind;

constexpr column_type truth_type{type_id::boolean};

expr_ptr open_literal(std::shared_ptr<arrow::Scalar> value, int position) {
  auto out = std::make_shared<expr>(*make_literal(std::move(value), {type_id::varchar}, position));
  out->open = true;
  return out;
}

expr_ptr decimal_literal(const std::string& text, int position) {
  arrow::Decimal128 value;
  std::int32_t precision = 0, scale = 0;
  if (!arrow::Decimal128::FromString(text, &value, &precision, &scale).ok() || precision > max_decimal_precision ||
      scale > max_decimal_precision) {
    // This case covers numbers such as 1e400.
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size()) {
      throw_sql_error(position, "This number has too many digits; write it as a double precision value.");
    }
    return make_literal(std::make_shared<arrow::DoubleScalar>(number), {type_id::float64}, position);
  }
  if (scale < 0) {
    const auto rescaled = value.Rescale(scale, 0);
    if (!rescaled.ok() || precision - scale > max_decimal_precision)
      throw_sql_error(position, "This number has too many digits.");
    value = *rescaled;
    precision -= scale;
    scale = 0;
  }
  precision = std::max({precision, scale, 1});
  const column_type type{type_id::decimal, precision, scale};
  return make_literal(std::make_shared<arrow::Decimal128Scalar>(value, arrow_type(type)), type, position);
}

expr_ptr integer_literal(const std::string& text, int position) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return decimal_literal(text, position);
  if (value >= INT32_MIN && value <= INT32_MAX) {
    return make_literal(std::make_shared<arrow::Int32Scalar>(static_cast<std::int32_t>(value)), {type_id::int32},
                        position);
  }
  return make_literal(std::make_shared<arrow::Int64Scalar>(value), {type_id::int64}, position);
}

const scope_column* find_column(const scope& names, const ast::expression& e) {
  const std::string& name = e.names.back();
  const std::string table = e.names.size() == 2 ? e.names[0] : std::string();
  const scope_column* found = nullptr;
  for (const auto& candidate : names.columns) {
    if (candidate.name != name || (!table.empty() && candidate.table != table)) continue;
    if (table.empty() && candidate.merged) continue;
    if (found)
      throw_sql_error(codes::ambiguous_column, e.position,
                      fmt::format("The column '{}' is ambiguous; put a table's name in front of it.", name));
    found = &candidate;
  }
  return found;
}

std::string no_such_column(const ast::expression& e, const scope& names) {
  const bool qualified = e.names.size() == 2;
  const std::string name = qualified ? e.names[0] + "." + e.names[1] : e.names[0];
  std::vector<std::string> candidates;
  for (const scope* level = &names; level; level = level->outer) {
    for (const auto& column : level->columns) {
      candidates.push_back(qualified ? column.table + "." + column.name : column.name);
    }
  }
  auto hint = did_you_mean(name, candidates);
  // This case covers orders.day where orders has the alias o.
  for (const auto& column : names.columns) {
    if (!hint.empty() || !qualified || column.name != e.names[1]) continue;
    hint = fmt::format("; did you mean '{}{}{}'?", column.table, column.table.empty() ? "" : ".", column.name);
  }
  if (hint.empty() && e.flag && !qualified) hint = fmt::format("; a text takes single quotes: '{}'.", name);
  return fmt::format("There is no column '{}' here{}", name, hint.empty() ? "." : hint);
}

std::optional<op> comparison_of(const std::string& text) {
  if (text == "=") return op::equal;
  if (text == "<>" || text == "!=") return op::not_equal;
  if (text == "<") return op::less;
  if (text == "<=") return op::less_equal;
  if (text == ">") return op::greater;
  if (text == ">=") return op::greater_equal;
  return std::nullopt;
}

std::optional<op> arithmetic_of(const std::string& text) {
  if (text == "+") return op::add;
  if (text == "-") return op::subtract;
  if (text == "*") return op::multiply;
  if (text == "/") return op::divide;
  if (text == "%") return op::modulo;
  return std::nullopt;
}

expr_ptr named_function(std::string name, const column_type& type, std::vector<expr_ptr> args, int position) {
  auto out = std::make_shared<expr>(*make_call(op::function, type, std::move(args), position));
  out->name = std::move(name);
  return out;
}

void refuse_intervals(const std::vector<expr_ptr>& values) {
  for (const auto& value : values) {
    if (!value->is_interval) continue;
    throw_sql_error(
        value->position,
        "An interval cannot stand here: it can be added to a timestamp, compared with another, and read as seconds "
        "by extract(epoch from ...).");
  }
}

}  // namespace

expr_ptr binder::literal(const ast::expression& e) {
  switch (e.kind) {
    case expression_kind::null_literal:
      return open_literal(arrow::MakeNullScalar(arrow::utf8()), e.position);
    case expression_kind::string:
      return open_literal(std::make_shared<arrow::StringScalar>(e.text), e.position);
    case expression_kind::boolean:
      return make_literal(std::make_shared<arrow::BooleanScalar>(e.flag), truth_type, e.position);
    case expression_kind::integer:
      return integer_literal(e.text, e.position);
    default:
      // The parser returns integers beyond 32 bits as floats; those that fit become bigint.
      return e.text.find_first_not_of("-0123456789") == std::string::npos ? integer_literal(e.text, e.position)
                                                                          : decimal_literal(e.text, e.position);
  }
}

expr_ptr binder::column(const ast::expression& e, const scope& names) {
  for (const scope* level = &names; level; level = level->outer) {
    if (const auto* found = find_column(*level, e)) return make_column(found->id, found->type, e.position);
  }
  throw_sql_error(codes::undefined_column, e.position, no_such_column(e, names));
}

expr_ptr binder::comparison(op kind, expr_ptr left, expr_ptr right, int position) {
  if (left->is_interval || right->is_interval) {
    if (!left->is_interval || !right->is_interval)
      throw_sql_error(position, "An interval is compared with intervals only.");
    left = comparable_interval(left);
    right = comparable_interval(right);
  }
  coerce_to_compare(left, right, position);
  return make_call(kind, truth_type, {std::move(left), std::move(right)}, position);
}

expr_ptr binder::operation(const ast::expression& e, const scope& names) {
  auto args = arguments_or_intervals(e, names);
  if (args.size() == 1) {
    if (args[0]->is_interval && e.text == "-") return negative_interval(args[0], e.position);
    if (e.text != "-" && e.text != "+")
      throw_sql_error(e.position, fmt::format("The operator '{}' is not supported.", e.text));
    if (args[0]->open || !is_numeric(args[0]->type.id))
      throw_sql_error(codes::undefined_function, e.position, "Unary + and - require a numeric operand.");
    return e.text == "+" ? args[0] : folded(make_call(op::negate, args[0]->type, args, e.position));
  }
  if (args.size() != 2) throw_sql_error(e.position, fmt::format("The operator '{}' is not supported.", e.text));
  if (const auto kind = comparison_of(e.text)) return comparison(*kind, args[0], args[1], e.position);
  if (const auto kind = arithmetic_of(e.text)) {
    if (auto out = interval_arithmetic(*kind, args[0], args[1], e.position)) return out;
    return folded(bound_arithmetic(*kind, args[0], args[1], e.position));
  }
  refuse_intervals(args);
  if (e.text == "||") {
    for (auto& arg : args) arg = coerced(arg, {type_id::varchar});
    return folded(named_function("concat_texts", {type_id::varchar}, args, e.position));
  }
  if (e.text == "~" || e.text == "~*" || e.text == "!~" || e.text == "!~*") {
    for (auto& arg : args) {
      if (!arg->open && arg->type.id != type_id::varchar) {
        throw_sql_error(arg->position, fmt::format("{} takes text on both sides.", e.text));
      }
      arg = coerced(arg, {type_id::varchar});
    }
    const bool ignores_case = e.text.ends_with('*');
    auto out = named_function(ignores_case ? "regexp_like_ignoring_case" : "regexp_like", truth_type, args, e.position);
    return folded(e.text[0] == '!' ? make_call(op::logical_not, truth_type, {out}, e.position) : out);
  }
  if (e.text == "~~") {
    throw_sql_error(e.position, "Write LIKE instead of ~~.");
  }
  throw_sql_error(e.position, fmt::format("The operator '{}' is not supported.", e.text));
}

std::vector<expr_ptr> binder::arguments_or_intervals(const ast::expression& e, const scope& names) {
  std::vector<expr_ptr> out;
  for (const auto& arg : e.args) out.push_back(expression_or_interval(*arg, names));
  return out;
}

std::vector<expr_ptr> binder::arguments(const ast::expression& e, const scope& names) {
  auto out = arguments_or_intervals(e, names);
  refuse_intervals(out);
  return out;
}

namespace {

// A value that is compared several times is copied into each comparison, so nesting would grow the tree exponentially.
void require_small(const expr_ptr& value, std::size_t times, int position) {
  if (value->args.empty() || tree_size(value) * static_cast<double>(times) <= limits::expression_nodes) return;
  throw_sql_error(codes::too_complex, position, "This expression is too complex; compute its parts in a subquery.");
}

}  // namespace

expr_ptr binder::in_list(const ast::expression& e, const scope& names) {
  auto args = arguments(e, names);
  if (args.size() < 2) throw_sql_error(e.position, "IN needs at least one value.");
  const bool listed_constants = std::all_of(args.begin() + 1, args.end(), is_literal);  // looked up together
  require_small(args[0], listed_constants ? 2 : args.size() - 1, e.position);
  std::vector<expr_ptr> tests;
  std::vector<expr_ptr> listed{args[0]};
  bool all_literals = true;
  for (std::size_t i = 1; i < args.size(); ++i) {
    auto test = comparison(op::equal, args[0], args[i], e.position);
    all_literals &= test->args[0]->type == args[0]->type && !args[0]->open && is_literal(test->args[1]);
    listed.push_back(test->args[1]);
    tests.push_back(std::move(test));
  }
  expr_ptr out = all_literals        ? make_call(op::in_list, truth_type, std::move(listed), e.position)
                 : tests.size() == 1 ? tests[0]
                                     : make_call(op::logical_or, truth_type, std::move(tests), e.position);
  return e.flag ? make_call(op::logical_not, truth_type, {out}, e.position) : out;
}

expr_ptr binder::case_when(const ast::expression& e, const scope& names) {
  const expr_ptr operand = e.args[0] ? expression(*e.args[0], names) : nullptr;
  if (operand) require_small(operand, e.args.size() / 2, e.position);
  std::vector<expr_ptr> conditions, results;
  for (std::size_t i = 1; i + 1 < e.args.size(); i += 2) {
    auto when = expression(*e.args[i], names);
    if (operand) {
      when = comparison(op::equal, operand, when, e.args[i]->position);
    } else if (when->type.id != type_id::boolean) {
      when = coerced(when, truth_type);
    }
    conditions.push_back(std::move(when));
    results.push_back(expression(*e.args[i + 1], names));
  }
  results.push_back(e.args.back() ? expression(*e.args.back(), names)
                                  : open_literal(arrow::MakeNullScalar(arrow::utf8()), e.position));
  const auto type = unify(results, e.position);
  std::vector<expr_ptr> args;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    args.push_back(conditions[i]);
    args.push_back(results[i]);
  }
  args.push_back(results.back());
  return make_call(op::case_when, type, std::move(args), e.position);
}

expr_ptr binder::subquery(const ast::expression& e, const scope& names) {
  auto out = std::make_shared<expr>();
  out->position = e.position;
  out->type = truth_type;
  out->query = query(*e.query, &names);
  if (e.kind == expression_kind::exists) {
    out->kind = op::exists_query;
    return out;
  }
  if (out->query->outputs.size() != 1)
    throw_sql_error(codes::syntax_error, e.position, "A subquery here has to return one column.");
  const auto& output = out->query->outputs[0];
  if (e.kind == expression_kind::scalar_query) {
    out->kind = op::scalar_query;
    out->type = output.type;
    return out;
  }
  out->kind = op::in_query;
  auto left = expression(*e.args.at(0), names);
  expr_ptr right = make_column(output.id, output.type, e.position);
  coerce_to_compare(left, right, e.position);
  if (right->kind != op::column) {
    auto converted = std::make_shared<project_node>();
    converted->outputs = {{new_column(), output.name, right->type}};
    converted->expressions = {right};
    converted->inputs = {out->query};
    out->query = converted;
  }
  out->args = {left};
  return out;
}

binder::binder(const catalog& tables, progress tell, const statement_context& context)
    : tables_(tables), tell_(std::move(tell)), context_(context) {}

expr_ptr binder::moment(const ast::expression& e, const column_type& type) const {
  if (!e.args.empty()) throw_sql_error(e.position, fmt::format("{} takes no arguments.", e.text));
  const std::chrono::microseconds since_1970(context_.now);
  if (type.id == type_id::timestamp)
    return make_literal(std::make_shared<arrow::TimestampScalar>(since_1970.count(), arrow_type(type)), type,
                        e.position);
  const auto days = std::chrono::floor<std::chrono::days>(since_1970).count();
  return make_literal(std::make_shared<arrow::Date32Scalar>(static_cast<std::int32_t>(days)), type, e.position);
}

expr_ptr binder::call(const ast::expression& e, const scope& names) {
  if (e.over) return window_call(e, names);
  if (is_window_function(e.text)) {
    throw_sql_error(codes::wrong_object_type, e.position,
                    fmt::format("The window function {} needs OVER (...).", e.text));
  }
  if (is_aggregate_function(e.text)) return aggregate(e, names);
  if (e.flag || e.number || e.filter || !e.order.empty()) {
    throw_sql_error(
        e.position,
        fmt::format("{} is not an aggregate function; DISTINCT, *, ORDER BY and FILTER are not allowed.", e.text));
  }
  if (const auto type = current_timestamp_type(e.text)) return moment(e, *type);
  if (!is_scalar_function(e.text)) {
    const auto hint = did_you_mean(e.text, function_names());
    throw_sql_error(codes::undefined_function, e.position,
                    fmt::format("The function {} is not supported{}", e.text, hint.empty() ? "." : hint));
  }
  auto args = arguments_or_intervals(e, names);
  if (e.text == "date_bin") return date_bin(args, e.position);
  if ((e.text == "extract" || e.text == "date_part") && args.size() == 2 && args[1]->is_interval) {
    const bool epoch = is_literal(args[0]) && args[0]->value->ToString() == "epoch";
    if (!epoch) throw_sql_error(e.position, "Of an interval only the epoch, its seconds, can be extracted.");
    return interval_seconds(args[1], e.position);
  }
  refuse_intervals(args);
  if (e.text == "mod") {
    if (args.size() != 2) throw_sql_error(codes::undefined_function, e.position, "mod takes two arguments.");
    return folded(bound_arithmetic(op::modulo, args[0], args[1], e.position));
  }
  if (e.text == "concat" || e.text == "concat_ws") {
    if (args.size() < (e.text == "concat" ? 1U : 2U)) {
      throw_sql_error(e.position, fmt::format("The function {} takes more arguments.", e.text));
    }
    for (auto& arg : args) arg = coerced(arg, {type_id::varchar});
    return folded(named_function(e.text, {type_id::varchar}, std::move(args), e.position));
  }
  constant_arguments constants;
  const auto is_value = [](const expr_ptr& arg) { return is_literal(arg) && arg->value->is_valid; };
  if (!args.empty() && is_value(args[0]) && args[0]->open) {
    constants.first_text = static_cast<const arrow::StringScalar&>(*args[0]->value).value->ToString();
  }
  if (!args.empty() && is_value(args.back()) && args.back()->type.id == type_id::int32) {
    constants.last_number = static_cast<const arrow::Int32Scalar&>(*args.back()->value).value;
  }
  std::vector<column_type> types;
  for (const auto& arg : args) types.push_back(arg->type);
  const auto signature = signature_of(e.text, types, constants, e.position);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool is_text = signature.args[i].id == type_id::varchar;
    if (is_text && !args[i]->open && args[i]->type.id != type_id::varchar) {
      throw_sql_error(codes::undefined_function, args[i]->position,
                      fmt::format("{} takes text here, not {}.", e.text, sql_name(args[i]->type)));
    }
    args[i] = coerced(args[i], signature.args[i]);
  }
  return folded(named_function(e.text, signature.result, std::move(args), e.position));
}

expr_ptr binder::like(const ast::expression& e, const scope& names) {
  auto args = arguments(e, names);
  for (auto& arg : args) {
    if (!arg->open && arg->type.id != type_id::varchar)
      throw_sql_error(codes::undefined_function, arg->position, "LIKE takes text on both sides.");
    arg = coerced(arg, {type_id::varchar});
  }
  if (args.size() != 2 || !is_constant(args[1]))
    throw_sql_error(codes::feature_not_supported, e.position, "The pattern of LIKE has to be a constant.");
  auto out = std::make_shared<expr>(*make_call(op::like, truth_type, std::move(args), e.position));
  out->number = e.text == "ILIKE" ? 1 : 0;
  return e.flag ? make_call(op::logical_not, truth_type, {out}, e.position) : expr_ptr(out);
}

expr_ptr binder::boolean(const ast::expression& e, const scope& names) {
  auto args = arguments(e, names);
  for (auto& arg : args) {
    if (arg->open) arg = coerced(arg, truth_type);
    if (arg->type.id != type_id::boolean) {
      throw_sql_error(codes::datatype_mismatch, arg->position,
                      fmt::format("A condition has to be boolean, not {}.", sql_name(arg->type)));
    }
  }
  if (e.kind == expression_kind::logical_and) return make_call(op::logical_and, truth_type, args, e.position);
  if (e.kind == expression_kind::logical_or) return make_call(op::logical_or, truth_type, args, e.position);
  if (e.kind == expression_kind::logical_not) return make_call(op::logical_not, truth_type, args, e.position);
  const std::pair<const char*, op> tests[] = {{"IS_TRUE", op::is_true},    {"IS_NOT_TRUE", op::is_not_true},
                                              {"IS_FALSE", op::is_false},  {"IS_NOT_FALSE", op::is_not_false},
                                              {"IS_UNKNOWN", op::is_null}, {"IS_NOT_UNKNOWN", op::is_not_null}};
  for (const auto& [name, kind] : tests) {
    if (e.text == name) return make_call(kind, truth_type, args, e.position);
  }
  throw_sql_error(e.position, "This test of a condition is not supported.");
}

expr_ptr binder::cast(const ast::expression& e, const scope& names) {
  if (e.type.name == "interval") {
    const auto& text = *e.args.at(0);
    if (text.kind != expression_kind::string)
      throw_sql_error(e.position, "An interval is a constant, such as interval '1 day'.");
    return interval_literal(text.text, e.type, text.position);
  }
  const auto type = declared(e.type);
  return folded(explicitly_cast(expression(*e.args.at(0), names), type));
}

expr_ptr binder::expression(const ast::expression& e, const scope& names) {
  auto out = expression_or_interval(e, names);
  refuse_intervals({out});
  return out;
}

expr_ptr binder::expression_or_interval(const ast::expression& e, const scope& names) {
  switch (e.kind) {
    case expression_kind::column:
      return column(e, names);
    case expression_kind::star:
      throw_sql_error(codes::syntax_error, e.position, "* cannot stand here.");
    case expression_kind::null_literal:
    case expression_kind::integer:
    case expression_kind::number:
    case expression_kind::string:
    case expression_kind::boolean:
      return literal(e);
    case expression_kind::parameter: {
      auto out = std::make_shared<expr>(*make_call(op::parameter, {type_id::varchar}, {}, e.position));
      out->number = e.number;
      out->open = true;
      parameters_ = std::max(parameters_, e.number);
      if (e.number < 1 || e.number > 1000)
        throw_sql_error(codes::undefined_parameter, e.position, "Parameters are $1 to $1000.");
      return out;
    }
    case expression_kind::op:
      return operation(e, names);
    case expression_kind::logical_and:
    case expression_kind::logical_or:
    case expression_kind::logical_not:
    case expression_kind::truth_test:
      return boolean(e, names);
    case expression_kind::is_null: {
      auto args = arguments(e, names);
      if (args[0]->open) args[0] = coerced(args[0], {type_id::varchar});
      return make_call(e.flag ? op::is_not_null : op::is_null, truth_type, args, e.position);
    }
    case expression_kind::between: {
      const auto args = arguments_or_intervals(e, names);
      require_small(args[0], 2, e.position);
      const auto low = comparison(op::greater_equal, args[0], args[1], e.position);
      const auto high = comparison(op::less_equal, args[0], args[2], e.position);
      const auto both = make_call(op::logical_and, truth_type, {low, high}, e.position);
      return e.flag ? make_call(op::logical_not, truth_type, {both}, e.position) : both;
    }
    case expression_kind::in_list:
      return in_list(e, names);
    case expression_kind::in_query:
    case expression_kind::exists:
    case expression_kind::scalar_query:
      return subquery(e, names);
    case expression_kind::like:
      return like(e, names);
    case expression_kind::distinct_from: {
      auto args = arguments(e, names);
      coerce_to_compare(args[0], args[1], e.position);
      return make_call(e.flag ? op::is_not_distinct : op::is_distinct, truth_type, args, e.position);
    }
    case expression_kind::case_when:
      return case_when(e, names);
    case expression_kind::coalesce:
    case expression_kind::extreme: {
      auto args = arguments(e, names);
      const auto type = unify(args, e.position);
      const auto kind = e.kind == expression_kind::coalesce ? op::coalesce
                        : e.text == "greatest"              ? op::greatest
                                                            : op::least;
      return make_call(kind, type, std::move(args), e.position);
    }
    case expression_kind::nullif: {
      auto args = arguments(e, names);
      coerce_to_compare(args[0], args[1], e.position);
      const auto type = args[0]->type;
      return make_call(op::nullif, type, std::move(args), e.position);
    }
    case expression_kind::cast:
      return cast(e, names);
    case expression_kind::call:
      return call(e, names);
    case expression_kind::use_default:
      throw_sql_error(codes::syntax_error, e.position, "DEFAULT can stand in the VALUES of an INSERT only.");
  }
  throw_sql_error(e.position, "This expression is not supported.");
}

expr_ptr binder::condition(const ast::expression& e, const scope& names, const char* clause) {
  const window_permission none(*this, nullptr, clause);
  auto out = expression(e, names);
  if (out->open) out = coerced(out, truth_type);
  if (out->type.id != type_id::boolean) {
    throw_sql_error(codes::datatype_mismatch, e.position,
                    fmt::format("{} takes a condition, not {}.", clause, sql_name(out->type)));
  }
  if (any_node(out, [](const expr& node) { return node.kind == op::aggregate; })) {
    throw_sql_error(codes::grouping_error, e.position,
                    fmt::format("An aggregate cannot stand in {}; use HAVING.", clause));
  }
  return out;
}

}  // namespace espalier::engine
