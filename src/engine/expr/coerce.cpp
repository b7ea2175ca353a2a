#include "engine/expr/coerce.hpp"

#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/error.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/evaluate.hpp"

namespace espalier::engine {
namespace {

int integer_digits(type_id id) {
  switch (id) {
    case type_id::int8:
      return 3;
    case type_id::int16:
      return 5;
    case type_id::int32:
      return 10;
    default:
      return 19;
  }
}

column_type as_decimal(const column_type& type) {
  return type.id == type_id::decimal ? type : column_type{type_id::decimal, integer_digits(type.id), 0};
}

column_type common_decimal(const column_type& a, const column_type& b) {
  const int scale = std::max(a.scale, b.scale);
  const int whole = std::max(a.precision - a.scale, b.precision - b.scale);
  return {type_id::decimal, std::min(max_decimal_precision, whole + scale), scale};
}

// Converts a constant to another integer type without Arrow's cast, which is too slow for lists of thousands. Returns
// null if the value does not fit or one of the types is not an integer.
std::shared_ptr<arrow::Scalar> as_integer(const expr& literal, type_id to) {
  if (!is_integer(literal.type.id) || !is_integer(to) || !literal.value->is_valid) return nullptr;
  const auto value = [&]() -> std::int64_t {
    switch (literal.type.id) {
      case type_id::int8:
        return static_cast<const arrow::Int8Scalar&>(*literal.value).value;
      case type_id::int16:
        return static_cast<const arrow::Int16Scalar&>(*literal.value).value;
      case type_id::int32:
        return static_cast<const arrow::Int32Scalar&>(*literal.value).value;
      default:
        return static_cast<const arrow::Int64Scalar&>(*literal.value).value;
    }
  }();
  switch (to) {
    case type_id::int8:
      return std::in_range<std::int8_t>(value) ? std::make_shared<arrow::Int8Scalar>(static_cast<std::int8_t>(value))
                                               : nullptr;
    case type_id::int16:
      return std::in_range<std::int16_t>(value) ? std::make_shared<arrow::Int16Scalar>(static_cast<std::int16_t>(value))
                                                : nullptr;
    case type_id::int32:
      return std::in_range<std::int32_t>(value) ? std::make_shared<arrow::Int32Scalar>(static_cast<std::int32_t>(value))
                                                : nullptr;
    default:
      return std::make_shared<arrow::Int64Scalar>(value);
  }
}

// As in PostgreSQL, a float is compared with another number as double, whether that is a constant or a column. If
// converting the constant to the column's type gives the same result for every value of the column, an index on the
// column can be used.
bool has_same_answers(const expr& literal, const column_type& column) {
  constexpr double exact_integers = 9007199254740992.0;
  constexpr int exact_digits = 15;  // decimals of up to 15 digits are distinct doubles
  if (!is_float(literal.type.id) && !is_float(column.id)) return true;
  const auto as_double = cast(literal.value, literal.type, {type_id::float64}, -1);
  const double value = as_double.scalar_as<arrow::DoubleScalar>().value;
  if (is_integer(column.id)) return std::abs(value) < exact_integers;
  if (column.id == type_id::decimal) return column.precision <= exact_digits;
  if (column.id == type_id::float32) return static_cast<double>(static_cast<float>(value)) == value;
  return true;
}

// Returns the literal converted to `to` if the conversion is exact, otherwise null.
expr_ptr exactly(const expr_ptr& literal, const column_type& to) {
  if (literal->open || is_null_literal(literal)) return coerced(literal, to);
  const bool numbers = is_numeric(literal->type.id) && is_numeric(to.id);
  const bool times = literal->type.id == type_id::timestamp && to.id == type_id::date;
  if (!numbers && !times) return nullptr;
  if (auto integer = as_integer(*literal, to.id)) return make_literal(std::move(integer), to, literal->position);
  if (numbers && !has_same_answers(*literal, to)) return nullptr;
  try {
    const auto there = cast(literal->value, literal->type, to, -1);
    const auto back = cast(there, to, literal->type, -1);
    if (!back.scalar()->Equals(*literal->value)) return nullptr;
    return make_literal(there.scalar(), to, literal->position);
  } catch (const located_error&) {
    return nullptr;
  }
}

expr_ptr narrow_integer_literal(const expr_ptr& e) {
  // The constant in 5 * price becomes numeric(1,0), not numeric(10,0), so that the product keeps more digits.
  if (!is_literal(e) || !e->value->is_valid || !is_integer(e->type.id)) return e;
  const std::string text = e->value->ToString();
  const int digits = static_cast<int>(text.size()) - (text[0] == '-' ? 1 : 0);
  return coerced(e, {type_id::decimal, digits, 0});
}

expr_ptr decimal_arithmetic(op kind, expr_ptr left, expr_ptr right, int position) {
  left = narrow_integer_literal(left);
  right = narrow_integer_literal(right);
  const auto a = as_decimal(left->type);
  const auto b = as_decimal(right->type);
  left = coerced(left, a);
  right = coerced(right, b);
  column_type type{type_id::decimal, 0, 0};
  if (kind == op::multiply) {
    type.scale = a.scale + b.scale;
    type.precision = a.precision + b.precision + 1;
  } else {
    type.scale = std::max(a.scale, b.scale);
    type.precision = std::max(a.precision - a.scale, b.precision - b.scale) + type.scale + 1;
  }
  if (type.scale > max_decimal_precision) {
    throw_sql_error(position, "The product would have more than 38 digits behind the point; cast an operand to fewer.");
  }
  type.precision = std::min(type.precision, max_decimal_precision);
  return make_call(kind, type, {std::move(left), std::move(right)}, position);
}

const char* symbol_of(op kind) {
  switch (kind) {
    case op::add:
      return "+";
    case op::subtract:
      return "-";
    case op::multiply:
      return "*";
    case op::divide:
      return "/";
    default:
      return "%";
  }
}

expr_ptr date_arithmetic(op kind, expr_ptr left, expr_ptr right, int position) {
  const bool left_date = left->type.id == type_id::date;
  const bool right_date = right->type.id == type_id::date;
  if (kind == op::subtract && left_date && right_date) {
    return make_call(kind, {type_id::int32}, {std::move(left), std::move(right)}, position);
  }
  const bool date_and_days = left_date && is_integer(right->type.id) && (kind == op::add || kind == op::subtract);
  const bool days_and_date = right_date && is_integer(left->type.id) && kind == op::add;
  if (!date_and_days && !days_and_date) {
    throw_sql_error(
        codes::undefined_function, position,
        fmt::format("{} {} {} is not supported.", sql_name(left->type), symbol_of(kind), sql_name(right->type)));
  }
  if (date_and_days) right = coerced(right, {type_id::int32});
  if (days_and_date) left = coerced(left, {type_id::int32});
  return make_call(kind, {type_id::date}, {std::move(left), std::move(right)}, position);
}

}  // namespace

std::optional<column_type> common_type(const column_type& a, const column_type& b) {
  if (a.id == type_id::decimal && b.id == type_id::decimal) return common_decimal(a, b);
  if (a.id == b.id) return a;
  if (is_numeric(a.id) && is_numeric(b.id)) {
    if (is_float(a.id) || is_float(b.id)) return column_type{type_id::float64};
    if (a.id == type_id::decimal || b.id == type_id::decimal) return common_decimal(as_decimal(a), as_decimal(b));
    return a.id > b.id ? a : b;
  }
  const auto is_time = [](type_id id) { return id == type_id::date || id == type_id::timestamp; };
  if (is_time(a.id) && is_time(b.id)) return column_type{type_id::timestamp};
  return std::nullopt;
}

expr_ptr coerced(const expr_ptr& e, const column_type& to) {
  if (e->kind == op::parameter && e->open) {
    auto typed = std::make_shared<expr>(*e);
    typed->type = to;
    typed->open = false;
    return typed;
  }
  if (e->type == to && !e->open) return e;
  if (is_literal(e)) return make_literal(cast(e->value, e->type, to, e->position).scalar(), to, e->position);
  if (!can_cast(e->type, to)) {
    throw_sql_error(codes::cannot_coerce, e->position,
                    fmt::format("{} cannot be cast to {}.", sql_name(e->type), sql_name(to)));
  }
  return make_call(op::cast, to, {e}, e->position);
}

void coerce_to_compare(expr_ptr& left, expr_ptr& right, int position) {
  if (left->open && right->open) {
    left = coerced(left, {type_id::varchar});
    right = coerced(right, {type_id::varchar});
    return;
  }
  if (right->open) {
    right = coerced(right, left->type);
    return;
  }
  if (left->open) {
    left = coerced(left, right->type);
    return;
  }
  if (left->type == right->type) return;
  if (is_literal(right) && !is_literal(left)) {
    if (auto exact = exactly(right, left->type)) {
      right = exact;
      return;
    }
  }
  if (is_literal(left) && !is_literal(right)) {
    if (auto exact = exactly(left, right->type)) {
      left = exact;
      return;
    }
  }
  const auto type = common_type(left->type, right->type);
  if (!type) {
    throw_sql_error(
        codes::undefined_function, position,
        fmt::format("{} and {} cannot be compared; cast one of them.", sql_name(left->type), sql_name(right->type)));
  }
  left = coerced(left, *type);
  right = coerced(right, *type);
}

expr_ptr bound_arithmetic(op kind, expr_ptr left, expr_ptr right, int position) {
  if (left->open && right->open)
    throw_sql_error(codes::indeterminate_datatype, position, "The types of both sides are unknown; cast one of them.");
  if (left->open) left = coerced(left, right->type.id == type_id::date ? column_type{type_id::int32} : right->type);
  if (right->open) right = coerced(right, left->type.id == type_id::date ? column_type{type_id::int32} : left->type);
  if (left->type.id == type_id::date || right->type.id == type_id::date) {
    return date_arithmetic(kind, std::move(left), std::move(right), position);
  }
  if (!is_numeric(left->type.id) || !is_numeric(right->type.id)) {
    throw_sql_error(
        codes::undefined_function, position,
        fmt::format("{} {} {} is not supported.", sql_name(left->type), symbol_of(kind), sql_name(right->type)));
  }
  const bool decimals = left->type.id == type_id::decimal || right->type.id == type_id::decimal;
  const bool floats = is_float(left->type.id) || is_float(right->type.id);
  if (kind == op::modulo && (decimals || floats))
    throw_sql_error(codes::undefined_function, position, "% takes integers; cast its operands.");
  if (decimals && !floats && kind != op::divide) {
    return decimal_arithmetic(kind, std::move(left), std::move(right), position);
  }
  column_type type = decimals ? column_type{type_id::float64} : *common_type(left->type, right->type);
  return make_call(kind, type, {coerced(left, type), coerced(right, type)}, position);
}

column_type unify(std::vector<expr_ptr>& values, int position) {
  std::optional<column_type> type;
  for (const auto& value : values) {
    if (value->open) continue;
    const auto next = type ? common_type(*type, value->type) : std::optional(value->type);
    if (!next) {
      throw_sql_error(codes::datatype_mismatch, value->position >= 0 ? value->position : position,
                      fmt::format("{} and {} cannot stand in one column; cast one of them.", sql_name(*type),
                                  sql_name(value->type)));
    }
    type = next;
  }
  if (!type) type = column_type{type_id::varchar};
  for (auto& value : values) value = coerced(value, *type);
  return *type;
}

expr_ptr folded(const expr_ptr& e) {
  if (is_literal(e) || e->open) return e;
  const bool computable = !any_node(e, [](const expr& node) {
    return node.kind == op::column || node.kind == op::aggregate || node.kind == op::parameter || node.query != nullptr;
  });
  if (!computable) return e;
  try {
    return make_literal(evaluation{}.constant(e), e->type, e->position);
  } catch (const located_error&) {
    return e;  // 1/0 is an error only if it is evaluated for a row
  }
}

}  // namespace espalier::engine
