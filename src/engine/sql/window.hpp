// window.hpp - plans the window functions of a SELECT: collects the calls in its expressions and shares their sorts.
#pragma once

#include <vector>

#include "engine/sql/binder.hpp"

namespace espalier::engine {

class windowing {
 public:
  explicit windowing(binder& binds) : binds_(binds) {}

  /// Returns the expression with window functions replaced by columns.
  [[nodiscard]] expr_ptr above(const expr_ptr& e);
  /// Returns `input` with the results of all calls that were passed to `above`. There is one node, and one sort, per
  /// set of calls whose keys are prefixes of each other.
  [[nodiscard]] plan_ptr plan(plan_ptr input) const;

 private:
  struct bound_call {
    expr_ptr call;
    column_id output;
  };
  binder& binds_;
  std::vector<bound_call> calls_;
};

}  // namespace espalier::engine
