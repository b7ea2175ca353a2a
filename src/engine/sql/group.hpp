// group.hpp - GROUP BY and aggregates: what a SELECT says above them, in terms of keys and aggregates.
#pragma once

#include <string>
#include <vector>

#include "engine/sql/binder.hpp"

namespace espalier::engine {

class grouping {
 public:
  /// Reads GROUP BY. `outputs` are the bound targets, which GROUP BY 1 and GROUP BY alias refer to.
  grouping(binder& binds, const ast::select& select, const scope& names, const std::vector<expr_ptr>& outputs,
           const std::vector<std::string>& output_names);

  /// The expression with keys and aggregates as columns; throws where a column is neither.
  [[nodiscard]] expr_ptr above(const expr_ptr& e);
  /// The aggregation over `input`, with all that `above` was asked for.
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
