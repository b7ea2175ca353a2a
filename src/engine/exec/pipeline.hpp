// pipeline.hpp - row-wise operators that run together over blocks of one table.
//
// A pipeline starts with a full scan, followed by filters, projections and hash joins whose build side is ready. One
// core runs a block of the scan through all of them, so that the output of an operator is still in that core's cache
// when the next one reads it, and the rows of a join are never fully materialized. Blocks run in parallel; their
// results are consumed in block order.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/expr/relation.hpp"
#include "engine/keys/groups.hpp"
#include "engine/memory_budget.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// The input of a full scan: all rows, the conditions, and the columns that only the conditions read.
struct scan_source {
  relation rows;
  std::vector<expr_ptr> conditions;
  std::set<column_id> dropped;
};

struct pipeline_stage {
  plan_node* node = nullptr;
  // The following fields are for joins.
  relation built;                    ///< rows of the build side
  std::unique_ptr<key_table> table;  ///< keys of `built`
  grouped_rows lists;                ///< rows of each key; empty if keys are unique
  std::unique_ptr<memory_claim> claim;
};

struct scan_pipeline {
  scan_node* scan = nullptr;
  scan_source source;
  std::vector<pipeline_stage> stages;  ///< bottom-up from the scan

  [[nodiscard]] std::size_t blocks() const;
  [[nodiscard]] bool has_join() const;
  /// Returns, per block, the statistics of the scan and of the stages. Times exclude other stages.
  [[nodiscard]] std::vector<std::vector<node_statistics>> statistics_of_blocks() const;
  void add_statistics(const std::vector<std::vector<node_statistics>>& told) const;
};

}  // namespace espalier::engine
