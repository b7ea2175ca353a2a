// explain.hpp - a plan as text for people, and as JSON in PostgreSQL's shape for plan viewers.
#pragma once

#include <string>

#include "engine/plan/node.hpp"

namespace espalier::engine {

struct explain_times {
  double planning = 0;   ///< milliseconds
  double execution = 0;  ///< of EXPLAIN ANALYZE
};

/// One line for each node, with its properties below it. With statistics where nodes have run.
[[nodiscard]] std::string explain_text(const plan_node& plan, const explain_times& times);
[[nodiscard]] std::string explain_json(const plan_node& plan, const explain_times& times);

}  // namespace espalier::engine
