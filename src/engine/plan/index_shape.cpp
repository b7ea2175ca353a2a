#include "engine/plan/index_shape.hpp"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>

#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::Array> list_values(const expr& list, const evaluation& values) {
  const auto builder = value_of(arrow::MakeBuilder(arrow_type(list.args[0]->type)));
  for (std::size_t i = 1; i < list.args.size(); ++i) {
    const auto value = values.constant(list.args[i]);
    if (value->is_valid) check(builder->AppendScalar(*value), list.position);
  }
  return value_of(arrow::compute::Unique(canonical_floats(value_of(builder->Finish()))), list.position);
}

std::shared_ptr<arrow::Array> one_value(const expr_ptr& e, const evaluation& values) {
  if (!e) return nullptr;
  if (e->kind == op::in_list) return list_values(*e, values);
  return value_of(arrow::MakeArrayFromScalar(*values.constant(e), 1), e->position);
}

}  // namespace

key_ranges shape_of(const index_range& range, const evaluation& values) {
  key_ranges out;
  for (const auto& e : range.equal) out.equal.push_back(one_value(e, values));
  out.condition = range.condition;
  out.lo = one_value(range.lo, values);
  out.hi = one_value(range.hi, values);
  out.lo_inclusive = range.lo_inclusive;
  out.hi_inclusive = range.hi_inclusive;
  return out;
}

}  // namespace espalier::engine
