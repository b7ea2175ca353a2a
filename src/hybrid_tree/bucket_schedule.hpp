// bucket_schedule.hpp - in which order buckets are started, waited for and finished.
//
//   sequential        start 0, wait 0, finish 0, start 1, wait 1, finish 1, ...
//   pipelined         start 0; wait 0, start 1, finish 0; wait 1, start 2, finish 1; ...
//   double_buffered   start 0, start 1; wait 0, start 2, finish 0; wait 1, start 3, finish 1; ...
// Buckets take slots in turn, of which there are three: the one that is finished and two on their way.
#pragma once

#include <chrono>
#include <cstddef>

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

/// Seconds that the host waited for the device, and that it worked itself.
struct pipeline_times {
  double waited = 0, worked = 0;
};

/// That the device has beside the one which the host waits for or finishes, at most.
[[nodiscard]] constexpr unsigned buckets_ahead(queue_depth how) {
  return how == queue_depth::sequential ? 0 : how == queue_depth::pipelined ? 1 : 2;
}

/// start(bucket, slot), wait(slot), finish(bucket, slot) for all of `buckets`. If one throws, `finished` says how many
/// buckets were finished.
template <class Start, class Wait, class Finish>
pipeline_times run_pipeline(queue_depth how, std::size_t buckets, unsigned slots, std::size_t& finished,
                            const Start& start, const Wait& wait, const Finish& finish) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](clock::time_point from, clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  const auto slot_of = [slots](std::size_t b) { return static_cast<unsigned>(b % slots); };
  const unsigned ahead = buckets_ahead(how);
  pipeline_times times;
  std::size_t started = 0;
  const auto start_until = [&](std::size_t end) {
    for (; started < end && started < buckets; ++started) start(started, slot_of(started));
  };
  for (finished = 0; finished < buckets; ++finished) {
    const auto begin = clock::now();
    start_until(finished + (ahead == 2 ? 2 : 1));
    const auto asked = clock::now();
    wait(slot_of(finished));
    const auto there = clock::now();
    if (ahead != 0) start_until(finished + 1 + ahead);
    finish(finished, slot_of(finished));
    times.waited += seconds(asked, there);
    times.worked += seconds(begin, asked) + seconds(there, clock::now());
  }
  return times;
}

}  // namespace espalier::detail
