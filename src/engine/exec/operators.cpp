#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "engine/exec/aggregate.hpp"
#include "engine/exec/arrow_result.hpp"
#include "engine/exec/executor.hpp"
#include "engine/sql/error.hpp"

namespace espalier::engine {
namespace {

// Columns that nobody asks for are pruned before: those that are left are used.
void refuse_odd_columns(const loaded_node& n) {
  std::string odd;
  for (const int place : n.columns) {
    const auto& field = *n.rows->schema()->field(place);
    if (stored_type(*field.type())) continue;
    odd += fmt::format("{}'{}' ({})", odd.empty() ? "" : ", ", field.name(), field.type()->ToString());
  }
  if (odd.empty()) return;
  throw error(
      fmt::format("{} has columns of types that cannot be used: {}; the others can be selected by name.", n.what, odd));
}

}  // namespace

relation executor::loaded(const loaded_node& n) {
  refuse_odd_columns(n);
  relation out;
  out.rows = n.rows->num_rows();
  for (std::size_t i = 0; i < n.columns.size(); ++i) out.add(n.outputs[i].id, n.rows->column(n.columns[i]));
  return out;
}

relation executor::values(const values_node& n) {
  relation out;
  out.rows = static_cast<std::int64_t>(n.rows.size());
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const auto builder = value_of(arrow::MakeBuilder(arrow_type(n.outputs[i].type)));
    for (const auto& row : n.rows) check(builder->AppendScalar(*values_.constant(row[i])), row[i]->position);
    out.add(n.outputs[i].id, chunked(value_of(builder->Finish())));
  }
  return out;
}

relation executor::filter(filter_node& n) { return values_.filter(n.conditions, node(*n.inputs[0])); }

relation executor::project(project_node& n) { return projected(n, node(*n.inputs[0])); }

relation executor::projected(const project_node& n, const relation& input) const {
  relation out;
  out.rows = input.rows;
  for (std::size_t i = 0; i < n.expressions.size(); ++i) {
    out.add(n.outputs[i].id, values_.column(n.expressions[i], input));
  }
  return out;
}

relation executor::aggregate(aggregate_node& n) {
  const auto input = node(*n.inputs[0]);
  const auto rows = static_cast<std::size_t>(input.rows);
  relation keys;
  keys.rows = input.rows;
  std::vector<code_column> codes;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    keys.add(n.outputs[i].id, values_.column(n.keys[i], input));
    codes.push_back(group_codes(*keys.columns.back()));
  }
  const auto groups = grouped(codes, rows);
  const std::size_t count = n.keys.empty() ? 1 : groups.count();
  relation out = n.keys.empty() ? relation{} : take_rows(keys, groups.first_row);
  out.rows = static_cast<std::int64_t>(count);
  for (const auto& call : n.calls) {
    const auto argument = call.argument ? values_.column(call.argument, input) : nullptr;
    out.add(call.output, chunked(aggregate_values(call, argument, groups, rows, count)));
  }
  return out;
}

relation executor::distinct(distinct_node& n) {
  const auto input = node(*n.inputs[0]);
  std::vector<code_column> codes;
  for (const auto& column : input.columns) codes.push_back(group_codes(*column));
  return take_rows(input, grouped(codes, static_cast<std::size_t>(input.rows)).first_row);
}

std::uint64_t executor::row_count(const bound_ptr& e, const char* clause) const {
  const auto value = values_.constant(e);
  const auto count = value->is_valid ? static_cast<const arrow::Int64Scalar&>(*value).value : 0;
  if (count < 0) refuse_negative(clause, e->position);
  return static_cast<std::uint64_t>(count);
}

relation executor::limit(limit_node& n) {
  const auto input = node(*n.inputs[0]);
  const auto all = static_cast<std::uint64_t>(input.rows);
  const auto offset = n.offset ? std::min(row_count(n.offset, "OFFSET"), all) : 0;
  const auto count = n.limit ? std::min(row_count(n.limit, "LIMIT"), all - offset) : all - offset;
  return slice_rows(input, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(count));
}

relation executor::unite(union_node& n) {
  relation out;
  std::vector<arrow::ArrayVector> chunks(n.outputs.size());
  for (const auto& input : n.inputs) {
    const auto part = node(*input);
    out.rows += part.rows;
    for (std::size_t i = 0; i < part.columns.size(); ++i) {
      const auto& more = part.columns[i]->chunks();
      chunks[i].insert(chunks[i].end(), more.begin(), more.end());
    }
  }
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const auto type = arrow_type(n.outputs[i].type);
    out.add(n.outputs[i].id, std::make_shared<arrow::ChunkedArray>(std::move(chunks[i]), type));
  }
  return out;
}

}  // namespace espalier::engine
