// work_sharing.hpp - how much of a call the device does: the share of the queries that it answers alone, in windows,
// and the inner levels of the buckets that it searches for the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>

#include "espalier/hybrid_tree/options.hpp"
#include "hybrid_tree/bucket_queues.hpp"

namespace espalier::detail {

// ---- inner levels of a bucket (paper 003, section 5.5) -------------------------------------------------------------

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

// ---- windows of queries that the device answers alone -------------------------------------------------------------

/// The share of a call that the device should take when it works concurrently with the host, so that both finish at the
/// same time; computed from their speeds in earlier calls.
class device_share {
 public:
  /// `share` is the initial value.
  explicit device_share(double share) : share_(share) {}
  [[nodiscard]] std::size_t of(std::size_t n) const {
    return static_cast<std::size_t>(share_ * static_cast<double>(n));
  }
  void note(const dual_queue_work& w) {
    if (w.device.queries == 0 || w.host.queries == 0) return;
    const double device = static_cast<double>(w.device.queries) / w.device.seconds;
    const double host = static_cast<double>(w.host.queries) / w.host.seconds;
    // Three quarters of the new value, because a call may have been disturbed.
    share_ = std::clamp((share_ + 3 * device / (device + host)) / 4, 0.05, 0.95);
  }

 private:
  double share_;
};

struct window_sizes {
  std::size_t most;   ///< maximum that memory allows
  std::size_t alone;  ///< best size if the device answers everything
};

struct window_plan {
  unsigned slots;                                     ///< windows in flight
  std::function<std::size_t(std::size_t left)> size;  ///< size of the next one, while `left` queries are not taken
  std::size_t room;                                   ///< capacity to allocate for one, if it has less
};

/// For a device that answers everything; windows overlap.
[[nodiscard]] inline window_plan windows_alone(const window_sizes& sizes, std::size_t least, unsigned slots) {
  const std::size_t size = std::clamp(sizes.alone, std::min(least, sizes.most), sizes.most);
  return {slots, [size](std::size_t) { return size; }, size};
}

/// For a host that takes buckets of n queries concurrently. A single window with all that the device can answer in the
/// same time is best: a larger window has more queries that share leaves, and early results are of no use. There are
/// several windows if one cannot be that large, and small ones at the end if the device finishes too early.
[[nodiscard]] inline window_plan windows_with_host(const device_share& share, std::size_t n, const window_sizes& sizes,
                                                   std::size_t least, unsigned slots) {
  slots = static_cast<unsigned>(std::min<std::size_t>(share.of(n) / sizes.most + 1, slots));
  const auto size = [=, is_first = true](std::size_t left) mutable {
    // Buckets that the host has taken before the first window are part of its share. A device that has become slow is
    // tried in every call, because it may be faster again.
    const std::size_t wanted = is_first ? std::max(share.of(n) / slots, least) : share.of(left) / slots;
    is_first = false;
    return wanted < least ? 0 : std::min(wanted, sizes.most);
  };
  // Shares change from call to call, and allocations take time.
  return {slots, size, std::min(sizes.most, n / slots / 4 * 3 + 1)};
}

}  // namespace espalier::detail
