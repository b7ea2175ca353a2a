// explain.hpp - formats a plan as text, and as JSON in PostgreSQL's format for plan viewers.
#pragma once

#include <string>

#include "engine/plan/node.hpp"

namespace espalier::engine {

struct explain_times {
  double planning = 0;   ///< milliseconds
  double execution = 0;  ///< milliseconds, for EXPLAIN ANALYZE
};

/// Returns one line per node, followed by its properties. Nodes that were executed include statistics.
[[nodiscard]] std::string explain_text(const plan_node& plan, const explain_times& times);
[[nodiscard]] std::string explain_json(const plan_node& plan, const explain_times& times);

}  // namespace espalier::engine
