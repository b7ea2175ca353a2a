// stop.hpp - cancellation of a running statement.
#pragma once

#include <functional>
#include <stdexcept>

namespace espalier::engine {

/// Cancellation callback; true cancels the statement. Polled frequently and concurrently, so it must be thread-safe. An
/// empty function never cancels.
using cancellation_token = std::function<bool()>;

/// Thrown by a cancelled statement. It is not derived from `error`, because the engine adds a position in the statement
/// to every `error`.
class query_cancelled : public std::runtime_error {
 public:
  query_cancelled() : std::runtime_error("Stopped: everything is as it was before the statement.") {}
};

}  // namespace espalier::engine
