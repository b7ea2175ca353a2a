// bucket_queues.hpp - the order in which buckets of queries are started, waited for and finished.
//
// One queue (run_pipeline), whose buckets the device starts and the host finishes, by queue depth:
//   0   start 0, wait 0, finish 0, start 1, wait 1, finish 1, ...
//   1   start 0; wait 0, start 1, finish 0; wait 1, start 2, finish 1; ...
//   2   start 0, start 1; wait 0, start 2, finish 0; wait 1, start 3, finish 1; ...
//
// Two concurrent queues (run_queues): one that the device answers alone, one that the host finishes.
// A queue with a free slot takes the next queries, so each processes what it can, whatever was predicted. While the
// host searches leaves, the device queue works; between two of its own buckets the host checks whether that queue has
// finished one.
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

/// Buckets in flight in one queue, the oldest first; each has its own slot.
template <class Start>
class bucket_queue {
 public:
  /// Calls start(slot, span) for each bucket of up to size(remaining queries) queries; size 0 means that it takes no
  /// more.
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
  /// Returns the number of queries of the bucket.
  template <class Finish>
  std::size_t finish(const Finish& finish) {
    const query_span span = in_flight_.front().span;
    finish(in_flight_.front().slot, span);
    in_flight_.pop_front();
    return span.size();
  }
  void list_unfinished(std::vector<query_span>& out) const {
    for (const bucket& b : in_flight_) out.push_back(b.span);
  }

 private:
  struct bucket {
    unsigned slot;
    query_span span;
  };
  unsigned slots_;
  std::function<std::size_t(std::size_t)> size_;
  Start start_;
  unsigned next_slot_ = 0;
  std::deque<bucket> in_flight_;
};

/// How run_queues checks and finishes the buckets of a queue.
template <class IsDone, class Finish>
struct queue_end {
  IsDone is_done;  ///< called with (slot)
  Finish finish;   ///< called with (slot, span); waits if necessary
};
template <class IsDone, class Finish>
queue_end(IsDone, Finish) -> queue_end<IsDone, Finish>;

/// Number of answered queries, and the seconds until the last of them.
struct queue_work {
  std::size_t queries = 0;
  double seconds = 0;
};
struct dual_queue_work {
  queue_work device, host;
};

/// Runs n queries through the device's queue and the host's (which may have no slots) until all are answered. While
/// neither queue has a finished bucket, the host answers `slice` queries directly by alone(span) instead of idling;
/// with slice == 0 it blocks. If a function throws, `unfinished` lists the unanswered queries.
template <class Device, class DeviceEnd, class Host, class HostEnd, class Alone>
dual_queue_work run_queues(std::size_t n, Device& device, const DeviceEnd& device_end, Host& host,
                           const HostEnd& host_end, std::size_t slice, const Alone& alone,
                           std::vector<query_span>& unfinished) {
  const auto begin = std::chrono::steady_clock::now();
  dual_queue_work work;
  const auto note = [begin](queue_work& who, std::size_t queries) {
    who.queries += queries;
    who.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::size_t next = 0;
  try {
    for (;;) {
      host.take(next, n);  // first, because the device's buckets are large, and small transfers would be queued behind
                           // them on the bus
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

/// Seconds that the host waited for the device, and seconds that it worked.
struct pipeline_times {
  double waited = 0, worked = 0;
};

/// Calls start(bucket, slot), wait(slot), finish(bucket, slot) for all of `buckets`, with at most `depth` of them at
/// the device in addition to the one that the host waits for or finishes. Needs depth + 1 slots. If a function throws,
/// `finished` is the number of finished buckets.
template <class Start, class Wait, class Finish>
pipeline_times run_pipeline(unsigned depth, std::size_t buckets, unsigned slots, std::size_t& finished,
                            const Start& start, const Wait& wait, const Finish& finish) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](clock::time_point from, clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  const auto slot_of = [slots](std::size_t b) { return static_cast<unsigned>(b % slots); };
  pipeline_times times;
  std::size_t started = 0;
  const auto start_until = [&](std::size_t end) {
    for (; started < end && started < buckets; ++started) start(started, slot_of(started));
  };
  for (finished = 0; finished < buckets; ++finished) {
    const auto begin = clock::now();
    start_until(finished + std::max(depth, 1u));
    const auto asked = clock::now();
    wait(slot_of(finished));
    const auto arrived = clock::now();
    if (depth != 0) start_until(finished + 1 + depth);
    finish(finished, slot_of(finished));
    times.waited += seconds(asked, arrived);
    times.worked += seconds(begin, asked) + seconds(arrived, clock::now());
  }
  return times;
}

}  // namespace espalier::detail
