#include "engine/statements/parameter_batch.hpp"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/plan/index_aggregate.hpp"
#include "engine/plan/shared_plans.hpp"
#include "engine/plan/visit.hpp"
#include "engine/sql/binder.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

// Parameters and the statement number are columns with ids far above those of a binder.
constexpr column_id first_parameter_column = 1U << 30;
constexpr column_id statement_column = first_parameter_column - 1;

void for_each_expression_below(plan_node& plan, const std::function<void(expr_ptr&)>& visit) {
  for_each_expression(plan, visit);
  for (const auto& input : plan.inputs) for_each_expression_below(*input, visit);
}

// A parameter has one type, that of the most specific use; other uses get a cast. If it is used as text only, it is
// text.
std::map<int, column_type> settle_parameters(plan_node& plan) {
  std::map<int, column_type> out;
  const auto look = [&](expr_ptr& whole) {
    (void)any_node(whole, [&](const expr& e) {
      if (e.kind != op::parameter) return false;
      const auto [known, added] = out.try_emplace(e.number, e.type);
      if (added || known->second == e.type) return false;
      if (known->second.id == type_id::varchar) {
        known->second = e.type;
      } else if (const auto both = common_type(known->second, e.type)) {
        known->second = *both;
      }
      return false;
    });
  };
  const auto settle = [&](expr_ptr& whole) {
    whole = rewrite(whole, [&](const expr_ptr& e) -> expr_ptr {
      if (e->kind != op::parameter || (e->type == out.at(e->number) && !e->open)) return nullptr;
      auto typed = std::make_shared<expr>(*e);
      typed->type = out.at(e->number);
      typed->open = false;
      return coerced(typed, e->type);
    });
  };
  const auto everywhere = [&](const std::function<void(expr_ptr&)>& visit) {
    for_each_expression_below(plan, visit);
    const auto below = [&](const plan_ptr& query, const expr&) { for_each_expression_below(*query, visit); };
    for_each_subquery(plan, below);
    for (const auto& shared : shared_plans(plan)) {
      for_each_expression_below(*shared->body, visit);
      for_each_subquery(*shared->body, below);
    }
  };
  everywhere(look);
  everywhere(settle);
  return out;
}

expr_ptr as_columns(const expr_ptr& e) {
  if (!e) return nullptr;
  return rewrite(e, [](const expr_ptr& node) -> expr_ptr {
    if (node->kind != op::parameter) return nullptr;
    return make_column(first_parameter_column + static_cast<column_id>(node->number), node->type, node->position);
  });
}

std::shared_ptr<arrow::ChunkedArray> as_chunks(const arrow::Datum& values) {
  return values.is_array() ? chunked(values.make_array()) : values.chunked_array();
}

// Throws for a value that the conversion to `type` has changed. It would be compared as another value: 1.5 as 2.
void require_exact(int number, const std::shared_ptr<arrow::ChunkedArray>& given, const column_type& have,
                   const std::shared_ptr<arrow::ChunkedArray>& converted, const column_type& type) {
  const bool exact_type = is_integer(type.id) || type.id == type_id::decimal || type.id == type_id::date;
  if (!exact_type || have.id == type_id::varchar || have == type || !can_cast(type, have)) return;
  const auto back = as_chunks(cast(flat(converted), type, have, -1));
  if (back->Equals(given)) return;
  for (std::int64_t row = 0; row < given->length(); ++row) {
    const auto mine = value_of(given->GetScalar(row)), theirs = value_of(back->GetScalar(row));
    if (mine->Equals(*theirs)) continue;
    throw_sql_error(codes::invalid_text_representation, -1,
                    fmt::format("The value {} of ${} is not a value of type {}, as which the statement uses it; write "
                                "a cast, such as ${}::{}.",
                                mine->ToString(), number, sql_name(type), number, sql_name(have)));
  }
}

// Returns the parameters converted to the types that the statement gives them.
relation parameter_relation(const arrow::Table& parameters, const std::map<int, column_type>& types) {
  relation out;
  out.rows = parameters.num_rows();
  for (const auto& [number, type] : types) {
    if (number > parameters.num_columns())
      throw_sql_error(-1, fmt::format("The table of parameters has no column for ${}.", number));
    const auto& column = parameters.column(number - 1);
    const auto have = loaded_type(*column->type());
    if (!have) throw_sql_error(-1, fmt::format("The parameter ${} has a type that cannot be used.", number));
    const auto stored = as_chunks(value_of(arrow::compute::Cast(column, arrow_type(*have))));
    const auto converted = as_chunks(cast(flat(stored), *have, type, -1));
    require_exact(number, stored, *have, converted, type);
    out.add(first_parameter_column + static_cast<column_id>(number), converted);
  }
  return out;
}

key_ranges shapes_of(const index_range& range, const relation& parameters, const evaluation& values) {
  const auto column = [&](const expr_ptr& e) { return e ? flat(values.column(as_columns(e), parameters)) : nullptr; };
  key_ranges out;
  for (const auto& e : range.equal) out.equal.push_back(column(e));
  out.condition = range.condition;
  out.lo = column(range.lo);
  out.hi = column(range.hi);
  out.lo_inclusive = range.lo_inclusive;
  out.hi_inclusive = range.hi_inclusive;
  return out;
}

std::shared_ptr<arrow::ChunkedArray> numbers_of(const std::vector<std::int64_t>& statements) {
  arrow::Int64Builder builder;
  check(builder.AppendValues(statements));
  return chunked(value_of(builder.Finish()));
}

std::shared_ptr<arrow::Table> answer(const relation& rows, const std::vector<output_column>& outputs) {
  arrow::FieldVector fields{arrow::field("statement", arrow::int64())};
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns{rows.column(statement_column)};
  for (const auto& output : outputs) {
    fields.push_back(arrow::field(output.name, arrow_type(output.type)));
    columns.push_back(rows.column(output.id));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows.rows);
}

bool asks_for_a_list(const index_range& range) {
  for (const auto& e : range.equal) {
    if (e->kind == op::in_list) return true;
  }
  return false;
}

// A plan that is one index query under projections. One call answers all statements of the batch then.
struct one_question {
  std::vector<project_node*> projects;  ///< topmost first
  index_aggregate_node* aggregate = nullptr;
  scan_node* scan = nullptr;
};

std::optional<one_question> question_of(plan_node& plan) {
  bool subqueries = false;
  for_each_subquery(plan, [&](const plan_ptr&, const expr&) { subqueries = true; });
  if (subqueries) return std::nullopt;
  one_question out;
  plan_node* at = &plan;
  for (; at->kind == node_kind::project; at = at->inputs[0].get())
    out.projects.push_back(static_cast<project_node*>(at));
  if (at->kind == node_kind::index_aggregate) {
    out.aggregate = static_cast<index_aggregate_node*>(at);
    return out;
  }
  if (at->kind != node_kind::scan) return std::nullopt;
  out.scan = static_cast<scan_node*>(at);
  if (out.scan->ranges.size() != 1 || out.scan->ordered) return std::nullopt;
  const auto& range = out.scan->ranges[0];
  if (asks_for_a_list(range) || (range.equal.empty() && !range.lo && !range.hi)) return std::nullopt;
  return out;
}

relation aggregates(const index_aggregate_node& n, const relation& parameters, const evaluation& values) {
  const auto& index = *n.range.index;
  const auto ranges = index.ranges(shapes_of(n.range, parameters, values));
  relation out = parameters;
  for (std::size_t i = 0; i < n.calls.size(); ++i) {
    auto answers = index_aggregate_values(index, n.calls[i], n.columns[i], ranges);
    // A range without parameters is the same for all statements.
    if (answers->length() != out.rows)
      answers = value_of(arrow::MakeArrayFromScalar(*value_of(answers->GetScalar(0)), out.rows));
    out.add(n.calls[i].output, chunked(std::move(answers)));
  }
  std::vector<std::int64_t> statements(static_cast<std::size_t>(out.rows));
  std::iota(statements.begin(), statements.end(), 0);
  out.add(statement_column, numbers_of(statements));
  return out;
}

relation found_rows(const scan_node& n, const relation& parameters, const evaluation& values) {
  const auto& index = *n.ranges[0].index;
  const auto found = index.rows(index.ranges(shapes_of(n.ranges[0], parameters, values)));
  const auto taken = n.table->version->take(n.columns, found.rows);
  std::vector<std::int64_t> statements;
  statements.reserve(found.rows.size());
  for (std::size_t i = 0; i + 1 < found.offsets.size(); ++i) {
    statements.insert(statements.end(), found.offsets[i + 1] - found.offsets[i], static_cast<std::int64_t>(i));
  }
  relation out = take_rows(parameters, statements);
  out.rows = static_cast<std::int64_t>(found.rows.size());
  for (std::size_t i = 0; i < n.columns.size(); ++i) out.add(n.outputs[i].id, taken->column(static_cast<int>(i)));
  out.add(statement_column, numbers_of(statements));
  std::vector<expr_ptr> residual;
  for (const auto& condition : n.residual) residual.push_back(as_columns(condition));
  return values.filter(residual, out);
}

relation projected(relation rows, const one_question& question, const evaluation& values) {
  for (auto it = question.projects.rbegin(); it != question.projects.rend(); ++it) {
    relation next;
    next.rows = rows.rows;
    for (std::size_t i = 0; i < rows.ids.size(); ++i) {
      if (rows.ids[i] >= statement_column) next.add(rows.ids[i], rows.columns[i]);
    }
    for (std::size_t i = 0; i < (*it)->expressions.size(); ++i) {
      next.add((*it)->outputs[i].id, values.column(as_columns((*it)->expressions[i]), rows));
    }
    rows = std::move(next);
  }
  return rows;
}

// Any other statement is executed once per row, planned with the values of that row.
std::shared_ptr<arrow::Table> one_by_one(session& open, const ast::select& select, const relation& parameters,
                                         int count) {
  std::vector<std::shared_ptr<arrow::Table>> parts;
  for (std::int64_t row = 0; row < parameters.rows; ++row) {
    std::vector<std::shared_ptr<arrow::Scalar>> values(static_cast<std::size_t>(count),
                                                       arrow::MakeNullScalar(arrow::utf8()));
    for (std::size_t i = 0; i < parameters.ids.size(); ++i) {
      values[parameters.ids[i] - first_parameter_column - 1] = value_of(parameters.columns[i]->GetScalar(row));
    }
    binder binds(open.tables(), {}, open.context());
    auto options = open.planning();
    options.parameters = values;
    auto plan = binds.query(select);
    (void)settle_parameters(*plan);
    plan = optimized(std::move(plan), options);
    const auto rows = executor(values).table(*plan);
    const std::vector<std::int64_t> number(static_cast<std::size_t>(rows->num_rows()), row);
    parts.push_back(value_of(rows->AddColumn(0, arrow::field("statement", arrow::int64()), numbers_of(number))));
  }
  if (parts.size() == 1) return parts[0];
  return value_of(arrow::ConcatenateTables(parts));
}

}  // namespace

query_result run_batch(session& open, const ast::select& select, const arrow::Table& parameters) {
  open.require_usable();
  query_result out;
  plan_ptr plan;
  int count = 0;
  std::map<int, column_type> types;
  {
    const stopwatch watch(out.timings.plan);
    binder binds(open.tables(), {}, open.context());
    plan = binds.query(select);
    types = settle_parameters(*plan);
    plan = optimized(std::move(plan), open.planning());
    count = binds.parameters();
  }
  if (parameters.num_columns() < count) {
    throw_sql_error(-1, fmt::format("The statement has {} parameters, and their table {} columns.", count,
                                    parameters.num_columns()));
  }
  const stopwatch watch(out.timings.run);
  const auto values = parameter_relation(parameters, types);
  const auto question = question_of(*plan);
  if (values.rows == 0 || question) {
    const evaluation none;
    if (values.rows == 0) {
      relation empty;
      empty.add(statement_column, numbers_of({}));
      for (const auto& output : plan->outputs) {
        empty.add(output.id, chunked(value_of(arrow::MakeEmptyArray(arrow_type(output.type)))));
      }
      out.rows = answer(empty, plan->outputs);
    } else {
      auto rows = question->aggregate ? aggregates(*question->aggregate, values, none)
                                      : found_rows(*question->scan, values, none);
      out.rows = answer(projected(std::move(rows), *question, none), plan->outputs);
    }
  } else {
    out.rows = one_by_one(open, select, values, count);
  }
  out.tag = fmt::format("SELECT {}", out.rows->num_rows());
  return out;
}

}  // namespace espalier::engine
