// series.cpp - generate_series in FROM. Its rows are generated when the statement is bound.
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/interval.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t most_rows = std::size_t{1} << 26;
constexpr column_type bigint_type{type_id::int64};
constexpr column_type time_type{type_id::timestamp};

std::int64_t integer_in(const arrow::Scalar& value) {
  return value.type->id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampScalar&>(value).value
                                                    : static_cast<const arrow::Int64Scalar&>(value).value;
}

void add(std::vector<std::int64_t>& rows, std::int64_t value, int position) {
  if (rows.size() % rows_between_checks == 0) check_cancelled();
  if (rows.size() == most_rows) {
    throw_sql_error(codes::invalid_parameter_value, position, "generate_series makes at most 67 million rows.");
  }
  rows.push_back(value);
}

std::vector<std::int64_t> steps(std::int64_t first, std::int64_t last, std::int64_t step, int position) {
  if (step == 0) throw_sql_error(codes::invalid_parameter_value, position, "The step of generate_series cannot be 0.");
  std::vector<std::int64_t> out;
  for (auto at = first; step > 0 ? at <= last : at >= last;) {
    add(out, at, position);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return out;
}

// Months have no fixed length, so each row is the previous row plus the step, as in PostgreSQL.
std::vector<std::int64_t> month_steps(const expr_ptr& first, std::int64_t last, const expr_ptr& step, int position) {
  const auto as_micros = [](const expr_ptr& e) { return integer_in(*e->value); };
  const auto next_of = [&](const expr_ptr& at) {
    const auto next = folded(interval_arithmetic(op::add, at, step, position));
    if (!is_literal(next)) throw_sql_error(position, "A timestamp of generate_series is out of range.");
    return next;
  };
  std::vector<std::int64_t> out;
  const bool up = as_micros(next_of(first)) > as_micros(first);
  for (auto at = first; up ? as_micros(at) <= last : as_micros(at) >= last; at = next_of(at)) {
    add(out, as_micros(at), position);
    if (as_micros(next_of(at)) == as_micros(at)) {
      throw_sql_error(codes::invalid_parameter_value, position, "The step of generate_series cannot be 0.");
    }
  }
  return out;
}

}  // namespace

plan_ptr binder::from_series(const ast::from_item& item) {
  std::vector<expr_ptr> args;
  for (const auto& arg : item.args) args.push_back(folded(expression_or_interval(*arg, scope{})));
  if ((args.size() != 2 && args.size() != 3) || !item.named_args.empty()) {
    throw_sql_error(item.position, "generate_series takes its first and last value, and a step.");
  }
  const bool times = args.size() == 3 && args[2]->is_interval;
  bool small = !times;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (times && i == 2) continue;
    const auto id = args[i]->type.id;
    const bool fits =
        times ? args[i]->open || id == type_id::timestamp || id == type_id::date : args[i]->open || is_integer(id);
    if (!fits || args[i]->is_interval) {
      throw_sql_error(args[i]->position, "generate_series takes integers, or timestamps and an interval.");
    }
    small &= args[i]->open || id != type_id::int64;
    args[i] = folded(coerced(args[i], times ? time_type : bigint_type));
  }
  std::vector<std::int64_t> rows;
  bool any_null = false;
  for (const auto& arg : args) {
    if (!is_literal(arg)) throw_sql_error(arg->position, "Arguments of this function have to be constants.");
    any_null |= !arg->value->is_valid;
  }
  if (!any_null) {
    const auto last = integer_in(*args[1]->value);
    if (times && args[2]->number != 0) {
      rows = month_steps(args[0], last, args[2], item.position);
    } else {
      rows =
          steps(integer_in(*args[0]->value), last, args.size() == 3 ? integer_in(*args[2]->value) : 1, item.position);
    }
  }
  const column_type type = times ? time_type : small ? column_type{type_id::int32} : bigint_type;
  arrow::Int64Builder builder;
  check(builder.AppendValues(rows));
  arrow::Datum values(value_of(builder.Finish()));
  if (type.id != type_id::int64) values = value_of(arrow::compute::Cast(values, arrow_type(type)), item.position);
  auto out = std::make_shared<file_scan_node>();
  out->what = "generate_series";
  const std::string name = item.alias.empty() ? item.function : item.alias;
  out->rows = arrow::Table::Make(arrow::schema({arrow::field(name, arrow_type(type))}), {values.make_array()});
  out->columns = {0};
  out->outputs = {{new_column(), name, type}};
  return out;
}

}  // namespace espalier::engine
