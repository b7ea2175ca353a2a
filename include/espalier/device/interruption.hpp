// interruption.hpp - cancellation of calls that run on the threads of a CPU device.
//
//   const std::function<void()> check = [&] { if (cancelled) throw my_exception(); };
//   const interruption_scope scope(check);
//   auto tree = static_tree<std::uint64_t>::build(keys);    // throws my_exception soon after `cancelled` is set
#pragma once

#include <functional>

namespace espalier {

/// During its lifetime, parallel loops of CPU devices that this thread starts call `check` in this thread, before each
/// of some hundred pieces of a loop. Loops of a device with one thread do so if their cpu_backend is made during that
/// lifetime, which holds for queries, builds and joins. An exception of `check` ends the loop and leaves the call as one
/// of the loop's pieces would: queries and builds have then changed nothing. Writes are not interruptible: do not make
/// them in such a scope. Scopes nest; the innermost one is in force. Lifetime: `check` must outlive the scope.
class interruption_scope {
 public:
  explicit interruption_scope(const std::function<void()>& check) noexcept;
  ~interruption_scope();
  interruption_scope(const interruption_scope&) = delete;
  interruption_scope& operator=(const interruption_scope&) = delete;

  /// The check of this thread's innermost scope; null if there is none.
  [[nodiscard]] static const std::function<void()>* current() noexcept;

 private:
  const std::function<void()>* outer_;
};

}  // namespace espalier
