// statement_scope.hpp - the cancellation token and memory budget of a running statement.
#pragma once

#include <optional>

#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {

class statement_scope {
 public:
  statement_scope(const cancellation_token& stop, std::optional<std::int64_t> memory_limit)
      : budget_(memory_limit),
        memory_(&budget_),
        question_([this, &stop] {
          budget_.check();
          return stop && stop();
        }),
        stop_(&question_) {}

 private:
  memory_budget budget_;
  memory_scope memory_;
  cancellation_token question_;
  cancellation_scope stop_;
};

}  // namespace espalier::engine
