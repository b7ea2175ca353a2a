#include "engine/exec/piecewise_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/exec/aggregate.hpp"
#include "engine/exec/executor.hpp"

namespace espalier::engine {
namespace {

// Ids of the counts of averages; those of statements begin with 1 and are few.
constexpr column_id first_count = std::numeric_limits<column_id>::max() / 2;

bool is_exact(const aggregate_call& call) { return call.argument && !is_float(call.argument->type.id); }

bool can_be_combined(const aggregate_call& call) {
  if (call.distinct) return false;
  if (call.function == "count" || call.function == "min" || call.function == "max") return true;
  return (call.function == "sum" || call.function == "avg") && is_exact(call);
}

// What is computed of each piece: of an average the sum and the count.
aggregate_node of_a_piece(const aggregate_node& n) {
  aggregate_node out = n;
  out.calls.clear();
  for (const auto& call : n.calls) {
    out.calls.push_back(call);
    if (call.function != "avg") continue;
    const auto& type = call.argument->type;
    auto& sum = out.calls.back();
    sum.function = "sum";
    sum.type = {type_id::decimal, max_decimal_precision, type.id == type_id::decimal ? type.scale : 0};
    auto count = call;
    count.function = "count";
    count.type = {type_id::int64};
    count.output = first_count + call.output;
    out.calls.push_back(count);
  }
  return out;
}

// The same over rows that are answers of pieces.
aggregate_node of_answers(const aggregate_node& piece) {
  aggregate_node out;
  out.outputs = piece.outputs;
  for (std::size_t i = 0; i < piece.keys.size(); ++i) {
    out.keys.push_back(make_column(piece.outputs[i].id, piece.keys[i]->type));
  }
  for (const auto& call : piece.calls) {
    aggregate_call combined;
    combined.function = call.function == "count" ? "sum" : call.function;
    combined.argument = make_column(call.output, call.type);
    combined.output = call.output;
    combined.type = call.type;
    combined.position = call.position;
    out.calls.push_back(std::move(combined));
  }
  return out;
}

relation below_each_other(const std::vector<relation>& parts) {
  relation out = parts.front();
  for (std::size_t c = 0; c < out.columns.size(); ++c) {
    arrow::ArrayVector chunks;
    for (const auto& part : parts) {
      const auto& more = part.columns[c]->chunks();
      chunks.insert(chunks.end(), more.begin(), more.end());
    }
    out.columns[c] = std::make_shared<arrow::ChunkedArray>(std::move(chunks), out.columns[c]->type());
  }
  out.rows = 0;
  for (const auto& part : parts) out.rows += part.rows;
  return out;
}

}  // namespace

bool combines_pieces(const aggregate_node& n) {
  return comes_in_pieces(*n.inputs[0]) && std::ranges::all_of(n.calls, can_be_combined);
}

relation executor::aggregated_pieces(aggregate_node& n) {
  const auto piece_node = of_a_piece(n);
  const auto answer_node = of_answers(piece_node);
  std::optional<relation> first;
  std::vector<relation> parts;
  std::int64_t rows = 0, most_rows = std::int64_t{1} << 20;
  const auto add = [&](const relation& piece) {
    parts.push_back(aggregated(piece_node, piece));
    rows += parts.back().rows;
    if (rows < most_rows) return;
    parts = {aggregated(answer_node, below_each_other(parts))};
    rows = parts[0].rows;
    most_rows = std::max(most_rows, 2 * rows);
  };
  stream(*n.inputs[0], [&](relation piece) {
    if (!first && parts.empty()) {
      first = std::move(piece);
      return true;
    }
    if (first) add(*first);
    first.reset();
    add(piece);
    return true;
  });
  if (first) return aggregated(n, *first);
  auto out = aggregated(answer_node, below_each_other(parts));
  for (const auto& call : n.calls) {
    if (call.function != "avg") continue;
    const auto at = static_cast<std::size_t>(std::find(out.ids.begin(), out.ids.end(), call.output) - out.ids.begin());
    const auto sums = flat(out.columns[at]);
    out.columns[at] = chunked(average_values(*sums, *flat(out.column(first_count + call.output))));
  }
  return out;
}

}  // namespace espalier::engine
