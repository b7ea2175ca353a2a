// prefetch_hint.hpp - what a body of for_each will read, so that a CPU can ask for it in time (cpu_executor.hpp).
#pragma once

namespace espalier::detail {

/// No bytes: nothing.
struct prefetch_hint {
  const void* begin = nullptr;
  unsigned bytes = 0;
};

}  // namespace espalier::detail
