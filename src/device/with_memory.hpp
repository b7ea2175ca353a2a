// with_memory.hpp - optional work that is skipped if memory of a device or of the heap runs out.
#pragma once

#include <new>

#include "espalier/core/error.hpp"

namespace espalier::detail {

/// Called in a handler: returns whether the exception was thrown for lack of memory.
[[nodiscard]] inline bool is_lack_of_memory() noexcept {
  try {
    throw;
  } catch (const out_of_memory&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Runs `work`. Returns false if it ran out of memory and threw; the caller handles what it changed before.
template <class Work>
[[nodiscard]] bool with_memory(Work&& work) {
  try {
    work();
    return true;
  } catch (...) {
    if (!is_lack_of_memory()) throw;
    return false;
  }
}

}  // namespace espalier::detail
