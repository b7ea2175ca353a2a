#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type_traits.h>
#include <arrow/util/bitmap_ops.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.hpp"
#include "engine/expr/fast_compare.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"

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

// Compares by IEEE rules and corrects the result where either side is NaN.
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
    case op::less:  // numbers are below NaN
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

template <class Float>
Float canonical(Float value) {
  if (value == 0) return 0;
  return value != value ? std::numeric_limits<Float>::quiet_NaN() : value;
}

template <class Type>
std::shared_ptr<arrow::Array> canonical_array(const arrow::Array& values) {
  using number = typename Type::c_type;
  const auto& typed = static_cast<const typename arrow::TypeTraits<Type>::ArrayType&>(values);
  auto buffer = std::shared_ptr<arrow::Buffer>(
      value_of(arrow::AllocateBuffer(typed.length() * static_cast<std::int64_t>(sizeof(number)))));
  auto* const out = reinterpret_cast<number*>(buffer->mutable_data());
  for (std::int64_t i = 0; i < typed.length(); ++i) out[i] = canonical(typed.raw_values()[i]);
  auto data = arrow::ArrayData::Make(typed.type(), typed.length(), {nullptr, std::move(buffer)}, 0);
  if (typed.null_count() > 0) {
    data->buffers[0] = value_of(arrow::internal::CopyBitmap(arrow::default_memory_pool(), typed.null_bitmap_data(),
                                                            typed.offset(), typed.length()));
    data->null_count = typed.null_count();
  }
  return arrow::MakeArray(std::move(data));
}

template <class Type>
arrow::Datum canonical_values(const arrow::Datum& values) {
  using scalar = typename arrow::TypeTraits<Type>::ScalarType;
  if (values.is_scalar()) {
    if (!values.scalar()->is_valid) return values;
    return arrow::Datum(std::make_shared<scalar>(canonical(values.scalar_as<scalar>().value)));
  }
  if (values.is_array()) return canonical_array<Type>(*values.make_array());
  arrow::ArrayVector chunks;
  for (const auto& chunk : values.chunked_array()->chunks()) chunks.push_back(canonical_array<Type>(*chunk));
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), values.type());
}

}  // namespace

arrow::Datum canonical_floats(const arrow::Datum& values) {
  switch (values.type()->id()) {
    case arrow::Type::FLOAT:
      return canonical_values<arrow::FloatType>(values);
    case arrow::Type::DOUBLE:
      return canonical_values<arrow::DoubleType>(values);
    default:
      return values;
  }
}

namespace {

// Checks the result size of kernels that combine texts of several arguments in one array.
void require_room(std::string_view kernel, const std::vector<arrow::Datum>& args, int position) {
  const bool chooses = kernel == "if_else" || kernel == "coalesce";
  if (!chooses && kernel != "binary_join_element_wise") return;
  std::int64_t rows = 1, sum = 0, longest = 0;
  for (const auto& arg : args) {
    if (!arg.is_scalar()) rows = arg.length();
  }
  for (const auto& arg : args) {
    const auto bytes = std::min(text_bytes(arg, rows), std::numeric_limits<std::int64_t>::max() / 16);
    sum = std::min(sum + bytes, std::numeric_limits<std::int64_t>::max() / 16);
    longest = std::max(longest, bytes);
  }
  require_text_fits(chooses && rows == 1 ? longest : sum, position);
}

}  // namespace

arrow::Datum call_kernel(const char* name, const std::vector<arrow::Datum>& args, int position,
                         const compute::FunctionOptions* options) {
  require_room(name, args, position);
  auto out = value_of(compute::CallFunction(name, args, options), position);
  require_sound_text(out, position);
  return out;
}

arrow::Datum compare(op kind, const arrow::Datum& left, const arrow::Datum& right, const column_type& type,
                     int position) {
  if (is_float(type.id) && (may_have_nan(left) || may_have_nan(right))) {
    return compare_with_nan(kind, left, right, position);
  }
  if (type.id == type_id::decimal) {
    if (auto answer = compared_decimals(kind, left, right)) return answer;
  }
  if (type.id == type_id::varchar && kind == op::equal && left.is_array() && right.is_scalar() &&
      right.scalar()->is_valid) {
    return texts_among(*left.make_array(), {right.scalar_as<arrow::StringScalar>().view()});
  }
  return call_kernel(function_of(kind), {left, right}, position);
}

}  // namespace espalier::engine
