// prefetch_hint.hpp - memory that a body of for_each reads, for prefetching on a CPU (cpu_executor.hpp).
#pragma once

namespace espalier::detail {

/// 0 bytes means no prefetch.
struct prefetch_hint {
  const void* begin = nullptr;
  unsigned bytes = 0;
};

}  // namespace espalier::detail
