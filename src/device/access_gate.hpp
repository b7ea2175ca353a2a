// access_gate.hpp - who may be at a tree beside whom.
//
//   reads, per-key writes of a B-link tree   beside each other (CPU); reads beside reads (GPU)
//   everything else                          alone
// On a CPU `fair_shared_mutex` says so, held shared or alone. On a GPU calls only enqueue: there it is the order of
// streams (stream_dependencies.hpp), and the gate is held while a call enqueues.
#pragma once

#include "device/fair_shared_mutex.hpp"
#include "device/stream_dependencies.hpp"

namespace espalier::detail {

template <class Context>
class access_gate : public fair_shared_mutex {
 public:
  struct no_turn {
    ~no_turn() {}  // not trivial, as the other: one variable of either serves both
  };

  /// To be held, inside the gate, while the call enqueues. On a CPU the gate is enough.
  [[nodiscard]] auto begin([[maybe_unused]] const stream& order, [[maybe_unused]] bool writes) {
    if constexpr (Context::on_gpu) {
      return streams_.begin(order, writes);
    } else {
      return no_turn{};
    }
  }

  /// The stream in whose order the tree's memory is freed when its owner goes: the device's own, which lives as long as
  /// the device, behind all that was enqueued. Streams of callers may be gone by then.
  [[nodiscard]] stream last(const device& dev) noexcept {
    const stream order = dev.default_stream();
    if constexpr (Context::on_gpu) {
      try {
        streams_.wait_for_all(order);
      } catch (...) {  // the device has failed, and frees nothing any more
      }
    }
    return order;
  }

 private:
  stream_dependencies streams_;
};

}  // namespace espalier::detail
