// lanes.hpp - two lanes of buckets side by side: one that the device answers alone, one that the host finishes.
//
// Nobody decides beforehand who gets how much: a lane that has room takes the next queries, so each does what it can.
// While the host is in leaves, the device lane works; between two buckets of its own the host looks whether that lane
// has finished one.
#pragma once

#include <algorithm>
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
class lane {
 public:
  /// start(slot, span) for each bucket of up to size(queries that are left) queries, which is not 0.
  lane(unsigned slots, std::function<std::size_t(std::size_t)> size, Start start)
      : slots_(slots), size_(std::move(size)), start_(std::move(start)) {}

  void take(std::size_t& next, std::size_t n) {
    while (ways_.size() < slots_ && next < n) {
      const query_span span{next, std::min(n, next + size_(n - next))};
      const unsigned slot = next_slot_++ % slots_;
      ways_.push_back({slot, span});  // before it starts: if that fails, it is unfinished
      next = span.last;
      start_(slot, span);
    }
  }
  [[nodiscard]] bool empty() const { return ways_.empty(); }
  [[nodiscard]] unsigned slot() const { return ways_.front().slot; }
  template <class Finish>
  void finish(const Finish& finish) {
    finish(ways_.front().slot, ways_.front().span);
    ways_.pop_front();
  }
  void list_unfinished(std::vector<query_span>& out) const {
    for (const way& w : ways_) out.push_back(w.span);
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
  std::deque<way> ways_;
};

/// All n queries by two lanes (the second may have no slots). is_done(slot) of the first one, and how each finishes a
/// bucket. If something throws, `unfinished` lists what is not answered.
template <class First, class Second, class IsDone, class FinishFirst, class FinishSecond>
void run_lanes(std::size_t n, First& first, Second& second, const IsDone& is_done, const FinishFirst& finish_first,
               const FinishSecond& finish_second, std::vector<query_span>& unfinished) {
  std::size_t next = 0;
  try {
    for (;;) {
      first.take(next, n);
      second.take(next, n);
      if (first.empty() && second.empty()) return;
      if (!first.empty() && (second.empty() || is_done(first.slot()))) {
        first.finish(finish_first);
      } else {
        second.finish(finish_second);
      }
    }
  } catch (...) {
    first.list_unfinished(unfinished);
    second.list_unfinished(unfinished);
    if (next < n) unfinished.push_back({next, n});
    throw;
  }
}

}  // namespace espalier::detail
