// reduced_aggregate.cpp - joins with an aggregation that is grouped by the join keys, which correlated subqueries
// become. If the other side has few rows, only the groups of their keys are computed: the input of the aggregation is
// filtered by a semi join with the other side first.
#include <arrow/chunked_array.h>

#include <algorithm>
#include <chrono>

#include "engine/exec/executor.hpp"
#include "engine/expr/failing.hpp"

namespace espalier::engine {
namespace {

constexpr double worth_reducing = 8;  // input rows of the aggregation per row of the other side

// Returns the group key behind the output with that id, or null if it is not a key.
expr_ptr group_key(const aggregate_node& n, const expr& output) {
  if (output.kind != op::column) return nullptr;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    if (n.outputs[i].id == output.column) return n.keys[i];
  }
  return nullptr;
}

}  // namespace

bool reduces_aggregate(const join_node& join) {
  if (join.method != join_method::hash || join.type == join_type::full) return false;
  if (join.inputs[1]->kind != node_kind::aggregate) return false;
  const auto& aggregate = static_cast<const aggregate_node&>(*join.inputs[1]);
  if (aggregate.keys.empty() || aggregate.in_order) return false;
  // Whether groups that no left row asks for are computed depends on estimates, so none of them may fail.
  if (join.filters.empty() && !(std::ranges::all_of(aggregate.calls, aggregate_cannot_fail) &&
                                std::ranges::all_of(aggregate.keys, cannot_fail))) {
    return false;
  }
  if (join.inputs[0]->estimate * worth_reducing > aggregate.inputs[0]->estimate) return false;
  return std::all_of(join.equal.begin(), join.equal.end(),
                     [&](const auto& equal) { return group_key(aggregate, *equal.second) != nullptr; });
}

relation executor::reduced_aggregate(const join_node& join, const relation& asking) {
  auto& n = static_cast<aggregate_node&>(*join.inputs[1]);
  const auto start = std::chrono::steady_clock::now();
  join_node semi;
  semi.type = join_type::semi;
  semi.outputs = n.inputs[0]->outputs;
  std::erase_if(semi.outputs, [](const output_column& output) { return output.for_conditions; });
  semi.inputs = {n.inputs[0], std::make_shared<values_node>()};
  for (const auto& [left, right] : join.equal) semi.equal.emplace_back(group_key(n, *right), left);
  pipeline_stage reducer;
  reducer.node = &semi;
  build_table(reducer, asking);
  auto out = with_outputs(aggregate(n, &reducer), n.outputs);
  auto& told = n.statistics;
  told.ran = true;
  told.rows += static_cast<std::uint64_t>(out.rows);
  told.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace espalier::engine
