// group.hpp - binds GROUP BY and aggregates, and rewrites the expressions above them.
#pragma once

#include <string>
#include <vector>

#include "engine/sql/binder.hpp"

namespace espalier::engine {

class grouping {
 public:
  /// Reads GROUP BY. `outputs` are the bound select list, which GROUP BY 1 and GROUP BY alias refer to.
  grouping(binder& binds, const ast::select& select, const scope& names, const std::vector<expr_ptr>& outputs,
           const std::vector<std::string>& output_names);

  /// Returns the expression with group keys and aggregates replaced by columns. Throws if another column remains.
  [[nodiscard]] expr_ptr above(const expr_ptr& e);
  /// Returns the aggregation over `input`, with all aggregates that were passed to `above`.
  [[nodiscard]] plan_ptr plan(plan_ptr input) const;

 private:
  expr_ptr aggregate_column(const expr_ptr& e);

  binder& binds_;
  std::vector<expr_ptr> keys_;
  std::vector<column_id> key_ids_;
  std::vector<aggregate_call> calls_;
  std::set<column_id> own_columns_;
};

}  // namespace espalier::engine
