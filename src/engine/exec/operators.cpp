#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/exec/aggregate.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/ordered_aggregate.hpp"
#include "engine/exec/piecewise_aggregate.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Unused columns have been pruned before, so the remaining ones are read.
void refuse_odd_columns(const file_scan_node& n) {
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

// Returns an earlier aggregate that computes the same value. Averages over pieces are split into sums and counts, which
// other calls often have, too.
std::optional<std::size_t> earlier_twin(const std::vector<aggregate_call>& calls, std::size_t i) {
  const auto& call = calls[i];
  if (!call.more.empty()) return std::nullopt;
  for (std::size_t k = 0; k < i; ++k) {
    const auto& other = calls[k];
    if (other.function != call.function || other.distinct != call.distinct || !other.more.empty()) continue;
    if (other.type != call.type || !other.argument != !call.argument) continue;
    if (!call.argument || same(*call.argument, *other.argument)) return k;
  }
  return std::nullopt;
}

}  // namespace

relation executor::loaded(const file_scan_node& n) {
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
    chunk_builder builder(arrow_type(n.outputs[i].type));
    for (const auto& row : n.rows) builder.append(*values_.constant(row[i]), row[i]->position);
    out.add(n.outputs[i].id, builder.finish());
  }
  return out;
}

relation executor::projected(const project_node& n, const relation& input) const {
  relation out;
  out.rows = input.rows;
  for (std::size_t i = 0; i < n.expressions.size(); ++i) {
    out.add(n.outputs[i].id, values_.column(n.expressions[i], input));
  }
  return out;
}

namespace {

// A partial sum may overflow although the total does not. All rows are then aggregated at once, which decides.
template <class Aggregate>
auto unless_out_of_range(const Aggregate& aggregate) -> std::optional<relation> {
  try {
    return aggregate();
  } catch (const coded_refusal& e) {
    if (e.code().sqlstate != codes::numeric_value_out_of_range.sqlstate) throw;
    return std::nullopt;
  }
}

}  // namespace

relation executor::aggregate(aggregate_node& n, pipeline_stage* reducer) {
  if (combines_answers(n)) {
    if (auto pipeline = pipeline_of(*n.inputs[0])) {
      if (reducer != nullptr) pipeline->stages.push_back(std::move(*reducer));
      if (auto out = unless_out_of_range([&] { return aggregated_blocks(n, *pipeline); })) return std::move(*out);
      if (reducer != nullptr) *reducer = std::move(pipeline->stages.back());
    }
  }
  if (reducer != nullptr) {
    const auto input = node(*n.inputs[0]);
    std::vector<relation> passed;
    probe(*reducer, input, [&](relation piece) {
      passed.push_back(with_outputs(std::move(piece), reducer->node->outputs));
      return true;
    });
    return aggregated(n, stacked(passed));
  }
  if (combines_pieces(n)) {
    if (auto out = unless_out_of_range([&] { return std::optional(aggregated_pieces(n)); })) return std::move(*out);
  }
  return aggregated(n, node(*n.inputs[0]));
}

relation executor::aggregated(const aggregate_node& n, const relation& input) const {
  const auto rows = static_cast<std::size_t>(input.rows);
  const memory_claim claim(rows * 16 * n.keys.size());  // normalized keys, groups and their table
  relation keys;
  keys.rows = input.rows;
  std::vector<sort_key_column> codes;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    keys.add(n.outputs[i].id, values_.column(n.keys[i], input));
    codes.push_back(group_codes(*keys.columns.back()));
  }
  const auto groups = grouped(codes, rows);
  const std::size_t count = n.keys.empty() ? 1 : groups.count();
  relation out = n.keys.empty() ? relation{} : take_rows(keys, groups.first_row);
  out.rows = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < n.calls.size(); ++i) {
    const auto& call = n.calls[i];
    if (const auto twin = earlier_twin(n.calls, i)) {
      out.add(call.output, out.column(n.calls[*twin].output));
      continue;
    }
    const auto argument = call.argument ? values_.column(call.argument, input) : nullptr;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> more;
    for (const auto& e : call.more) more.push_back(values_.column(e, input));
    out.add(call.output, more.empty() ? aggregate_values(call, argument, groups, rows, count)
                                      : ordered_aggregate_values(call, argument, more, groups, count));
  }
  return out;
}

relation executor::distinct(distinct_node& n) {
  // DISTINCT is an aggregation without aggregates, so the rows of a join are not materialized.
  aggregate_node groups;
  groups.inputs = n.inputs;
  for (const auto& output : n.inputs[0]->outputs) {
    if (output.for_conditions) continue;
    groups.outputs.push_back(output);
    groups.keys.push_back(make_column(output.id, output.type));
  }
  if (!groups.keys.empty()) return aggregate(groups);
  const auto input = node(*n.inputs[0]);
  return slice_rows(input, 0, std::min<std::int64_t>(input.rows, 1));
}

std::uint64_t executor::row_count(const expr_ptr& e, const char* clause) const {
  const auto value = values_.constant(e);
  const auto count = value->is_valid ? static_cast<const arrow::Int64Scalar&>(*value).value : 0;
  if (count < 0) refuse_negative(clause, e->position);
  return static_cast<std::uint64_t>(count);
}

relation executor::shared(shared_node& n) {
  auto found = shared_.find(n.source.get());
  if (found == shared_.end()) found = shared_.emplace(n.source.get(), run_once(*n.source->body)).first;
  relation out;
  out.rows = found->second.rows;
  for (std::size_t i = 0; i < n.columns.size(); ++i) out.add(n.outputs[i].id, found->second.column(n.columns[i]));
  return out;
}

relation executor::numbered(numbered_node& n) {
  auto out = node(*n.inputs[0]);
  arrow::Int64Builder numbers;
  check(numbers.Reserve(out.rows));
  for (std::int64_t row = 0; row < out.rows; ++row) numbers.UnsafeAppend(row);
  out.add(n.outputs.back().id, chunked(value_of(numbers.Finish())));
  return out;
}

relation executor::set_operation(set_operation_node& n) {
  const auto left = node(*n.inputs[0]);
  const auto right = node(*n.inputs[1]);
  const auto rows = static_cast<std::size_t>(left.rows + right.rows);
  std::vector<sort_key_column> codes;
  for (std::size_t i = 0; i < left.columns.size(); ++i) {
    auto chunks = left.columns[i]->chunks();
    chunks.insert(chunks.end(), right.columns[i]->chunks().begin(), right.columns[i]->chunks().end());
    codes.push_back(group_codes(arrow::ChunkedArray(std::move(chunks), left.columns[i]->type())));
  }
  const auto groups = grouped(codes, rows);
  const auto of_left = static_cast<std::size_t>(left.rows);
  std::vector<std::uint64_t> in_right(groups.count(), 0), seen(groups.count(), 0);
  for_each_row(rows - of_left, [&](std::size_t i) { ++in_right[groups.group(of_left + i)]; });
  std::vector<std::int64_t> kept;
  for_each_row(of_left, [&](std::size_t row) {
    const auto group = groups.group(row);
    const auto place = seen[group]++;
    const bool in_both = n.all ? place < in_right[group] : in_right[group] > 0;
    if (in_both == n.intersect && (n.all || place == 0)) kept.push_back(static_cast<std::int64_t>(row));
  });
  const auto chosen = take_rows(left, kept);
  relation out;
  out.rows = static_cast<std::int64_t>(kept.size());
  for (std::size_t i = 0; i < n.outputs.size(); ++i) out.add(n.outputs[i].id, chosen.columns[i]);
  return out;
}

relation executor::group_limit(group_limit_node& n) {
  const auto input = node(*n.inputs[0]);
  const auto rows = static_cast<std::size_t>(input.rows);
  const auto offset = n.offset ? row_count(n.offset, "OFFSET") : 0;
  const auto limit = n.limit ? row_count(n.limit, "LIMIT") : no_limit;
  const auto end = limit > no_limit - offset ? no_limit : offset + limit;
  std::vector<sort_key_column> codes;
  for (const auto& key : n.keys) codes.push_back(group_codes(*values_.column(key, input)));
  const auto groups = grouped(codes, rows);
  std::vector<std::uint64_t> seen(std::max<std::size_t>(groups.count(), 1), 0);
  std::vector<std::int64_t> kept;
  for_each_row(rows, [&](std::size_t row) {
    const auto place = seen[groups.group(row)]++;
    if (place >= offset && place < end) kept.push_back(static_cast<std::int64_t>(row));
  });
  auto out = take_rows(input, kept);
  out.rows = static_cast<std::int64_t>(kept.size());
  const bool marks = n.mark && std::ranges::find(input.ids, *n.mark) != input.ids.end();
  if (!marks && !n.mark) return out;
  std::vector<std::int64_t> empty;
  for (std::size_t group = 0; group < groups.count(); ++group) {
    if (offset >= end || seen[group] <= offset) empty.push_back(groups.first_row[group]);
  }
  if (empty.empty()) return out;
  auto added = take_rows(input, empty);
  added.rows = static_cast<std::int64_t>(empty.size());
  if (marks) {
    const auto place = std::ranges::find(added.ids, *n.mark) - added.ids.begin();
    added.columns[static_cast<std::size_t>(place)] =
        chunked(value_of(arrow::MakeArrayOfNull(arrow::boolean(), added.rows)));
  }
  return stacked({out, added});
}

relation executor::unite(append_node& n) {
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
