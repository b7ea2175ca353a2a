#include "engine/exec/pipeline.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <chrono>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/fallible_column.hpp"
#include "engine/exec/join_output.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t scan_block_rows = std::int64_t{1} << 14;
constexpr std::size_t pairs_of_a_piece = std::size_t{1} << 17;
constexpr std::uint64_t most_joined_bytes = std::uint64_t{1} << 30;  // limit for concatenating the chunks of one column

using pipeline_clock = std::chrono::steady_clock;

double milliseconds_between(pipeline_clock::time_point start, pipeline_clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

// Returns the input that is streamed through the node, or null if the node needs its whole input at once.
plan_node* streamed_input(const plan_node& n) {
  if (n.kind == node_kind::filter || n.kind == node_kind::project) return n.inputs[0].get();
  if (n.kind != node_kind::join) return nullptr;
  const auto& join = static_cast<const join_node&>(n);
  if (join.method != join_method::hash || reduces_aggregate(join) || !join.filters.empty()) return nullptr;
  if (join.type == join_type::inner) return n.inputs[join.build_left ? 1 : 0].get();
  // Each row of the left side is output once, after all of its matches are known.
  return join.type != join_type::full && !join.build_left ? n.inputs[0].get() : nullptr;
}

bool is_large_full_scan(const plan_node& n) {
  if (n.kind != node_kind::scan) return false;
  const auto& scan = static_cast<const scan_node&>(n);
  return !scan.ordered && scan.ranges.empty() && !scan.with_row_ids &&
         static_cast<std::int64_t>(scan.table->version->rows()) >= 2 * scan_block_rows;
}

// The set of an IN list is built per batch, and the batches of blocks are small.
bool has_large_set(const plan_node& n, const evaluation& values) {
  constexpr std::int64_t large = 1024;
  const auto is_large = [&](const expr& e) {
    if (e.kind == op::in_list) return std::ssize(e.args) > large;
    if (e.kind != op::in_query) return false;
    const auto found = values.subqueries.find(e.query.get());
    return found != values.subqueries.end() && found->second->length() > large;
  };
  const auto has_one = [&](const expr_ptr& e) { return any_node(e, is_large); };
  const auto any = [&](const std::vector<expr_ptr>& all) { return std::any_of(all.begin(), all.end(), has_one); };
  switch (n.kind) {
    case node_kind::scan:
      return any(static_cast<const scan_node&>(n).conditions);
    case node_kind::filter:
      return any(static_cast<const filter_node&>(n).conditions);
    case node_kind::project:
      return any(static_cast<const project_node&>(n).expressions);
    case node_kind::join:
      return any(static_cast<const join_node&>(n).residual);
    default:
      return false;
  }
}

std::vector<std::shared_ptr<arrow::ChunkedArray>> built_keys(const join_node& join, const relation& rows,
                                                             const evaluation& values) {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  for (const auto& [left, right] : join.equal) out.push_back(values.column(join.build_left ? left : right, rows));
  return out;
}

std::vector<std::shared_ptr<arrow::ChunkedArray>> streamed_keys(const join_node& join, const relation& rows,
                                                                const relation& built, const evaluation& values) {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  for (const auto& [left, right] : join.equal) {
    out.push_back(column_of_side(join.build_left ? right : left, join.conditions, rows, built, values));
  }
  return out;
}

// Returns the columns that the join reads: its keys, residual conditions and outputs.
std::set<column_id> read_by(const join_node& join) {
  std::set<column_id> out;
  for (const auto& [left, right] : join.equal) {
    collect_columns(left, out);
    collect_columns(right, out);
  }
  for (const auto& condition : join.residual) collect_columns(condition, out);
  for (const auto& output : join.outputs) out.insert(output.id);
  return out;
}

// Concatenates each column to one chunk, since every block gathers rows from it.
void join_chunks(relation& rows) {
  if (bytes_of(rows) > most_joined_bytes) return;
  for (auto& column : rows.columns) {
    if (column->num_chunks() != 1 && fitting_columns(column).size() == 1) column = chunked(flat(column));
  }
}

// Appends the pairs of streamed rows from `row` on until there are enough.
std::size_t next_pairs(const pipeline_stage& stage, const std::vector<std::uint32_t>& group_of, std::size_t row,
                       std::vector<std::int64_t>& streamed, std::vector<std::int64_t>& built) {
  const auto& first = stage.table->groups().first_row;
  for (; row < group_of.size() && streamed.size() < pairs_of_a_piece; ++row) {
    const auto group = group_of[row];
    if (group == no_group) continue;
    if (stage.lists.offsets.empty()) {
      streamed.push_back(static_cast<std::int64_t>(row));
      built.push_back(first[group]);
      continue;
    }
    const auto begin = stage.lists.offsets[group], end = stage.lists.offsets[group + 1];
    streamed.insert(streamed.end(), end - begin, static_cast<std::int64_t>(row));
    built.insert(built.end(), stage.lists.rows.begin() + static_cast<std::ptrdiff_t>(begin),
                 stage.lists.rows.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return row;
}

}  // namespace

std::size_t scan_pipeline::blocks() const {
  return static_cast<std::size_t>((source.rows.rows + scan_block_rows - 1) / scan_block_rows);
}

bool scan_pipeline::has_join() const {
  return std::any_of(stages.begin(), stages.end(), [](const auto& stage) { return stage.table != nullptr; });
}

std::vector<std::vector<node_statistics>> scan_pipeline::statistics_of_blocks() const {
  return std::vector(blocks(), std::vector<node_statistics>(stages.size() + 1));
}

void scan_pipeline::add_statistics(const std::vector<std::vector<node_statistics>>& told) const {
  scan->statistics.bytes += bytes_of(source.rows);
  const auto width = static_cast<double>(parallel_width());
  double below = 0;  // a node's time includes the nodes below it
  for (std::size_t i = 0; i <= stages.size(); ++i) {
    auto& into = (i == 0 ? static_cast<plan_node*>(scan) : stages[i - 1].node)->statistics;
    into.ran = true;
    for (const auto& block : told) {
      into.rows += block[i].rows;
      below += block[i].milliseconds / width;
    }
    if (i > 0 && stages[i - 1].table) {
      const auto& join = static_cast<const join_node&>(*stages[i - 1].node);
      below += join.inputs[join.build_left ? 0 : 1]->statistics.milliseconds;
    }
    into.milliseconds += below;
  }
}

void executor::build_table(pipeline_stage& stage, relation built) const {
  const auto& join = static_cast<const join_node&>(*stage.node);
  stage.built = only(built, read_by(join));
  built = {};
  join_chunks(stage.built);
  stage.claim =
      std::make_unique<memory_claim>(static_cast<std::size_t>(stage.built.rows) * (32 + 16 * join.equal.size()));
  stage.table = std::make_unique<key_table>(built_keys(join, stage.built, values_));
  const bool unique = static_cast<std::int64_t>(stage.table->groups().count()) == stage.built.rows;
  // A semi or anti join without residual conditions only tests whether there is a match.
  const bool any_row = (join.type == join_type::semi || join.type == join_type::anti) && join.residual.empty();
  if (!unique && !any_row) stage.lists = rows_by_group(stage.table->groups());
}

std::optional<scan_pipeline> executor::pipeline_of(plan_node& top) {
  std::vector<plan_node*> nodes{&top};
  while (auto* const input = streamed_input(*nodes.back())) nodes.push_back(input);
  if (!is_large_full_scan(*nodes.back())) return std::nullopt;
  if (std::any_of(nodes.begin(), nodes.end(), [&](const plan_node* n) { return has_large_set(*n, values_); }))
    return std::nullopt;
  scan_pipeline out;
  out.scan = static_cast<scan_node*>(nodes.back());
  for (auto at = nodes.rbegin() + 1; at != nodes.rend(); ++at) {
    auto& stage = out.stages.emplace_back();
    stage.node = *at;
    if ((*at)->kind != node_kind::join) continue;
    const auto& join = static_cast<const join_node&>(**at);
    auto built = node(*join.inputs[join.build_left ? 0 : 1]);
    try {
      build_table(stage, std::move(built));
    } catch (const located_error& problem) {
      // A key fails. Which of these rows need one is known only with all rows of the other side.
      if (!is_about_values(problem)) throw;
      return std::nullopt;
    }
  }
  out.source = source_of(*out.scan);
  return out;
}

void executor::run_block(const scan_pipeline& pipeline, std::size_t block, std::vector<node_statistics>& told,
                         const row_sink& take) const {
  const auto start = pipeline_clock::now();
  const auto& [rows, conditions, dropped] = pipeline.source;
  const auto begin = static_cast<std::int64_t>(block) * scan_block_rows;
  const auto passed = with_outputs(values_.filter(conditions, slice_rows(rows, begin, scan_block_rows), dropped),
                                   pipeline.scan->outputs);
  told[0].rows += static_cast<std::uint64_t>(passed.rows);
  told[0].milliseconds += milliseconds_between(start, pipeline_clock::now());
  run_stages(pipeline, 0, passed, told, take);
}

void executor::run_stages(const scan_pipeline& pipeline, std::size_t next, const relation& rows,
                          std::vector<node_statistics>& told, const row_sink& take) const {
  if (next == pipeline.stages.size()) {
    take(rows);
    return;
  }
  const auto& stage = pipeline.stages[next];
  const auto start = pipeline_clock::now();
  double above = 0;
  const row_sink hand_on = [&](relation piece) {
    check_cancelled();
    piece = with_outputs(std::move(piece), stage.node->outputs);
    told[next + 1].rows += static_cast<std::uint64_t>(piece.rows);
    const auto handed = pipeline_clock::now();
    run_stages(pipeline, next + 1, piece, told, take);
    above += milliseconds_between(handed, pipeline_clock::now());
    return true;
  };
  if (stage.node->kind == node_kind::filter) {
    hand_on(values_.filter(static_cast<const filter_node&>(*stage.node).conditions, rows));
  } else if (stage.node->kind == node_kind::project) {
    hand_on(projected(static_cast<const project_node&>(*stage.node), rows));
  } else {
    probe(stage, rows, hand_on);
  }
  told[next + 1].milliseconds += milliseconds_between(start, pipeline_clock::now()) - above;
}

void executor::probe(const pipeline_stage& stage, const relation& rows, const row_sink& take) const {
  const auto& join = static_cast<const join_node&>(*stage.node);
  const auto group_of = stage.table->find(streamed_keys(join, rows, stage.built, values_));
  const relation& left = join.build_left ? stage.built : rows;
  const relation& right = join.build_left ? rows : stage.built;
  join_output out(join, left, values_, take);
  for (std::size_t row = 0; row < group_of.size();) {
    join_pairs pairs;
    row = next_pairs(stage, group_of, row, join.build_left ? pairs.right : pairs.left,
                     join.build_left ? pairs.left : pairs.right);
    out.add(std::move(pairs), right);
  }
  out.finish(right);
}

relation executor::collected_blocks(const scan_pipeline& pipeline) const {
  std::vector<std::vector<relation>> pieces(pipeline.blocks());
  auto told = pipeline.statistics_of_blocks();
  parallel_for(pieces.size(), [&](std::size_t block) {
    run_block(pipeline, block, told[block], [&](relation piece) {
      if (piece.rows > 0 || block == 0) pieces[block].push_back(std::move(piece));
      return true;
    });
  });
  pipeline.add_statistics(told);
  std::vector<relation> all;
  for (auto& block : pieces) all.insert(all.end(), block.begin(), block.end());
  return stacked(all);
}

}  // namespace espalier::engine
