// dual_queue.hpp - two lanes of buckets side by side: one that the device answers alone, one that the host finishes.
//
// A lane that has room takes the next queries, so each does what it can, whatever was expected of it. While the host is
// in leaves, the device lane works; between two buckets of its own the host looks whether that lane has finished one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace espalier::detail {

/// Queries [first, last) of a call.
struct query_span {
  std::size_t first = 0, last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

/// Buckets on their way in one lane, the oldest first; each has a slot of its own.
template <class Start>
class bucket_queue {
 public:
  /// start(slot, span) for each bucket of up to size(queries that are left) queries; 0: it takes no more.
  bucket_queue(unsigned slots, std::function<std::size_t(std::size_t)> size, Start start)
      : slots_(slots), size_(std::move(size)), start_(std::move(start)) {}

  void take(std::size_t& next, std::size_t n) {
    while (in_flight_.size() < slots_ && next < n) {
      const query_span span{next, std::min(n, next + size_(n - next))};
      if (span.size() == 0) return;
      const unsigned slot = next_slot_++ % slots_;
      in_flight_.push_back({slot, span});  // before it starts: if that fails, it is unfinished
      next = span.last;
      start_(slot, span);
    }
  }
  [[nodiscard]] bool empty() const { return in_flight_.empty(); }
  [[nodiscard]] unsigned slot() const { return in_flight_.front().slot; }
  /// How many queries that were.
  template <class Finish>
  std::size_t finish(const Finish& finish) {
    const query_span span = in_flight_.front().span;
    finish(in_flight_.front().slot, span);
    in_flight_.pop_front();
    return span.size();
  }
  void list_unfinished(std::vector<query_span>& out) const {
    for (const way& w : in_flight_) out.push_back(w.span);
  }

 private:
  struct way {
    unsigned slot;
    query_span span;
  };
  unsigned slots_;
  std::function<std::size_t(std::size_t)> size_;
  Start start_;
  unsigned next_slot_ = 0;
  std::deque<way> in_flight_;
};

/// How run_queues learns of a lane's buckets.
template <class IsDone, class Finish>
struct lane_end {
  IsDone is_done;  ///< (slot)
  Finish finish;   ///< (slot, span); waits if need be
};
template <class IsDone, class Finish>
lane_end(IsDone, Finish) -> lane_end<IsDone, Finish>;

/// Queries that somebody answered, and the seconds until the last of them was.
struct lane_work {
  std::size_t queries = 0;
  double seconds = 0;
};
struct lanes_work {
  lane_work device, host;
};

/// All n queries by the device's lane and the host's (which may have no slots). While neither has a bucket ready, the
/// host does not wait, but answers `slice` queries by itself: alone(span). (0: it waits.) If something throws,
/// `unfinished` lists what is not answered.
template <class Device, class DeviceEnd, class Host, class HostEnd, class Alone>
lanes_work run_queues(std::size_t n, Device& device, const DeviceEnd& device_end, Host& host, const HostEnd& host_end,
                      std::size_t slice, const Alone& alone, std::vector<query_span>& unfinished) {
  const auto begin = std::chrono::steady_clock::now();
  lanes_work work;
  const auto note = [begin](lane_work& who, std::size_t queries) {
    who.queries += queries;
    who.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::size_t next = 0;
  try {
    for (;;) {
      host.take(next, n);  // first: the device's buckets are large, and what is small would wait behind them on the bus
      device.take(next, n);
      if (device.empty() && host.empty()) return work;
      if (!device.empty() && (host.empty() || device_end.is_done(device.slot()))) {
        note(work.device, device.finish(device_end.finish));
      } else if (slice == 0 || next == n || host_end.is_done(host.slot())) {
        note(work.host, host.finish(host_end.finish));
      } else {
        const query_span span{next, std::min(n, next + slice)};
        alone(span);
        next = span.last;
        note(work.host, span.size());
      }
    }
  } catch (...) {
    device.list_unfinished(unfinished);
    host.list_unfinished(unfinished);
    if (next < n) unfinished.push_back({next, n});
    throw;
  }
}

}  // namespace espalier::detail
