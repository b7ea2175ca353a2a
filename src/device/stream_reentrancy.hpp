// stream_reentrancy.hpp - which streams' work the current thread is part of.
//
// Work of a stream may itself call something that waits for that stream (a query inside a visit, say). Waiting would be
// for itself, so such calls run at once. A parallel loop hands the scope on to the threads that help with it.
#pragma once

namespace espalier::detail {

class cpu_queue;

/// One piece of work of `queue`, running inside `outer`.
struct stream_reentrancy {
  const cpu_queue* queue;
  const stream_reentrancy* outer;
};

/// The innermost scope of this thread; null outside of any.
[[nodiscard]] const stream_reentrancy*& current_scope() noexcept;

/// Makes a scope the current one and puts the previous one back.
class scope_guard {
 public:
  explicit scope_guard(const stream_reentrancy* scope) noexcept : previous_(current_scope()) {
    current_scope() = scope;
  }
  ~scope_guard() { current_scope() = previous_; }
  scope_guard(const scope_guard&) = delete;
  scope_guard& operator=(const scope_guard&) = delete;

 private:
  const stream_reentrancy* previous_;
};

}  // namespace espalier::detail
