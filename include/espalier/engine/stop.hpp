// stop.hpp - how a running statement is stopped from outside.
#pragma once

#include <functional>
#include <stdexcept>

namespace espalier::engine {

/// Is the statement to stop? Asked often, by several threads at once. Empty: never.
using stop_question = std::function<bool()>;

/// Thrown through a statement that is to stop. No `error`, which the engine would blame on a place in the statement.
class statement_stopped : public std::runtime_error {
 public:
  statement_stopped() : std::runtime_error("Stopped: everything is as it was before the statement.") {}
};

}  // namespace espalier::engine
