// unlocked.hpp - release of the GIL during calls of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <functional>

#include "espalier/device/interruption.hpp"

namespace espalier::python {

/// Thrown in a call that Ctrl-C interrupts; errors.cpp makes KeyboardInterrupt of it.
struct interrupted {};

/// Releases the GIL for a call that changes an object, or that is short. It is not interrupted: Python handles signals
/// after it.
using unlocked_write = nanobind::gil_scoped_release;

/// Releases the GIL for a query or a build, and ends it with `interrupted` if SIGINT arrives while its parallel loops
/// run, unless the program has a handler of its own for SIGINT. The calls look every 20 ms, in Python's main thread.
///
/// No handler runs within the call, because it might use the object whose lock the call holds. Looking takes the GIL,
/// so no thread may wait for a lock of an index while it holds the GIL.
class unlocked {
 public:
  unlocked() = default;
  unlocked(const unlocked&) = delete;
  unlocked& operator=(const unlocked&) = delete;

  /// For loops of one thread: once for every few milliseconds of work.
  void check() const { check_(); }

 private:
  void look() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return;
    last_ = now;
    if (was_interrupted()) throw interrupted();
  }
  /// Whether SIGINT has arrived, which is then handled.
  [[nodiscard]] static bool was_interrupted();

  nanobind::gil_scoped_release released_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  const std::function<void()> check_ = [this] { look(); };
  const interruption_scope scope_{check_};
};

}  // namespace espalier::python
