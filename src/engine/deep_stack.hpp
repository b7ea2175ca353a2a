// deep_stack.hpp - provides stack for recursive functions on statements: parser, reader, binder, planner, executor and
// the destructors of their trees.
//
// The depth of these trees is limited when they are built (sql/limits.hpp). This file ensures that the stack suffices
// for them, whatever stack the caller has. Programs run databases on threads of 256 kB, too.
#pragma once

#include <cstddef>
#include <functional>

namespace espalier::engine {

/// `statement_bytes` is the length of the statement without texts in quotes and comments (`nesting_bytes`).
/// Calls `body` on this thread if the statement is short and enough stack is left, otherwise on a thread with a large
/// stack that ends before this call returns. Exceptions of `body` are rethrown. Throws `engine_error` if no thread can
/// be started.
void with_deep_stack(std::size_t statement_bytes, const std::function<void()>& body);

}  // namespace espalier::engine
