// turns.hpp - who may be at a tree beside whom.
//
//   reads, per-key writes of a B-link tree   beside each other (CPU); reads beside reads (GPU)
//   everything else                          alone
// On a CPU `gate` says so, held shared or alone. On a GPU calls only enqueue: there it is the order of streams.
#pragma once

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier::detail {

template <class Context>
class turns {
 public:
  [[nodiscard]] auto together() { return std::shared_lock(gate_); }
  [[nodiscard]] auto alone() { return std::unique_lock(gate_); }

  /// On a GPU: waits for streams whose work must not overlap what this one enqueues next.
  void after_others(const stream& order, bool writes) {
    if constexpr (Context::on_gpu) {
      const std::lock_guard lock(mutex_);
      for (const turn& other : taken_) {
        if (other.order.state() != order.state() && (writes || other.writes)) other.order.synchronize();
      }
      if (writes) taken_.clear();
      const auto own =
          std::find_if(taken_.begin(), taken_.end(), [&](const turn& t) { return t.order.state() == order.state(); });
      if (own == taken_.end()) {
        taken_.push_back({order, writes});
      } else {
        own->writes |= writes;
      }
    }
  }

  /// On a GPU: waits for this stream, so that nobody has to wait for what it has written.
  void settle(const stream& order) {
    if constexpr (Context::on_gpu) {
      const std::lock_guard lock(mutex_);
      order.synchronize();
      for (turn& own : taken_) {
        if (own.order.state() == order.state()) own.writes = false;
      }
    }
  }

 private:
  struct turn {
    stream order;
    bool writes;
  };
  std::shared_mutex gate_;
  std::mutex mutex_;
  std::vector<turn> taken_;  ///< by each stream since the last write
};

}  // namespace espalier::detail
