#include "engine/exec/piecewise_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/exec/aggregate.hpp"
#include "engine/exec/executor.hpp"
#include "engine/memory_budget.hpp"
#include "engine/parallel.hpp"

namespace espalier::engine {
namespace {

// Ids for the counts of averages; ids of a statement start at 1 and are few.
constexpr column_id first_count = std::numeric_limits<column_id>::max() / 2;

bool is_exact(const aggregate_call& call) { return call.argument && !is_float(call.argument->type.id); }

bool can_be_combined(const aggregate_call& call) {
  if (call.distinct) return false;
  if (call.function == "count" || call.function == "min" || call.function == "max") return true;
  return (call.function == "sum" || call.function == "avg") && is_exact(call);
}

// Returns the aggregation of one piece, in which an average is replaced by a sum and a count.
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

// Returns the aggregation that combines the partial results of pieces.
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

// Computes averages from the combined sums and counts.
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

bool answer_list::add(relation answer) {
  held_.rows += answer.rows;
  held_.bytes += bytes_of(answer);
  parts_.push_back(std::move(answer));
  return parts_.size() > 1 && held_.exceeds(most_);
}

void answer_list::replace(relation combined) {
  clear();
  held_ = {combined.rows, bytes_of(combined)};
  parts_.push_back(std::move(combined));
  most_ = {std::max(most_.rows, 2 * held_.rows), std::max(most_.bytes, 2 * held_.bytes)};
}

void answer_list::clear() {
  parts_.clear();
  held_ = {};
}

row_volume folded_at_once() {
  constexpr row_volume usual{std::int64_t{1} << 22, std::uint64_t{1} << 29};
  const auto* const budget = memory_budget::current();
  if (budget == nullptr) return usual;
  // Rows, their normalized keys and groups, and the results are in memory at the same time.
  constexpr std::int64_t parts_of_the_limit = 8, bytes_of_a_row = 64;
  const auto bytes = std::max<std::int64_t>(budget->limit() / parts_of_the_limit, std::int64_t{1} << 20);
  return {std::min(usual.rows, std::max<std::int64_t>(bytes / bytes_of_a_row, 1 << 14)),
          std::min(usual.bytes, static_cast<std::uint64_t>(bytes))};
}

bool combines_pieces(const aggregate_node& n) { return comes_in_pieces(*n.inputs[0]) && combines_answers(n); }

bool combines_answers(const aggregate_node& n) { return std::ranges::all_of(n.calls, can_be_combined); }

relation executor::aggregated_pieces(aggregate_node& n) {
  const auto piece_node = of_a_piece(n);
  const auto answer_node = of_answers(piece_node);
  answer_list answers(answer_node);
  std::optional<relation> first;
  stream(*n.inputs[0], [&](relation piece) {
    if (!first && answers.empty()) {
      first = std::move(piece);
      return true;
    }
    if (first) add_answer(answers, aggregated(piece_node, *first));
    first.reset();
    add_answer(answers, aggregated(piece_node, piece));
    return true;
  });
  if (first) return aggregated(n, *first);
  return with_averages(n, combined(answers));
}

void executor::add_answer(answer_list& to, relation answer) const {
  if (to.add(std::move(answer))) to.replace(combined(to));
}

relation executor::combined(const answer_list& answers) const {
  return aggregated(answers.node(), stacked(answers.parts()));
}

// Groups repeat within a block, so each block is aggregated on its own.
void executor::aggregate_each_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                                    block_rows& out, std::vector<node_statistics>& told) const {
  run_block(pipeline, block, told, [&](const relation& piece) {
    if (piece.rows == 0 && (block > 0 || !out.answers.empty())) return true;
    out.passed += piece.rows;
    add_answer(out.answers, aggregated(piece_node, piece));
    return true;
  });
  // A block of a join may produce many pieces.
  if (out.answers.parts().size() > 1) out.answers.replace(combined(out.answers));
}

// Groups rarely repeat within a block, so its rows are kept and aggregated together with those of other blocks, unless
// the block alone has too many rows.
void executor::collect_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                             block_rows& out, std::vector<node_statistics>& told) const {
  const auto most = folded_at_once();
  run_block(pipeline, block, told, [&](relation piece) {
    if (piece.rows == 0 && (block > 0 || !out.pieces.empty())) return true;
    out.passed += piece.rows;
    out.kept.rows += piece.rows;
    out.kept.bytes += bytes_of(piece);
    out.pieces.push_back(std::move(piece));
    if (!out.kept.exceeds(most)) return true;
    add_answer(out.answers, aggregated(piece_node, stacked(out.pieces)));
    out.pieces.clear();
    out.kept = {};
    return true;
  });
}

std::optional<relation> executor::aggregated_blocks(aggregate_node& n, const scan_pipeline& pipeline) {
  const auto piece_node = of_a_piece(n);
  const auto answer_node = of_answers(piece_node);
  const std::size_t blocks = pipeline.blocks();
  auto told = pipeline.statistics_of_blocks();
  answer_list answers(answer_node);
  std::vector<relation> pieces;  // rows that are not aggregated yet
  row_volume kept;
  const auto most = folded_at_once();
  const auto aggregate_kept = [&] {
    if (pieces.empty()) return;
    add_answer(answers, aggregated(piece_node, stacked(pieces)));
    pieces.clear();
    kept = {};
  };
  // Runs blocks in parallel and consumes their results in block order.
  std::int64_t passed = 0, groups = 0;
  const auto run = [&](std::size_t from, std::size_t to, bool collects) {
    std::vector<block_rows> done(to - from, block_rows(answer_node));
    parallel_for(to - from, [&](std::size_t i) {
      if (collects) {
        collect_block(pipeline, from + i, piece_node, done[i], told[from + i]);
      } else {
        aggregate_each_block(pipeline, from + i, piece_node, done[i], told[from + i]);
      }
    });
    for (auto& block : done) {
      passed += block.passed;
      for (const auto& answer : block.answers.parts()) {
        groups += answer.rows;
        add_answer(answers, answer);
      }
      block.answers.clear();
      pieces.insert(pieces.end(), block.pieces.begin(), block.pieces.end());
      block.pieces.clear();
      kept.rows += block.kept.rows;
      kept.bytes += block.kept.bytes;
      if (kept.exceeds(most)) aggregate_kept();
    }
  };
  const std::size_t width = parallel_width();
  const std::size_t tried = std::min(blocks, width);
  run(0, tried, false);
  constexpr std::int64_t rows_of_a_group = 8, few_groups = 256;
  const bool collects = groups > passed / rows_of_a_group + few_groups;
  if (collects && !pipeline.has_join()) return std::nullopt;
  const auto rows_of_a_block =
      std::max<std::int64_t>(1, passed / static_cast<std::int64_t>(std::max<std::size_t>(tried, 1)));
  // Combining partial results reads all groups once more. If all rows fit, the first blocks are run again instead.
  std::size_t next = tried;
  if (collects && rows_of_a_block * static_cast<std::int64_t>(blocks) <= most.rows) {
    for (std::size_t block = 0; block < tried; ++block) {
      std::ranges::fill(told[block], node_statistics{});
    }
    answers.clear();
    next = 0;
  }
  const auto fitting = static_cast<std::size_t>(most.rows / rows_of_a_block);
  const std::size_t at_once = collects ? std::clamp(fitting, width, std::max(blocks, width)) : 64 * width;
  while (next < blocks) {
    const std::size_t to = std::min(blocks, next + at_once);
    run(next, to, collects);
    next = to;
  }
  pipeline.add_statistics(told);
  if (answers.empty() && !pieces.empty()) return aggregated(n, stacked(pieces));
  aggregate_kept();
  return with_averages(n, combined(answers));
}

}  // namespace espalier::engine
