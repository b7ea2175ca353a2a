// service.hpp - what a listener serves.
#pragma once

#include <string_view>

#include "explorer/http/message.hpp"
#include "explorer/refused.hpp"

namespace espalier::explorer {

/// The thread that answers a request. Requests that read may wait for a session that is at work; they have threads of
/// their own, so that those that change something, and the page itself, never wait for them.
enum class answered_by { event_loop, readers, writers };

class service {
 public:
  virtual ~service() = default;
  /// Called when the head of a request has arrived and its body has not; throws `refused`. Called by the event loop,
  /// like all but answer(), and so must not block.
  virtual void admit(const request& asked) = 0;
  [[nodiscard]] virtual answered_by thread_for(const request& asked) = 0;
  /// Called by the thread that was chosen, with the whole request. Does not throw.
  [[nodiscard]] virtual response answer(const request& asked) noexcept = 0;
  [[nodiscard]] virtual response explain(const refused& why) = 0;
  /// Header lines of all answers, each with its end.
  [[nodiscard]] virtual std::string_view header_lines() const = 0;
};

}  // namespace espalier::explorer
