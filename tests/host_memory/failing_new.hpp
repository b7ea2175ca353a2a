// failing_new.hpp - this program's operator new, which can be told to run out of memory.
//
// Memory of indexes comes from pools (support/failing_pool.hpp). This is about all the rest: vectors, functions, shared
// pointers. Buffers of the calls under test are made before.
#pragma once

#include <cstddef>

namespace espalier::test {

/// From now on the k-th call of operator new, by any thread, throws std::bad_alloc; 0: none. With `spared`, a call from
/// a library whose file name starts so succeeds, and the next one from elsewhere throws.
void fail_new_at(std::size_t k, const char* spared = nullptr);
/// Calls of operator new since then.
[[nodiscard]] std::size_t news_since();

}  // namespace espalier::test
