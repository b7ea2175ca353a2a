// replay_events.hpp - functions that replay.cpp and replay_radix.cpp share.
#pragma once

#include <string>

#include "espalier/core/error.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier::detail {

[[nodiscard]] inline trace_name name_of(const trace_event& e) { return {e.node, e.level != 0}; }

inline void require(bool fits, const trace_event& e, const char* what) {
  if (fits) return;
  throw error("a '" + std::string(trace_kind_names[static_cast<unsigned>(e.kind)]) + "' at " + name_of(e).text() + ' ' +
              what + '.');
}

}  // namespace espalier::detail
