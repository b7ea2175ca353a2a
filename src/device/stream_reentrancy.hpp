// stream_reentrancy.hpp - the streams whose work the current thread is part of.
//
// Work of a stream may itself call a function that waits for that stream (for example a query inside a visit). It would
// wait for itself, so such calls run at once. A parallel loop passes the scope on to the threads that help with it.
#pragma once

namespace espalier::detail {

class cpu_queue;

/// A work item of `queue`, nested in `outer`.
struct stream_reentrancy {
  const cpu_queue* queue;
  const stream_reentrancy* outer;
};

/// The innermost scope of this thread; null if there is none.
[[nodiscard]] const stream_reentrancy*& current_scope() noexcept;

/// Makes a scope current and restores the previous one in the destructor.
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
