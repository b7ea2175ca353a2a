#include <arrow/array.h>
#include <arrow/scalar.h>

#include <algorithm>
#include <cmath>

#include "engine/catalog.hpp"
#include "engine/expr/failing.hpp"
#include "engine/plan/index_aggregate.hpp"
#include "engine/plan/planner.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

bool answers_all(const scan_node& scan, const index_range& range) {
  return std::all_of(scan.conditions.begin(), scan.conditions.end(), [&](const expr_ptr& condition) {
    return std::find(range.answers.begin(), range.answers.end(), condition) != range.answers.end();
  });
}

bool has_in_list(const index_range& range) {
  return std::any_of(range.equal.begin(), range.equal.end(), [](const expr_ptr& e) { return e->kind == op::in_list; });
}

// The cost of an index without ranks, which reads the whole range.
double walking_cost(const aggregate_node& aggregate, const index_range& range) {
  const auto rows = static_cast<double>(range.rows);
  return cost::question + rows * (cost::found_row + cost::gathered_value * static_cast<double>(aggregate.calls.size()));
}

double scanning_cost(const scan_node& scan) {
  const auto rows = static_cast<double>(scan.table->version->live_rows());
  return rows * cost::scanned_value * static_cast<double>(scan.conditions.size() + scan.columns.size() + 1);
}

// Returns the table column of each call's argument, or nothing if the index cannot answer one of the calls.
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

// Returns whether the sort keys are the index columns from `first` on, all in the same direction.
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
  bool index_only = false;
  std::uint64_t limit = no_limit;
};

std::optional<ordered_choice> ordered_by(const sort_node& sort, const scan_node& scan,
                                         const std::shared_ptr<table_index>& index, const planner_options& options) {
  ordered_choice out;
  if (auto range = range_of(scan, index)) {
    out.range = std::move(*range);
  } else {
    out.range.index = index;
  }
  if (has_in_list(out.range) || !matches_order(sort, scan, *index, out.range.equal.size())) return std::nullopt;
  const double in_range = out.range.equal.empty() && out.range.condition == key_condition::anything
                              ? static_cast<double>(index->rows_indexed())
                              : rows_in(out.range, options);
  double fraction = 1;
  out.limit = sort.limit;
  for (const auto& condition : unanswered(scan, {out.range})) {
    fraction *= selectivity(condition);
    // Without an index a condition is checked for all rows, and fails for later ones, too.
    if (!cannot_fail(condition)) out.limit = no_limit;
  }
  const double wanted = static_cast<double>(out.limit) / std::max(fraction, 1e-6);
  const double fetched = std::min(in_range, wanted);
  out.range.rows = static_cast<std::uint64_t>(in_range);
  const auto order = sort.keys[0].descending ? key_order::descending : key_order::ascending;
  out.index_only = is_covering(scan, out.range, {out.limit, order});
  const auto columns = static_cast<double>(scan.columns.size() + 1);
  out.cost = cost::question +
             (out.index_only ? key_cost(scan, fetched) : fetched * (cost::found_row + cost::gathered_value * columns));
  return out;
}

void deliver_in_order(scan_node& scan, const ordered_choice& choice, key_order order) {
  scan.residual = unanswered(scan, {choice.range});
  scan.ranges = {choice.range};
  scan.ordered = true;
  scan.index_only = choice.index_only;
  scan.order = order;
  scan.limit = choice.limit;
  scan.cost = choice.cost;
  scan.estimate = std::min({scan.estimate, static_cast<double>(choice.range.rows), static_cast<double>(choice.limit)});
}

// Returns whether these are, in any order, the leading columns of the index after those that the range fixes to one
// value.
bool are_first_columns(const std::vector<std::size_t>& wanted, const index_range& range) {
  const auto& columns = range.index->spec().columns;
  const std::size_t fixed = range.equal.size();
  if (wanted.empty() || fixed + wanted.size() > columns.size()) return false;
  const auto begin = columns.begin() + static_cast<std::ptrdiff_t>(fixed);
  return std::all_of(wanted.begin(), wanted.end(), [&](std::size_t column) {
    const auto end = begin + static_cast<std::ptrdiff_t>(wanted.size());
    return std::find(begin, end, column) != end;
  });
}

constexpr double walked_key = 40;  // ns per key of a long range, measured against hash tables on two cores

// Returns whether the first entries of the index share their keys, which means that there are few groups of many rows.
bool has_few_groups(const table_index& index, std::size_t columns) {
  constexpr std::int64_t look = 256;
  const auto keys = index.keys(index.ranges({}), {.limit = look});
  if (std::find(keys.begin(), keys.end(), nullptr) != keys.end()) return false;  // the keys have too much text
  std::int64_t groups = 1;
  for (std::int64_t i = 1; i < keys[0]->length(); ++i) {
    bool same_group = true;
    for (std::size_t c = 0; c < columns; ++c) same_group &= keys[c]->RangeEquals(i - 1, i, i, *keys[c]);
    groups += same_group ? 0 : 1;
  }
  return groups * 32 < look;
}

// Returns the distinct table columns of the group keys, or nothing if a key is an expression.
std::optional<std::vector<std::size_t>> grouped_columns(const std::vector<expr_ptr>& keys, const scan_node& scan) {
  std::vector<std::size_t> out;
  for (const auto& key : keys) {
    const auto column = table_column_of(scan, key);
    if (!column) return std::nullopt;
    if (std::find(out.begin(), out.end(), *column) == out.end()) out.push_back(*column);
  }
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
    if (!answers_all(scan, *range) || has_in_list(*range)) continue;
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
    out->inputs = aggregate.inputs;  // never executed; it supplies the names of the columns
    out->estimate = 1;
    out->cost = cost::question * static_cast<double>(out->calls.size());
    return out;
  }
  return nullptr;
}

plan_ptr order_by_index(const sort_node& sort, const planner_options& options) {
  if (!options.use_indexes) return nullptr;
  // Projections that only pass columns through keep the order.
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
  auto& chosen = const_cast<scan_node&>(scan);  // a node of the plan in which `sort` is being replaced
  deliver_in_order(chosen, *best, sort.keys[0].descending ? key_order::descending : key_order::ascending);
  return sort.inputs[0];
}

void group_by_index(plan_node& node, const planner_options& options) {
  if (!options.use_indexes) return;
  plan_node* below = node.inputs[0].get();
  std::vector<expr_ptr> keys;
  if (node.kind == node_kind::aggregate) {
    keys = static_cast<aggregate_node&>(node).keys;
  } else if (below->kind == node_kind::project) {
    keys = static_cast<project_node&>(*below).expressions;
    below = below->inputs[0].get();
  }
  if (keys.empty() || below->kind != node_kind::scan) return;
  auto& scan = static_cast<scan_node&>(*below);
  const auto columns = grouped_columns(keys, scan);
  if (!columns) return;
  for (const auto& index : scan.table->indexes) {
    auto range = range_of(scan, index).value_or(index_range{});
    range.index = index;
    if (has_in_list(range) || !are_first_columns(*columns, range) || !is_covering(scan, range, {})) continue;
    const bool all = range.equal.empty() && range.condition == key_condition::anything;
    const double rows = all ? static_cast<double>(index->rows_indexed()) : rows_in(range, options);
    range.rows = static_cast<std::uint64_t>(rows);
    // The index is read by one thread; a scan with hash tables uses all threads.
    const double price = cost::question + std::max(key_cost(scan, rows), rows * walked_key);
    // Grouping in index order costs as much as hashing into few groups.
    const double grouping = rows * cost::counted_row;
    const double hashing =
        scan.estimate * (has_few_groups(*index, columns->size()) ? cost::counted_row : cost::hashed_row);
    if (price + grouping >= scan.cost + hashing && !options.prefer_indexes) continue;
    deliver_in_order(scan, {range, price, true}, key_order::ascending);
    if (node.kind == node_kind::aggregate) {
      static_cast<aggregate_node&>(node).in_order = true;
    } else {
      static_cast<distinct_node&>(node).in_order = true;
    }
    return;
  }
}

}  // namespace espalier::engine
