// coded_refusal.hpp - SQLSTATEs of errors by the stage of the statement that they come from.
#pragma once

#include "engine/sql/error.hpp"

namespace espalier::engine {

/// Runs a plan: what is refused from here on is about values, not about the statement.
template <class Work>
auto while_running(const Work& work) {
  try {
    return work();
  } catch (const coded_refusal&) {
    throw;
  } catch (const located_error& e) {
    throw coded_refusal(codes::data_exception, e.what(), e.position());
  }
}

}  // namespace espalier::engine
