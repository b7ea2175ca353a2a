// balance.hpp - division of the inner levels of a bucket between device and host (paper 003, section 5.5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

inline constexpr unsigned inner_level_count = 2;  ///< table, headers

/// A bucket of n queries in three contiguous parts.
struct bucket_parts {
  std::size_t plain = 0;    ///< the device searches all levels
  std::size_t grouped = 0;  ///< the host searches the table, the device continues
  std::size_t local = 0;    ///< the host searches all levels
};
[[nodiscard]] inline bucket_parts parts_of(const load_balance& b, std::size_t n) {
  const auto first = static_cast<std::size_t>(std::llround(std::clamp(b.share, 0.0, 1.0) * static_cast<double>(n)));
  if (b.levels == 0) return {first, n - first, 0};
  if (b.levels == 1) return {0, first, n - first};
  return {0, 0, n};
}

/// Readable text: "walked by the device" and so on.
[[nodiscard]] inline std::string in_words(const load_balance& b) {
  const auto percent = std::to_string(std::lround(100 * std::clamp(b.share, 0.0, 1.0))) + " % of a bucket";
  if (b.levels >= inner_level_count) return "walked by the host";
  if (b.share >= 1)
    return b.levels == 0 ? "walked by the device" : "the first walked by the host, the second by the device";
  return b.levels == 0 ? "walked by the device for " + percent + ", the first by the host for the rest"
                       : "the first walked by the host, the second by the device for " + percent;
}

/// Seconds that device and host take for the same bucket.
struct sample_times {
  double device = 0, host = 0;
};

/// Algorithm 1 of the paper: as much as possible is given to the device; then level by level to the host until the host
/// is not the faster one any more; then the share of the last level is found by bisection.
template <class Sample>
[[nodiscard]] load_balance discover_balance(const Sample& sample) {
  const auto device_is_slower = [&](const load_balance& b) {
    const sample_times t = sample(b);
    return t.device > t.host;
  };
  load_balance b;
  if (!device_is_slower(b)) return b;
  while (b.levels + 1 < inner_level_count && device_is_slower({b.levels + 1, 1})) ++b.levels;
  b.share = 0.5;
  for (double step = 0.25; step >= 1.0 / 32; step /= 2) {
    if (device_is_slower(b)) {
      b.share -= step;  // a smaller share with fewer levels at the host
    } else {
      b.share += step;
    }
  }
  return b;
}

/// Online adjustment: a step that gives work to the side that waited. `waited` and `worked` are the host's seconds.
[[nodiscard]] inline load_balance rebalanced(load_balance b, double waited, double worked) {
  constexpr double step = 1.0 / 16;
  if (waited > 0.15 * worked && b.levels < inner_level_count) {  // the device is late
    b.share -= step;
    if (b.share < step / 2) b = {b.levels + 1, 1};
  } else if (waited < 0.02 * worked && !(b == load_balance{})) {  // the device may have time left
    b.share += step;
    if (b.share > 1 + step / 2 || b.levels == inner_level_count)
      b = b.levels == 0 ? load_balance{} : load_balance{b.levels - 1, step};
    b.share = std::min(b.share, 1.0);
  }
  return b;
}

}  // namespace espalier::detail
