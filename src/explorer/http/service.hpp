// service.hpp - the interface of a service behind a listener.
#pragma once

#include <string_view>

#include "explorer/http/message.hpp"
#include "explorer/refused.hpp"

namespace espalier::explorer {

/// The threads that process a request. Requests that read may block on a busy session; they have their own threads, so
/// that requests that change state, and the page itself, are never delayed by them.
enum class answered_by { event_loop, readers, writers };

class service {
 public:
  virtual ~service() = default;
  /// Called when the head of a request was received and its body was not; throws `refused`. Like all functions except
  /// answer(), it is called by the event loop and must not block.
  virtual void admit(const request& asked) = 0;
  [[nodiscard]] virtual answered_by thread_for(const request& asked) = 0;
  /// Called on the chosen thread with the complete request. Does not throw.
  [[nodiscard]] virtual response answer(const request& asked) noexcept = 0;
  [[nodiscard]] virtual response explain(const refused& why) = 0;
  /// Returns header lines for all responses, each with its terminator.
  [[nodiscard]] virtual std::string_view header_lines() const = 0;
};

}  // namespace espalier::explorer
