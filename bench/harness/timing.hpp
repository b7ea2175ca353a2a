// timing.hpp - the time of one run: the median of repetitions, each long enough for the clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace espalier::bench {

class stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The minimum duration of one measurement; shorter work is repeated back to back.
inline constexpr double shortest_timing = 0.005;

/// `run(k)` performs the work k times and returns when all is done. The caller has warmed up.
template <class Run>
[[nodiscard]] double median_seconds(unsigned repeat, Run&& run) {
  // The count is derived from several runs, since a single short run is dominated by the wait at its end.
  std::size_t inner = 1;
  std::vector<double> seconds;
  for (;;) {
    const stopwatch watch;
    run(inner);
    const double total = watch.seconds();
    if (total >= shortest_timing || inner >= 1'000'000) {
      seconds.push_back(total / static_cast<double>(inner));
      break;
    }
    const double wanted = static_cast<double>(inner) * 1.2 * shortest_timing / std::max(total, 1e-9);
    inner = static_cast<std::size_t>(std::clamp(std::ceil(wanted), static_cast<double>(inner) * 2, 1e6));
  }
  while (seconds.size() < repeat) {
    const stopwatch watch;
    run(inner);
    seconds.push_back(watch.seconds() / static_cast<double>(inner));
  }
  return median(std::move(seconds));
}

/// A run of this many seconds is hardly faster when it is repeated.
inline constexpr double long_timing = 0.25;

/// The same after a first run, whose results were checked and which took `first` seconds; a long first run counts.
template <class Run>
[[nodiscard]] double median_seconds_after(double first, unsigned repeat, Run&& run) {
  if (first < long_timing) return median_seconds(repeat, run);
  std::vector<double> seconds{first};
  while (seconds.size() < repeat) {
    const stopwatch watch;
    run(std::size_t{1});
    seconds.push_back(watch.seconds());
  }
  return median(std::move(seconds));
}

/// For runs with an expensive untimed setup: as many runs as fit this time, at least one.
inline constexpr double most_seconds_of_runs = 10;

/// `run()` returns its seconds.
template <class Run>
[[nodiscard]] double median_of_runs(unsigned repeat, const Run& run) {
  std::vector<double> seconds;
  const stopwatch watch;
  do seconds.push_back(run());
  while (seconds.size() < repeat && watch.seconds() < most_seconds_of_runs);
  return median(std::move(seconds));
}

}  // namespace espalier::bench
