// interruptible.hpp - cancellation of the library's loops.
#pragma once

#include <functional>

#include "engine/stop.hpp"
#include "espalier/device/interruption.hpp"

namespace espalier::engine {

/// During its lifetime, queries and builds of the library that this thread starts check for cancellation (stop.hpp),
/// before each of some hundred pieces of a loop. Not for writes, which are not interruptible (interruption.hpp).
class interruptible_library_calls {
 private:
  const std::function<void()> check_ = check_cancelled;
  const interruption_scope scope_{check_};
};

}  // namespace espalier::engine
