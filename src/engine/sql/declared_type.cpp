#include "engine/sql/declared_type.hpp"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"

namespace espalier::engine {
namespace {

constexpr int longest_text = 10485760;  // as in PostgreSQL

expr_ptr with_length(const char* function, const expr_ptr& text, int length) {
  auto out = std::make_shared<expr>(*make_call(op::function, {type_id::varchar}, {text}, text->position));
  out->name = function;
  out->number = length;
  return out;
}

// Converts a quoted number exactly. Returns null if a decimal cannot hold it; the cast then reports the error.
expr_ptr quoted_number(const expr_ptr& e) {
  if (!is_literal(e) || !e->open || !e->value->is_valid) return nullptr;
  auto text = static_cast<const arrow::StringScalar&>(*e->value).value->ToString();
  const auto first = text.find_first_not_of(" \t\n");
  const auto last = text.find_last_not_of(" \t\n");
  if (first == std::string::npos) return nullptr;
  text = text.substr(first, last - first + 1);
  if (text.find_first_not_of("+-.0123456789eE") != std::string::npos) return nullptr;
  arrow::Decimal128 value;
  std::int32_t precision = 0, scale = 0;
  if (!arrow::Decimal128::FromString(text, &value, &precision, &scale).ok() || precision > max_decimal_precision ||
      scale > max_decimal_precision || scale < 0) {
    return nullptr;
  }
  const column_type type{type_id::decimal, std::max({precision, scale, 1}), scale};
  return make_literal(std::make_shared<arrow::Decimal128Scalar>(value, arrow_type(type)), type, e->position);
}

expr_ptr exact_number(const expr_ptr& value, const column_type& to) {
  auto from = value;
  if (const auto number = quoted_number(value)) {
    from = number;
  } else if (!value->open && value->type.id == type_id::varchar) {
    from = coerced(value, {type_id::decimal, max_decimal_precision, 2 * plain_numeric.scale});
  }
  if (from->open || from->type.id != type_id::decimal || from->type.scale <= to.scale) return coerced(from, to);
  auto out = std::make_shared<expr>(*make_call(op::function, to, {from}, value->position));
  out->name = "exact_numeric";
  return out;
}

}  // namespace

declared_type declared(const ast::type_name& type) {
  declared_type out;
  auto& [rule, length] = out.declaration;
  const bool fixed = type.name == "bpchar";
  const bool text = fixed || type.name == "varchar";
  if (text && (fixed || !type.modifiers.empty())) {
    out.type = {type_id::varchar};
    if (type.modifiers.empty()) return out;  // bpchar without a length is text
    rule = fixed ? column_rule::fixed : column_rule::varchar;
    length = type.modifiers[0];
    if (type.modifiers.size() != 1 || length < 1 || length > longest_text) {
      throw_sql_error(type.position, fmt::format("The length of a text is from 1 to {} characters.", longest_text));
    }
    return out;
  }
  const auto found = type_from_sql(type.name, type.modifiers);
  if (!found)
    throw_sql_error(codes::undefined_object, type.position, fmt::format("The type {} is not supported.", type.name));
  out.type = *found;
  if (found->id == type_id::decimal && type.modifiers.empty()) rule = column_rule::numeric;
  return out;
}

expr_ptr stored(const expr_ptr& value, const declared_type& to) {
  const auto [rule, length] = to.declaration;
  if (rule == column_rule::numeric) return exact_number(value, to.type);
  auto out = coerced(value, to.type);
  if (rule == column_rule::varchar) return with_length("fit_varchar", out, length);
  if (rule == column_rule::fixed) return with_length("fit_char", out, length);
  return out;
}

expr_ptr explicitly_cast(const expr_ptr& value, const declared_type& to) {
  const auto [rule, length] = to.declaration;
  if (rule == column_rule::numeric) {
    // Exact numbers are kept unchanged.
    if (const auto number = quoted_number(value)) return number;
    if (!value->open && value->type.id == type_id::decimal) return value;
    if (!value->open && is_integer(value->type.id)) {
      return coerced(value, *common_type(value->type, {type_id::decimal, 1, 0}));
    }
  }
  auto out = coerced(value, to.type);
  if (rule == column_rule::varchar) return with_length("cut_varchar", out, length);
  if (rule == column_rule::fixed) return with_length("cut_char", out, length);
  return out;
}

}  // namespace espalier::engine
