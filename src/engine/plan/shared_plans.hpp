// shared_plans.hpp - decides which WITH queries are executed once for several references, and which are inlined, so
// that conditions and indexes apply to them.
#pragma once

#include <memory>
#include <vector>

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Returns a reference to the plan. `ids` are its column ids; if empty, the body's own ids are used, which at most one
/// reference may do.
[[nodiscard]] std::shared_ptr<shared_node> reference_to(const std::shared_ptr<shared_plan>& source,
                                                        const std::vector<column_id>& ids);
/// Returns whether the body is a selection and projection of one table or of VALUES. Reading it twice is cheaper than
/// materializing it, and an index of the table may serve each reference.
[[nodiscard]] bool is_trivial(const plan_node& body);
/// Replaces each shared node that is the only reference to its body in the whole statement by the body.
void inline_single_uses(plan_node& plan);
/// Returns the shared plans of a statement and its subqueries. A plan precedes those that read it.
[[nodiscard]] std::vector<std::shared_ptr<shared_plan>> shared_plans(const plan_node& plan);

}  // namespace espalier::engine
