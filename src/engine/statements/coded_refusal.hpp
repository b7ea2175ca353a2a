// coded_refusal.hpp - assigns SQLSTATEs to errors by the stage of the statement in which they occur.
#pragma once

#include "engine/error.hpp"

namespace espalier::engine {

/// Runs a plan. Errors from here on are about values, not about the statement.
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
