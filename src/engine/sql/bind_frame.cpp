// bind_frame.cpp - binds the frame clause of a window.
//
// RANGE with an offset compares the ORDER BY value of other rows with that of the current row, plus or minus the
// offset. For numbers the executor computes these bounds, saturating where a value ends; for timestamps they are
// expressions, since months have no fixed length.
#include <arrow/scalar.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/interval.hpp"

namespace espalier::engine {
namespace {

bool has_offset(frame_bound bound) { return bound == frame_bound::preceding || bound == frame_bound::following; }

void require_constant(const expr_ptr& offset) {
  if (is_constant(offset)) return;
  throw_sql_error(codes::invalid_column_reference, offset->position, "The offset of a frame has to be a constant.");
}

expr_ptr row_offset(const expr_ptr& offset) {
  require_constant(offset);
  if (offset->is_interval || (!offset->open && !is_integer(offset->type.id))) {
    throw_sql_error(codes::datatype_mismatch, offset->position, "The offset of ROWS and GROUPS is an integer.");
  }
  return folded(coerced(offset, {type_id::int64}));
}

[[noreturn]] void refuse_range(const expr_ptr& key, const expr_ptr& offset) {
  throw_sql_error(codes::feature_not_supported, offset->position,
                  fmt::format("RANGE with an offset is not supported for ORDER BY of type {} and this offset: numbers "
                              "take numbers, dates and timestamps take intervals.",
                              sql_name(key->type)));
}

bool is_time(type_id id) { return id == type_id::date || id == type_id::timestamp; }

// Returns the type in which numbers of the key and both offsets are compared.
column_type range_type(const expr_ptr& key, const std::vector<expr_ptr>& offsets) {
  if (is_integer(key->type.id)) return {type_id::int64};
  if (is_float(key->type.id)) return {type_id::float64};
  std::vector<expr_ptr> all{key};
  for (const auto& offset : offsets) {
    if (!offset->open) all.push_back(offset);
  }
  return unify(all, key->position);
}

void require_number(const expr_ptr& key, const expr_ptr& offset) {
  require_constant(offset);
  const auto id = offset->type.id;
  const bool fits = offset->open || (is_integer(key->type.id) ? is_integer(id)
                                     : is_float(key->type.id) ? is_numeric(id)
                                                              : id == type_id::decimal || is_integer(id));
  if (offset->is_interval || !fits) refuse_range(key, offset);
}

// Returns the value at the end of the frame: the key minus the offset, or plus the offset.
expr_ptr time_bound(const expr_ptr& key, const expr_ptr& offset, bool adds) {
  require_constant(offset);
  if (!offset->is_interval) refuse_range(key, offset);
  const auto length = folded(comparable_interval(offset));
  if (is_literal(length) && coerced(length, {type_id::float64})->value->ToString().starts_with('-')) {
    throw_sql_error(codes::invalid_frame_offset, offset->position, "The offset of a frame cannot be negative.");
  }
  return interval_arithmetic(adds ? op::add : op::subtract, key, offset, offset->position);
}

}  // namespace

void binder::bind_frame(const ast::window& frame, const scope& names, expr& call, window_shape& shape) {
  auto& out = shape.frame;
  out.unit = frame.unit;
  out.start = frame.start;
  out.end = frame.end;
  if (out.unit == frame_unit::groups && shape.order_keys == 0) {
    throw_sql_error(codes::windowing_error, frame.position, "GROUPS needs an ORDER BY in the window.");
  }
  if (!has_offset(out.start) && !has_offset(out.end)) return;
  const auto bound_offset = [&](const ast::expression& e) {
    // A text is an interval where the key is a timestamp, as in PostgreSQL.
    const bool of_time = out.unit == frame_unit::range && shape.order_keys == 1 && is_time(call.args.back()->type.id);
    if (of_time && e.kind == ast::expression_kind::string) return interval_literal(e.text, {}, e.position);
    return expression_or_interval(e, names);
  };
  const auto start = has_offset(out.start) ? bound_offset(*frame.start_offset) : nullptr;
  const auto end = has_offset(out.end) ? bound_offset(*frame.end_offset) : nullptr;
  if (out.unit != frame_unit::range) {
    if (start) out.start_offset = row_offset(start);
    if (end) out.end_offset = row_offset(end);
    return;
  }
  if (shape.order_keys != 1) {
    throw_sql_error(codes::windowing_error, frame.position,
                    "RANGE with an offset needs one ORDER BY expression in the window.");
  }
  const expr_ptr key = call.args.back();
  if (is_time(key->type.id)) {
    const bool descending = (call.directions[0] & 1) != 0;
    const auto timestamps = coerced(key, {type_id::timestamp});
    call.args.push_back(timestamps);
    if (start) call.args.push_back(time_bound(timestamps, start, (out.start == frame_bound::following) != descending));
    if (end) call.args.push_back(time_bound(timestamps, end, (out.end == frame_bound::following) != descending));
    return;
  }
  std::vector<expr_ptr> offsets;
  for (const auto& offset : {start, end}) {
    if (!offset) continue;
    if (!is_numeric(key->type.id)) refuse_range(key, offset);
    require_number(key, offset);
    offsets.push_back(offset);
  }
  const auto type = range_type(key, offsets);
  call.args.push_back(coerced(key, type));
  if (start) out.start_offset = folded(coerced(start, type));
  if (end) out.end_offset = folded(coerced(end, type));
}

}  // namespace espalier::engine
