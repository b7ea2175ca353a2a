// recorder.hpp - the memory that traced teams write to, in the memory of their device, and its way to the host.
//
//   trace_recorder recorder(tree.where(), 1 << 16);
//   const auto ref = tree.ref(n);
//   ref.insert(traced_team(scalar_team{}, recorder.ring(), 0), key, value);   // in a kernel: a tile, its number
//   recorder.take_into(trace);
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/trace/note.hpp"

namespace espalier {

class trace_recorder {
 public:
  /// Room for `capacity` events between two calls of take().
  trace_recorder(const device& where, std::uint64_t capacity);

  /// For traced teams; valid while the recorder lives.
  [[nodiscard]] trace_ring ring() const;
  /// What was recorded since the last call, in order. The teams have finished: on a GPU, their stream is synchronised.
  /// Once events were lost, those that come later are lost, too: a trace with a gap cannot be replayed beyond it.
  [[nodiscard]] std::vector<trace_event> take();
  /// Events that found no room, so far; as of the last take().
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  device where_;
  buffer<trace_event> events_;
  buffer<std::uint64_t> next_;
  std::uint64_t lost_ = 0;
};

}  // namespace espalier
