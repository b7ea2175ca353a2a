// window_sizing.hpp - sizes of the windows of queries that the device answers alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "hybrid_tree/dual_queue.hpp"

namespace espalier::detail {

/// The share of a call that the device should take when it works concurrently with the host, so that both finish at the
/// same time; computed from their speeds in earlier calls.
class device_share {
 public:
  /// `share` is the initial value.
  explicit device_share(double share) : share_(share) {}
  [[nodiscard]] std::size_t of(std::size_t n) const {
    return static_cast<std::size_t>(share_ * static_cast<double>(n));
  }
  void note(const lanes_work& w) {
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
[[nodiscard]] inline window_plan windows_beside_host(const device_share& share, std::size_t n,
                                                     const window_sizes& sizes, std::size_t least, unsigned slots) {
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
