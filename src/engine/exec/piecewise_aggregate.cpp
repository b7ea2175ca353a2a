#include "engine/exec/piecewise_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/exec/aggregate.hpp"
#include "engine/exec/executor.hpp"
#include "engine/parallel.hpp"

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

// What comes of all pieces; averages are made of their sums and counts.
relation with_averages(const aggregate_node& n, relation answers) {
  for (const auto& call : n.calls) {
    if (call.function != "avg") continue;
    const auto at =
        static_cast<std::size_t>(std::find(answers.ids.begin(), answers.ids.end(), call.output) - answers.ids.begin());
    const auto sums = flat(answers.columns[at]);
    answers.columns[at] = chunked(average_values(*sums, *flat(answers.column(first_count + call.output))));
  }
  return answers;
}

}  // namespace

bool combines_pieces(const aggregate_node& n) { return comes_in_pieces(*n.inputs[0]) && combines_answers(n); }

bool combines_answers(const aggregate_node& n) { return std::ranges::all_of(n.calls, can_be_combined); }

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
    parts = {aggregated(answer_node, stacked(parts))};
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
  return with_averages(n, aggregated(answer_node, stacked(parts)));
}

std::optional<relation> executor::aggregated_blocks(aggregate_node& n, const scan_pipeline& pipeline) {
  const auto piece_node = of_a_piece(n);
  const auto answer_node = of_answers(piece_node);
  const std::size_t blocks = pipeline.blocks();
  std::vector<std::vector<relation>> answers(blocks);
  std::vector<std::int64_t> rows(blocks, 0);
  auto told = pipeline.statistics_of_blocks();
  const auto run = [&](std::size_t block) {
    run_block(pipeline, block, told[block], [&](const relation& piece) {
      if (piece.rows == 0 && (block > 0 || !answers[block].empty())) return true;
      rows[block] += piece.rows;
      answers[block].push_back(aggregated(piece_node, piece));
      return true;
    });
    // A block of a join may have many pieces.
    if (answers[block].size() > 1) answers[block] = {aggregated(answer_node, stacked(answers[block]))};
  };
  const std::size_t tried = std::min(blocks, parallel_width());
  parallel_for(tried, run);
  std::int64_t passed = 0, groups = 0;
  for (std::size_t block = 0; block < tried; ++block) {
    passed += rows[block];
    for (const auto& answer : answers[block]) groups += answer.rows;
  }
  constexpr std::int64_t rows_of_a_group = 8, few_groups = 256;
  if (groups > passed / rows_of_a_group + few_groups) {
    if (!pipeline.has_join()) return std::nullopt;
    return aggregated(n, collected_blocks(pipeline));
  }
  // Answers are combined in between, so that they take memory by groups, not by blocks.
  std::vector<relation> parts;
  std::int64_t part_rows = 0, most_rows = std::int64_t{1} << 20;
  const auto take = [&](std::size_t from, std::size_t to) {
    for (std::size_t block = from; block < to; ++block) {
      for (auto& answer : answers[block]) {
        part_rows += answer.rows;
        parts.push_back(std::move(answer));
      }
      answers[block].clear();
    }
    if (part_rows < most_rows) return;
    parts = {aggregated(answer_node, stacked(parts))};
    part_rows = parts[0].rows;
    most_rows = std::max(most_rows, 2 * part_rows);
  };
  take(0, tried);
  const std::size_t at_once = 64 * parallel_width();
  for (std::size_t from = tried; from < blocks; from += at_once) {
    const std::size_t to = std::min(blocks, from + at_once);
    parallel_for(to - from, [&](std::size_t block) { run(from + block); });
    take(from, to);
  }
  pipeline.add_statistics(told);
  return with_averages(n, aggregated(answer_node, stacked(parts)));
}

}  // namespace espalier::engine
