// statement_scope.hpp - the cancellation token, memory budget and files of a running statement.
#pragma once

#include <optional>

#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"
#include "engine/store/table_files.hpp"

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

  /// Returns the result of `body`. If a file of a table that it has read was truncated meanwhile, lost values were read
  /// as zeros: an error that says so replaces the result, or the error that the zeros caused. `commits` means that
  /// `body` checks the files before it commits; its result is not replaced.
  template <class Body>
  auto with_whole_files(bool commits, const Body& body) const {
    try {
      auto out = body();
      if (!commits) file_use_scope::require_whole();
      return out;
    } catch (...) {
      file_use_scope::require_whole();
      throw;
    }
  }

 private:
  memory_budget budget_;
  memory_scope memory_;
  cancellation_token question_;
  cancellation_scope stop_;
  file_use_scope files_;
};

}  // namespace espalier::engine
