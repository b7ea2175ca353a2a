// memory_ahead.hpp - what a body of for_each will read, so that a CPU can ask for it in time (cpu_context.hpp).
#pragma once

namespace espalier::detail {

/// No bytes: nothing.
struct memory_ahead {
  const void* begin = nullptr;
  unsigned bytes = 0;
};

}  // namespace espalier::detail
