// window_sizing.hpp - how many queries the device takes at once, of those that it answers alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "hybrid_tree/dual_queue.hpp"

namespace espalier::detail {

/// What of a call the device should take beside the host, so that both are ready at the same time: as fast as each of
/// them was in calls before.
class device_share {
 public:
  /// Until something is known.
  explicit device_share(double share) : share_(share) {}
  [[nodiscard]] std::size_t of(std::size_t n) const {
    return static_cast<std::size_t>(share_ * static_cast<double>(n));
  }
  void note(const lanes_work& w) {
    if (w.device.queries == 0 || w.host.queries == 0) return;
    const double device = static_cast<double>(w.device.queries) / w.device.seconds;
    const double host = static_cast<double>(w.host.queries) / w.host.seconds;
    // Most of the way, since a call may have been disturbed.
    share_ = std::clamp((share_ + 3 * device / (device + host)) / 4, 0.05, 0.95);
  }

 private:
  double share_;
};

struct window_sizes {
  std::size_t most;   ///< that there is room for
  std::size_t alone;  ///< that are best where the device answers everything
};

struct window_plan {
  unsigned slots;                                     ///< windows on their way at once
  std::function<std::size_t(std::size_t left)> size;  ///< of the next one, while `left` queries are not taken
  std::size_t room;                                   ///< that is made for one, if there is less
};

/// The device answers everything; windows overlap.
[[nodiscard]] inline window_plan windows_alone(const window_sizes& sizes, std::size_t least, unsigned slots) {
  const std::size_t size = std::clamp(sizes.alone, std::min(least, sizes.most), sizes.most);
  return {slots, [size](std::size_t) { return size; }, size};
}

/// The host takes buckets of n queries meanwhile. One window is best, of all that the device can do in the same time:
/// the more queries it has, the more of them have leaves in common, and nobody waits for answers that are ready early.
/// There are several where one cannot be that large, and small ones at the end if the device is ready too soon.
[[nodiscard]] inline window_plan windows_beside_host(const device_share& share, std::size_t n,
                                                     const window_sizes& sizes, std::size_t least, unsigned slots) {
  slots = static_cast<unsigned>(std::min<std::size_t>(share.of(n) / sizes.most + 1, slots));
  const auto size = [=, is_first = true](std::size_t left) mutable {
    // Buckets that the host has taken before the first window are a part of its share. A device that has become slow is
    // tried in every call: it may be faster again.
    const std::size_t wanted = is_first ? std::max(share.of(n) / slots, least) : share.of(left) / slots;
    is_first = false;
    return wanted < least ? 0 : std::min(wanted, sizes.most);
  };
  // Shares change from call to call, and new room takes time.
  return {slots, size, std::min(sizes.most, n / slots / 4 * 3 + 1)};
}

}  // namespace espalier::detail
