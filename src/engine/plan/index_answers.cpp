#include <arrow/scalar.h>

#include <algorithm>
#include <cmath>

#include "engine/catalog.hpp"
#include "engine/exec/index_aggregate.hpp"
#include "engine/plan/planner.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

bool answers_all(const scan_node& scan, const index_range& range) {
  return std::all_of(scan.conditions.begin(), scan.conditions.end(), [&](const bound_ptr& condition) {
    return std::find(range.answers.begin(), range.answers.end(), condition) != range.answers.end();
  });
}

bool has_list(const index_range& range) {
  return std::any_of(range.equal.begin(), range.equal.end(), [](const bound_ptr& e) { return e->kind == op::in_list; });
}

// Without ranks an index walks the range.
double walking_cost(const aggregate_node& aggregate, const index_range& range) {
  const auto rows = static_cast<double>(range.rows);
  return cost::question + rows * (cost::found_row + cost::gathered_value * static_cast<double>(aggregate.calls.size()));
}

double scanning_cost(const scan_node& scan) {
  const auto rows = static_cast<double>(scan.table->version->live_rows());
  return rows * cost::scanned_value * static_cast<double>(scan.conditions.size() + scan.columns.size() + 1);
}

// The table's column of each call's argument; none if the index cannot answer one of them.
std::optional<std::vector<std::size_t>> answerable(const aggregate_node& aggregate, const scan_node& scan,
                                                   const table_index& index) {
  std::vector<std::size_t> columns;
  for (const auto& call : aggregate.calls) {
    const auto column = call.argument ? table_column_of(scan, call.argument) : std::optional<std::size_t>(0);
    if (!column || !index_can_answer(index, call, *column)) return std::nullopt;
    columns.push_back(*column);
  }
  return columns;
}

// Do the keys name the index columns from `first` on, all in one direction?
bool matches_order(const sort_node& sort, const scan_node& scan, const table_index& index, std::size_t first) {
  const auto& columns = index.spec().columns;
  if (sort.keys.size() > columns.size() - first) return false;
  for (std::size_t i = 0; i < sort.keys.size(); ++i) {
    const auto& key = sort.keys[i];
    if (table_column_of(scan, key.value) != columns[first + i]) return false;
    if (key.descending != sort.keys[0].descending) return false;
    const bool nullable = scan.table->version->columns()[columns[first + i]].nullable;
    if (nullable && key.nulls_first != key.descending) return false;
  }
  return true;
}

struct ordered_choice {
  index_range range;
  double cost = 0;
};

std::optional<ordered_choice> ordered_by(const sort_node& sort, const scan_node& scan,
                                         const std::shared_ptr<table_index>& index, const planner_options& options) {
  ordered_choice out;
  if (auto range = range_of(scan, index)) {
    out.range = std::move(*range);
  } else {
    out.range.index = index;
  }
  if (has_list(out.range) || !matches_order(sort, scan, *index, out.range.equal.size())) return std::nullopt;
  const double in_range = out.range.equal.empty() && out.range.condition == key_condition::anything
                              ? static_cast<double>(index->rows_indexed())
                              : rows_in(out.range, options);
  double fraction = 1;
  for (const auto& condition : scan.conditions) {
    const auto& answers = out.range.answers;
    if (std::find(answers.begin(), answers.end(), condition) == answers.end()) fraction *= selectivity(condition);
  }
  const double wanted = static_cast<double>(sort.limit) / std::max(fraction, 1e-6);
  const double fetched = std::min(in_range, wanted);
  out.range.rows = static_cast<std::uint64_t>(in_range);
  out.cost = cost::question +
             fetched * (cost::found_row + cost::gathered_value * static_cast<double>(scan.columns.size() + 1));
  return out;
}

}  // namespace

plan_ptr aggregate_by_index(const aggregate_node& aggregate, const planner_options& options) {
  if (!options.use_indexes || !aggregate.keys.empty() || aggregate.inputs[0]->kind != node_kind::scan) return nullptr;
  const auto& scan = static_cast<const scan_node&>(*aggregate.inputs[0]);
  if (scan.conditions.empty() && aggregate.calls.empty()) return nullptr;
  for (const auto& index : scan.table->indexes) {
    auto range = range_of(scan, index);
    if (!range) {
      if (!scan.conditions.empty()) continue;
      range.emplace();
      range->index = index;
    }
    if (!answers_all(scan, *range) || has_list(*range)) continue;
    const auto columns = answerable(aggregate, scan, *index);
    if (!columns) continue;
    auto out = std::make_shared<index_aggregate_node>();
    out->table = scan.table;
    out->alias = scan.alias;
    range->rows = static_cast<std::uint64_t>(rows_in(*range, options));
    if (!index->has_ranks() && !options.prefer_indexes && walking_cost(aggregate, *range) >= scanning_cost(scan))
      continue;
    out->range = std::move(*range);
    out->calls = aggregate.calls;
    out->columns = *columns;
    out->outputs = aggregate.outputs;
    out->inputs = aggregate.inputs;  // never run; it knows the names of the columns
    out->estimate = 1;
    out->cost = cost::question * static_cast<double>(out->calls.size());
    return out;
  }
  return nullptr;
}

plan_ptr order_by_index(const sort_node& sort, const planner_options& options) {
  if (!options.use_indexes) return nullptr;
  // Projections that only hand columns on do not change the order.
  const plan_node* at = sort.inputs[0].get();
  if (at->kind == node_kind::project && at->inputs[0]->kind == node_kind::scan) at = at->inputs[0].get();
  if (at->kind != node_kind::scan) return nullptr;
  const auto& scan = static_cast<const scan_node&>(*at);
  std::optional<ordered_choice> best;
  for (const auto& index : scan.table->indexes) {
    auto choice = ordered_by(sort, scan, index, options);
    if (choice && (!best || choice->cost < best->cost)) best = std::move(choice);
  }
  const double rows = std::max(scan.estimate, 2.0);
  const double sorting = scan.cost + rows * std::log2(rows) * cost::sorted_row;
  if (!best || (best->cost >= sorting && !options.prefer_indexes)) return nullptr;
  auto& chosen = const_cast<scan_node&>(scan);  // a node of the plan that `sort` is being replaced in
  chosen.residual.clear();
  for (const auto& condition : scan.conditions) {
    const auto& answers = best->range.answers;
    if (std::find(answers.begin(), answers.end(), condition) == answers.end()) chosen.residual.push_back(condition);
  }
  chosen.ranges = {best->range};
  chosen.ordered = true;
  chosen.order = sort.keys[0].descending ? key_order::descending : key_order::ascending;
  chosen.limit = sort.limit;
  chosen.cost = best->cost;
  chosen.estimate = std::min({scan.estimate, static_cast<double>(best->range.rows), static_cast<double>(sort.limit)});
  return sort.inputs[0];
}

}  // namespace espalier::engine
