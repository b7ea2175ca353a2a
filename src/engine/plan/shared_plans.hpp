// shared_plans.hpp - queries of WITH: which of them are run once for several places, and which are part of the plan
// that reads them, so that conditions and indexes reach into them.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// A place that reads the plan. `ids`: of its columns, empty for those of the body itself, which one place may have.
[[nodiscard]] std::shared_ptr<shared_node> reference_to(const std::shared_ptr<shared_plan>& source,
                                                        const std::vector<column_id>& ids);
/// Rows of one table or of VALUES, some columns and some rows of them: to read them twice costs less than to keep them,
/// and an index of the table may answer each place.
[[nodiscard]] bool is_trivial(const plan_node& body);
/// Puts the body in place of a shared node wherever that is the only one that reads it, in the whole statement.
void inline_single_uses(plan_node& plan);
/// The shared plans of a statement, those that others read first; its subqueries included.
[[nodiscard]] std::vector<std::shared_ptr<shared_plan>> shared_plans(const plan_node& plan);

}  // namespace espalier::engine
