#include <arrow/array.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>

#include <cmath>

#include "engine/exec/arrow_result.hpp"
#include "engine/exec/kernels.hpp"
#include "engine/sql/error.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

const char* function_of(op kind) {
  switch (kind) {
    case op::equal:
      return "equal";
    case op::not_equal:
      return "not_equal";
    case op::less:
      return "less";
    case op::less_equal:
      return "less_equal";
    case op::greater:
      return "greater";
    default:
      return "greater_equal";
  }
}

bool nan_scalar(const arrow::Datum& value) {
  if (!value.is_scalar() || !value.scalar()->is_valid) return false;
  return value.type()->id() == arrow::Type::DOUBLE ? std::isnan(value.scalar_as<arrow::DoubleScalar>().value)
                                                   : std::isnan(value.scalar_as<arrow::FloatScalar>().value);
}

template <class Array>
bool has_nan(const arrow::Array& values) {
  const auto& typed = static_cast<const Array&>(values);
  const auto* raw = typed.raw_values();
  bool any = false;
  for (std::int64_t i = 0; i < typed.length(); ++i) any |= raw[i] != raw[i];
  return any;
}

bool may_have_nan(const arrow::Datum& value) {
  if (!value.is_array()) return nan_scalar(value);
  return value.type()->id() == arrow::Type::DOUBLE ? has_nan<arrow::DoubleArray>(*value.make_array())
                                                   : has_nan<arrow::FloatArray>(*value.make_array());
}

// IEEE's answers, corrected where a NaN is on either side.
arrow::Datum compare_with_nan(op kind, const arrow::Datum& left, const arrow::Datum& right, int position) {
  const auto left_nan = call_kernel("is_nan", {left}, position);
  const auto right_nan = call_kernel("is_nan", {right}, position);
  const auto plain = call_kernel(function_of(kind), {left, right}, position);
  const auto either = call_kernel("or", {left_nan, right_nan}, position);
  const auto both = call_kernel("and", {left_nan, right_nan}, position);
  arrow::Datum with_nan;
  switch (kind) {
    case op::equal:
      with_nan = both;
      break;
    case op::not_equal:
      with_nan = call_kernel("invert", {both}, position);
      break;
    case op::less:  // numbers below NaN
      with_nan = call_kernel("and_not", {right_nan, left_nan}, position);
      break;
    case op::less_equal:
      with_nan = right_nan;
      break;
    case op::greater:
      with_nan = call_kernel("and_not", {left_nan, right_nan}, position);
      break;
    default:
      with_nan = left_nan;
      break;
  }
  return call_kernel("if_else", {either, with_nan, plain}, position);
}

}  // namespace

arrow::Datum call_kernel(const char* name, const std::vector<arrow::Datum>& args, int position,
                         const compute::FunctionOptions* options) {
  return value_of(compute::CallFunction(name, args, options), position);
}

arrow::Datum compare(op kind, const arrow::Datum& left, const arrow::Datum& right, const column_type& type,
                     int position) {
  if (is_float(type.id) && (may_have_nan(left) || may_have_nan(right))) {
    return compare_with_nan(kind, left, right, position);
  }
  return call_kernel(function_of(kind), {left, right}, position);
}

}  // namespace espalier::engine
