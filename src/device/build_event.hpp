// build_event.hpp - orders streams after the build of an index, or of a copy, that is only read afterwards.
//
// It is not sufficient that the caller waited for the build: a host that saw the build end does not order another
// stream after the build's allocations (compute-sanitizer --track-stream-ordered-races). So every stream waits once for
// an event of the build; a stream that has waited is remembered by its id, and later calls on it cost one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "espalier/device/device.hpp"

namespace espalier::detail {

class build_event {
 public:
  /// Records the event after what the stream has enqueued so far, and replaces an earlier one. If there is no memory
  /// for it, the host waits for the stream. Precondition: no other call of this object is in progress.
  void record(const stream& order);
  /// Work that `order` enqueues from now on begins after the build.
  void make_wait(const stream& order) const;

 private:
  /// Maximum number of remembered streams. If more alternate, a stream waits again, which is correct and cheap.
  static constexpr std::size_t most_remembered = 16;

  std::uint64_t built_on_ = 0;
  stream_event built_;
  mutable std::mutex mutex_;
  mutable std::array<std::uint64_t, most_remembered> ordered_{};  ///< ids of streams that have waited
  mutable std::size_t count_ = 0;
};

}  // namespace espalier::detail
