#include <algorithm>

#include "engine/plan/planner.hpp"
#include "engine/plan/visit.hpp"

namespace espalier::engine {
namespace {

template <class Extra>
void keep_outputs(plan_node& node, const std::set<column_id>& needed, std::vector<Extra>& beside) {
  std::vector<output_column> outputs;
  std::vector<Extra> kept;
  for (std::size_t i = 0; i < beside.size(); ++i) {
    if (!needed.contains(node.outputs[i].id)) continue;
    outputs.push_back(node.outputs[i]);
    kept.push_back(beside[i]);
  }
  // Outputs after the pairs, such as row ids, are kept.
  outputs.insert(outputs.end(), node.outputs.begin() + static_cast<std::ptrdiff_t>(beside.size()), node.outputs.end());
  node.outputs = std::move(outputs);
  beside = std::move(kept);
}

void keep_outputs(plan_node& node, const std::set<column_id>& needed) {
  std::erase_if(node.outputs, [&](const output_column& output) { return !needed.contains(output.id); });
}

void prune_aggregate(aggregate_node& node, const std::set<column_id>& needed) {
  std::erase_if(node.calls, [&](const aggregate_call& call) { return !needed.contains(call.output); });
  std::vector<output_column> outputs(node.outputs.begin(),
                                     node.outputs.begin() + static_cast<std::ptrdiff_t>(node.keys.size()));
  for (const auto& call : node.calls) outputs.push_back({call.output, call.function, call.type});
  node.outputs = std::move(outputs);
}

void prune_window(window_node& node, const std::set<column_id>& needed) {
  std::erase_if(node.calls, [&](const window_call& call) { return !needed.contains(call.output); });
  keep_outputs(node, needed);
  std::size_t used = 0;
  for (const auto& call : node.calls) used = std::max(used, call.partition_keys + call.order_keys);
  node.keys.resize(used);
}

}  // namespace

void prune(plan_node& plan, const std::set<column_id>& needed) {
  std::set<column_id> below = needed;
  switch (plan.kind) {
    case node_kind::scan: {
      auto& scan = static_cast<scan_node&>(plan);
      for (const auto& condition : scan.conditions) collect_columns(condition, below);
      keep_outputs(plan, below, scan.columns);
      for (std::size_t i = 0; i < scan.columns.size(); ++i) {
        scan.outputs[i].for_conditions = !needed.contains(scan.outputs[i].id);
      }
      return;
    }
    case node_kind::loaded:
      keep_outputs(plan, needed, static_cast<file_scan_node&>(plan).columns);
      return;
    case node_kind::project:
      // The columns of the result are kept; only columns below the top can be removed.
      keep_outputs(plan, needed, static_cast<project_node&>(plan).expressions);
      below.clear();
      break;
    case node_kind::aggregate:
      prune_aggregate(static_cast<aggregate_node&>(plan), needed);
      below.clear();
      break;
    case node_kind::distinct:
      for (const auto& output : plan.outputs) below.insert(output.id);  // all columns determine which rows are distinct
      break;
    case node_kind::union_all:
    case node_kind::set_operation:
      for (const auto& input : plan.inputs) prune(*input, output_ids(*input));
      return;
    case node_kind::filter:
    case node_kind::sort:
    case node_kind::limit:
    case node_kind::join:
    case node_kind::as_of_join:
    case node_kind::group_limit:
    case node_kind::key_filter:
      keep_outputs(plan, needed);
      break;
    case node_kind::window_join:
      std::erase_if(static_cast<window_join_node&>(plan).calls,
                    [&](const aggregate_call& call) { return !needed.contains(call.output); });
      keep_outputs(plan, needed);
      break;
    case node_kind::window:
      prune_window(static_cast<window_node&>(plan), needed);
      break;
    case node_kind::numbered: {
      const auto number = plan.outputs.back();
      plan.outputs.pop_back();
      keep_outputs(plan, needed);
      plan.outputs.push_back(number);
      break;
    }
    case node_kind::shared:
      keep_outputs(plan, needed, static_cast<shared_node&>(plan).columns);
      return;
    case node_kind::values:
    case node_kind::index_aggregate:
      return;
  }
  for_each_expression(plan, [&](expr_ptr& e) { collect_columns(e, below); });
  for (const auto& input : plan.inputs) prune(*input, below);
}

}  // namespace espalier::engine
