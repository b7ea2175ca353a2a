// deep_stack.hpp - stack for what follows a statement by recursion: parser, reader, binder, planner, executor and the
// destructors of their trees.
//
// How deep these trees are is limited where they are made (sql/limits.hpp); this file sees to it that the stack holds
// them, whatever stack the caller has. Programs run databases on threads of 256 kB, too.
#pragma once

#include <cstddef>
#include <functional>

namespace espalier::engine {

/// Calls `body` on this thread where the statement is short and much stack is left, else on a thread with a large stack
/// that ends before this call returns. What `body` throws is thrown here. Throws `engine_error` where no thread can be
/// had.
void with_deep_stack(std::size_t statement_bytes, const std::function<void()>& body);

}  // namespace espalier::engine
