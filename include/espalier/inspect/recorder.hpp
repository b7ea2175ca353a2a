// recorder.hpp - the event buffer of traced teams, in the memory of their device.
//
//   trace_recorder recorder(tree.get_device(), 1 << 16);
//   const auto ref = tree.ref(n);
//   ref.insert(traced_team(scalar_team{}, recorder.ring(), 0), key, value);   // in a kernel: a tile and its number
//   append(trace, recorder.take());
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/trace/note.hpp"

namespace espalier {

/// Owns the event buffer. Teams record concurrently through ring(); the other methods are for one host thread at a
/// time.
class trace_recorder {
 public:
  /// Allocates a buffer of `capacity` events on `dev`. Throws out_of_memory.
  trace_recorder(const device& dev, std::uint64_t capacity);

  /// The buffer, for traced teams. Lifetime: valid while the recorder lives.
  [[nodiscard]] event_log ring() const;
  /// Returns the events since the last call, in order, and empties the buffer. Precondition: the teams have finished;
  /// on a GPU their stream is synchronised. After the first lost event all later ones are lost as well, because a trace
  /// with a gap cannot be replayed.
  [[nodiscard]] std::vector<trace_event> take();
  /// Number of lost events, as of the last take().
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  device device_;
  buffer<trace_event> events_;
  buffer<std::uint64_t> next_;
  std::uint64_t lost_ = 0;
};

}  // namespace espalier
