// bucket_schedule.hpp - the order in which buckets are started, waited for and finished.
//
//   sequential        start 0, wait 0, finish 0, start 1, wait 1, finish 1, ...
//   pipelined         start 0; wait 0, start 1, finish 0; wait 1, start 2, finish 1; ...
//   double_buffered   start 0, start 1; wait 0, start 2, finish 0; wait 1, start 3, finish 1; ...
// Buckets use three slots in turn: one for the bucket that is being finished and two for buckets in flight.
#pragma once

#include <chrono>
#include <cstddef>

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

/// Seconds that the host waited for the device, and seconds that it worked.
struct pipeline_times {
  double waited = 0, worked = 0;
};

/// Maximum number of buckets at the device in addition to the one that the host waits for or finishes.
[[nodiscard]] constexpr unsigned buckets_ahead(queue_depth how) {
  return how == queue_depth::sequential ? 0 : how == queue_depth::pipelined ? 1 : 2;
}

/// Calls start(bucket, slot), wait(slot), finish(bucket, slot) for all of `buckets`. If one throws, `finished` is the
/// number of finished buckets.
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
