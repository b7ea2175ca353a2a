#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "engine/error.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

arrow::Datum checked(const char* name, const arrow::Datum& left, const arrow::Datum& right, int position) {
  return call_kernel(name, {left, right}, position);
}

// As in PostgreSQL, x / 0.0 is an error and not infinity, and NULL / 0.0 is NULL.
void refuse_zero(const arrow::Datum& dividend, const arrow::Datum& divisor, const column_type& type, int position) {
  const auto zero = value_of(arrow::MakeScalar(arrow_type(type), 0));
  const auto is_zero = call_kernel("equal", {divisor, arrow::Datum(zero)}, position);
  const auto hits = call_kernel("and_kleene", {is_zero, call_kernel("is_valid", {dividend}, position)}, position);
  if (hits.is_scalar()) {
    const auto& hit = hits.scalar_as<arrow::BooleanScalar>();
    if (hit.is_valid && hit.value) throw_sql_error(codes::division_by_zero, position, "Division by zero.");
  } else if (static_cast<const arrow::BooleanArray&>(*hits.make_array()).true_count() > 0) {
    throw_sql_error(codes::division_by_zero, position, "Division by zero.");
  }
}

// Computes a - (a / b) * b with a truncated quotient. The quotient of the smallest integer and -1 overflows although
// the remainder is 0, so a divisor of -1 is replaced by 1.
arrow::Datum remainder(const expr& e, const arrow::Datum& left, const arrow::Datum& right) {
  const int at = e.position;
  const auto type = arrow_type(e.type);
  const auto minus_one = arrow::Datum(value_of(arrow::MakeScalar(type, -1)));
  const auto one = arrow::Datum(value_of(arrow::MakeScalar(type, 1)));
  const auto is_minus_one = call_kernel("equal", {right, minus_one}, at);
  const auto divisor = call_kernel("if_else", {is_minus_one, one, right}, at);
  const auto quotient = checked("divide_checked", left, divisor, at);
  return checked("subtract_checked", left, checked("multiply_checked", quotient, divisor, at), at);
}

[[noreturn]] void refuse_digits(int position) {
  throw_sql_error(codes::numeric_value_out_of_range, position,
                  "The result of this operation has more than 38 digits; cast an operand.");
}

// Products of two decimals of 38 digits fit 256 bits. Arrow does not accept such operands.
arrow::Datum wide_products(const expr& e, const arrow::Datum& left, const arrow::Datum& right) {
  const auto type = arrow_type(e.type);
  const auto product = [&](const arrow::Decimal128& a, const arrow::Decimal128& b) {
    const arrow::Decimal256 wide = arrow::Decimal256(a) * arrow::Decimal256(b);
    if (!wide.FitsInPrecision(max_decimal_precision)) refuse_digits(e.position);
    return arrow::Decimal128(static_cast<std::int64_t>(wide.little_endian_array()[1]), wide.little_endian_array()[0]);
  };
  if (left.is_scalar() && right.is_scalar()) {
    if (!left.scalar()->is_valid || !right.scalar()->is_valid) return arrow::MakeNullScalar(type);
    return arrow::Datum(std::make_shared<arrow::Decimal128Scalar>(
        product(left.scalar_as<arrow::Decimal128Scalar>().value, right.scalar_as<arrow::Decimal128Scalar>().value),
        type));
  }
  const auto rows = left.is_array() ? left.length() : right.length();
  const auto array_of = [&](const arrow::Datum& value) {
    return value.is_array() ? value.make_array() : value_of(arrow::MakeArrayFromScalar(*value.scalar(), rows));
  };
  const auto left_array = array_of(left), right_array = array_of(right);
  const auto& a = static_cast<const arrow::Decimal128Array&>(*left_array);
  const auto& b = static_cast<const arrow::Decimal128Array&>(*right_array);
  arrow::Decimal128Builder builder(type);
  check(builder.Reserve(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    if (a.IsNull(i) || b.IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(product(arrow::Decimal128(a.GetValue(i)), arrow::Decimal128(b.GetValue(i))));
    }
  }
  return value_of(builder.Finish());
}

// If the declared digits of the result could exceed 38, the operation is computed with 256 bits, so that only values
// that need more than 38 digits fail.
arrow::Datum wide_decimals(const expr& e, const char* name, const arrow::Datum& left, const arrow::Datum& right) {
  const auto widened = [&](const arrow::Datum& value, const column_type& type) {
    return value_of(compute::Cast(value, arrow::decimal256(type.precision, type.scale)), e.position);
  };
  const auto out = checked(name, widened(left, e.args[0]->type), widened(right, e.args[1]->type), e.position);
  const auto fitted = compute::Cast(out, arrow_type(e.type));
  if (!fitted.ok()) refuse_digits(e.position);
  return *fitted;
}

arrow::Datum days(const expr& e, const arrow::Datum& left, const arrow::Datum& right, const char* function) {
  const auto count = value_of(compute::Cast(left, arrow::int32()), e.position);
  const auto more = value_of(compute::Cast(right, arrow::int32()), e.position);
  const auto sum = checked(function, count, more, e.position);
  return value_of(compute::Cast(sum, arrow_type(e.type)), e.position);
}

}  // namespace

arrow::Datum arithmetic(const expr& e, const arrow::Datum& left, const arrow::Datum& right) {
  const auto left_type = e.args[0]->type.id;
  const auto right_type = e.args[1]->type.id;
  if (left_type == type_id::date || right_type == type_id::date) {
    return days(e, left, right, e.kind == op::add ? "add_checked" : "subtract_checked");
  }
  if (e.kind == op::modulo) return remainder(e, left, right);
  if (e.kind == op::divide && is_float(e.type.id)) refuse_zero(left, right, e.type, e.position);
  const char* name = e.kind == op::add        ? "add_checked"
                     : e.kind == op::subtract ? "subtract_checked"
                     : e.kind == op::multiply ? "multiply_checked"
                                              : "divide_checked";
  if (e.type.id == type_id::decimal && e.type.precision == max_decimal_precision) {
    return e.kind == op::multiply ? wide_products(e, left, right) : wide_decimals(e, name, left, right);
  }
  return checked(name, left, right, e.position);
}

}  // namespace espalier::engine
