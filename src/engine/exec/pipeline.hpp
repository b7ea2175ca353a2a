// pipeline.hpp - operators that work row by row, run together over blocks of one table.
//
// A pipeline begins with a full scan and goes on with filters, projections and hash joins whose other side is a table
// that has been made before. Each block of the scan goes through all of them on one core, so that what an operator
// writes is still in that core's cache when the next one reads it, and the rows of a join are never in memory as a
// whole. Blocks run at the same time; what comes of them is taken in their order.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/exec/groups.hpp"
#include "engine/exec/relation.hpp"
#include "engine/memory_budget.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// What a full scan reads: all rows, conditions, and the columns that nothing but these read.
struct scan_source {
  relation rows;
  std::vector<expr_ptr> conditions;
  std::set<column_id> dropped;
};

struct pipeline_stage {
  plan_node* node = nullptr;
  // Of a join:
  relation built;                    ///< the rows of the other side
  std::unique_ptr<key_table> table;  ///< their keys
  grouped_rows lists;                ///< the rows of each key; empty where each key has one
  std::unique_ptr<memory_claim> claim;
};

struct scan_pipeline {
  scan_node* scan = nullptr;
  scan_source source;
  std::vector<pipeline_stage> stages;  ///< from the scan up

  [[nodiscard]] std::size_t blocks() const;
  [[nodiscard]] bool has_join() const;
  /// For each block, the scan's and those of the stages; times without those of other stages.
  [[nodiscard]] std::vector<std::vector<node_statistics>> statistics_of_blocks() const;
  void add_statistics(const std::vector<std::vector<node_statistics>>& told) const;
};

}  // namespace espalier::engine
