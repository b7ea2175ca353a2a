// access_gate.hpp - reader/writer gate of one index: a shared mutex on the CPU, stream ordering on the GPU.
//
//   reads, per-key writes of a B-link tree   shared (CPU); only reads are shared (GPU)
//   all other operations                     exclusive
// On a CPU the gate is a fair_shared_mutex, held shared or exclusively. On a GPU calls only enqueue: there the order of
// streams decides (stream_dependencies.hpp), and the gate is held while a call enqueues.
#pragma once

#include "device/fair_shared_mutex.hpp"
#include "device/stream_dependencies.hpp"

namespace espalier::detail {

template <class Context>
class access_gate : public fair_shared_mutex {
 public:
  struct no_turn {
    ~no_turn() {}  // non-trivial like `turn`, so that a variable of either type raises no unused warning
  };

  /// Returns a turn to be held, inside the gate, while the call enqueues. On a CPU the gate is sufficient.
  [[nodiscard]] auto begin([[maybe_unused]] const stream& order, [[maybe_unused]] bool writes) {
    if constexpr (Context::on_gpu) {
      return streams_.begin(order, writes);
    } else {
      return no_turn{};
    }
  }

  /// Returns the stream in whose order the tree's memory is freed when its owner is destroyed: the device's default
  /// stream, which lives as long as the device, after all enqueued work. Streams of callers may be destroyed by then.
  [[nodiscard]] stream last(const device& dev) noexcept {
    const stream order = dev.default_stream();
    if constexpr (Context::on_gpu) {
      try {
        streams_.wait_for_all(order);
      } catch (...) {  // the device has failed and frees nothing any more
      }
    }
    return order;
  }

 private:
  stream_dependencies streams_;
};

}  // namespace espalier::detail
