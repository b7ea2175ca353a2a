#include "engine/expr/failing.hpp"

#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <string_view>

#include "engine/expr/sql_arrow_status.hpp"
#include "engine/types.hpp"

namespace espalier::engine {
namespace {

// Returns whether the conversion accepts every value of its source type.
bool cast_cannot_fail(const column_type& from, const column_type& to) {
  if (is_integer(from.id) && is_integer(to.id)) return from.id <= to.id;
  return to.id == type_id::float64 && (is_integer(from.id) || is_float(from.id) || from.id == type_id::decimal);
}

// A pattern is checked when rows are compared with it.
bool pattern_cannot_fail(const expr_ptr& pattern) {
  if (!is_literal(pattern) || !pattern->value->is_valid || pattern->type.id != type_id::varchar) return false;
  const auto text = static_cast<const arrow::StringScalar&>(*pattern->value).view();
  const auto last = text.find_last_not_of('\\');
  return (text.size() - (last == std::string_view::npos ? 0 : last + 1)) % 2 == 0;
}

constexpr const char* tolerant_function = "true_where_it_fails";

// A sum of at most 2^63 values of up to 19 digits fits numeric(38).
bool sums_fit(const column_type& type) { return type.id != type_id::decimal || type.precision <= 19; }

bool is_arithmetic(op kind) {
  return kind == op::add || kind == op::subtract || kind == op::multiply || kind == op::divide || kind == op::modulo ||
         kind == op::negate || kind == op::cast;
}

}  // namespace

bool cannot_fail(const expr_ptr& e) {
  switch (e->kind) {
    case op::add:
    case op::subtract:
    case op::multiply:
    case op::negate:
      if (!is_float(e->type.id)) return false;  // others overflow
      break;
    case op::cast:
      if (!cast_cannot_fail(e->args[0]->type, e->type)) return false;
      break;
    case op::column:
    case op::literal:
    case op::parameter:
    case op::in_list:
    case op::is_null:
    case op::is_not_null:
    case op::is_true:
    case op::is_not_true:
    case op::is_false:
    case op::is_not_false:
    case op::logical_and:
    case op::logical_or:
    case op::logical_not:
    case op::is_distinct:
    case op::is_not_distinct:
    case op::case_when:
    case op::coalesce:
    case op::nullif:
      break;
    case op::like:
      if (!pattern_cannot_fail(e->args[1])) return false;
      break;
    case op::function:
      return is_true_where_it_fails(*e);
    default:
      if (!is_comparison(e->kind)) return false;
  }
  return std::all_of(e->args.begin(), e->args.end(), cannot_fail);
}

bool aggregate_cannot_fail(const aggregate_call& call) {
  if (call.argument && !cannot_fail(call.argument)) return false;
  if (!std::ranges::all_of(call.more, cannot_fail)) return false;
  if (call.function == "sum" || call.function == "avg") return sums_fit(call.argument->type);
  return call.function != "string_agg";  // its text has a greatest length
}

expr_ptr true_where_it_fails(const expr_ptr& condition) {
  auto out = std::make_shared<expr>(*make_call(op::function, condition->type, {condition}, condition->position));
  out->name = tolerant_function;
  return out;
}

bool is_true_where_it_fails(const expr& e) { return e.kind == op::function && e.name == tolerant_function; }

bool is_null_without_row(const expr_ptr& e) {
  if (e->kind == op::column) return true;
  if (!is_arithmetic(e->kind)) return false;
  const auto is_constant_of_none = [](const expr_ptr& arg) {
    return arg->kind == op::literal || arg->kind == op::parameter;
  };
  return std::ranges::any_of(e->args, is_null_without_row) && std::ranges::all_of(e->args, [&](const expr_ptr& arg) {
           return is_constant_of_none(arg) || is_null_without_row(arg);
         });
}

expr_ptr null_where_a_divisor_is_zero(const expr_ptr& e) {
  if (!is_arithmetic(e->kind) && !is_comparison(e->kind)) return e;  // these are NULL if an operand is
  auto out = std::make_shared<expr>(*e);
  for (auto& arg : out->args) arg = null_where_a_divisor_is_zero(arg);
  if (e->kind != op::divide && e->kind != op::modulo) return out;
  auto& divisor = out->args[1];
  std::shared_ptr<arrow::Scalar> zero;
  if (is_integer(divisor->type.id) || is_float(divisor->type.id)) {
    zero = value_of(arrow::MakeScalar(arrow_type(divisor->type), 0));
  } else if (divisor->type.id == type_id::decimal) {
    zero = std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(0), arrow_type(divisor->type));
  } else {
    return out;
  }
  divisor = make_call(op::nullif, divisor->type, {divisor, make_literal(std::move(zero), divisor->type)});
  return out;
}

std::vector<expr_ptr> harmless_first(std::vector<expr_ptr> conditions) {
  std::stable_partition(conditions.begin(), conditions.end(), cannot_fail);
  return conditions;
}

}  // namespace espalier::engine
