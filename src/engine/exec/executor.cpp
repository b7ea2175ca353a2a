#include "engine/exec/executor.hpp"

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <chrono>

#include "engine/error.hpp"
#include "engine/plan/join_order.hpp"
#include "engine/plan/visit.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

bool is_second_row(const located_error& problem) {
  const auto* coded = dynamic_cast<const coded_refusal*>(&problem);
  return coded != nullptr && coded->code().sqlstate == codes::cardinality_violation.sqlstate;
}

}  // namespace

relation with_outputs(relation r, const std::vector<output_column>& outputs) {
  relation out;
  out.rows = r.rows;
  for (const auto& output : outputs) {
    if (!output.for_conditions) out.add(output.id, r.column(output.id));
  }
  return out;
}

relation executor::run(plan_node& plan) {
  for (;;) {
    try {
      return run_once(plan);
    } catch (const located_error& problem) {
      if (!is_about_values(problem) || !tolerate_failures(plan, problem.position())) throw;
    }
    shared_.clear();
    filter_keys_.clear();
    values_.subqueries.clear();
    values_.failed_subqueries.clear();
    for_each_node(plan, [](plan_node& n) { n.statistics = {}; });
  }
}

// A subquery that fails does so for the first row that reaches it, which there may not be: in a branch of CASE, behind
// OR, or below a filter.
relation executor::run_once(plan_node& plan) {
  std::vector<plan_ptr> subqueries;
  for_each_subquery(plan, [&](const plan_ptr& query, const expr&) { subqueries.push_back(query); });
  // Nested subqueries are last in the list and have to run first.
  for (auto it = subqueries.rbegin(); it != subqueries.rend(); ++it) {
    if (values_.subqueries.contains(it->get()) || values_.failed_subqueries.contains(it->get())) continue;
    try {
      values_.subqueries[it->get()] = node(**it).columns.at(0);
    } catch (const located_error& problem) {
      if (!is_about_values(problem) && !is_second_row(problem)) throw;
      values_.failed_subqueries[it->get()] = std::current_exception();
    }
  }
  return node(plan);
}

std::shared_ptr<arrow::Table> executor::table(plan_node& plan) {
  const auto rows = run(plan);
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  for (const auto& output : plan.outputs) {
    fields.push_back(arrow::field(output.name, arrow_type(output.type)));
    columns.push_back(rows.column(output.id));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows.rows);
}

relation executor::node(plan_node& n) {
  check_cancelled();
  if (n.kind == node_kind::filter || n.kind == node_kind::project || n.kind == node_kind::join) return collected(n);
  const auto start = std::chrono::steady_clock::now();
  auto out = with_outputs(dispatch(n), n.outputs);
  auto& told = n.statistics;
  told.ran = true;
  told.rows += static_cast<std::uint64_t>(out.rows);
  told.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

relation executor::dispatch(plan_node& n) {
  switch (n.kind) {
    case node_kind::scan:
      return scan(static_cast<scan_node&>(n));
    case node_kind::loaded:
      return loaded(static_cast<file_scan_node&>(n));
    case node_kind::values:
      return values(static_cast<values_node&>(n));
    case node_kind::filter:
    case node_kind::project:
    case node_kind::join:
      break;  // the node is streamed in pieces
    case node_kind::aggregate:
      return aggregate(static_cast<aggregate_node&>(n));
    case node_kind::index_aggregate:
      return index_aggregate(static_cast<index_aggregate_node&>(n));
    case node_kind::distinct:
      return distinct(static_cast<distinct_node&>(n));
    case node_kind::sort:
      return sort(static_cast<sort_node&>(n));
    case node_kind::window:
      return window(static_cast<window_node&>(n));
    case node_kind::limit:
      return limit(static_cast<limit_node&>(n));
    case node_kind::as_of_join:
      return as_of_join(static_cast<as_of_node&>(n));
    case node_kind::window_join:
      return window_join(static_cast<window_join_node&>(n));
    case node_kind::union_all:
      return unite(static_cast<append_node&>(n));
    case node_kind::set_operation:
      return set_operation(static_cast<set_operation_node&>(n));
    case node_kind::numbered:
      return numbered(static_cast<numbered_node&>(n));
    case node_kind::group_limit:
      return group_limit(static_cast<group_limit_node&>(n));
    case node_kind::key_filter:
      return key_filter(static_cast<key_filter_node&>(n));
    case node_kind::shared:
      return shared(static_cast<shared_node&>(n));
  }
  return {};
}

}  // namespace espalier::engine
