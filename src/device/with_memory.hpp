// with_memory.hpp - work that the library can do without, if memory runs out: a device's, or the heap's.
#pragma once

#include <new>

#include "espalier/core/error.hpp"

namespace espalier::detail {

/// In a handler: was the exception thrown for lack of memory?
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

/// Runs `work`. False: it ran out of memory, and threw; what it changed before that is up to the caller.
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
