// inner_walk_pipeline.hpp - a pipeline of buckets of queries to the device and back.
//
// Each slot has its own stream and buffers: keys are uploaded, the inner levels are searched, line numbers are
// returned, in stream order. The search writes line numbers (and reads groups) directly in pinned host memory: a copy
// would be queued behind those of whole windows, and the host would wait for the copy. (The caller's keys are copied,
// because only their first byte is known to be pinned.) start() returns at once; wait() sleeps until the slot's lines
// are complete. A slot is used by one bucket at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "hybrid_tree/host_staging.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

class inner_walk_pipeline {
 public:
  static constexpr unsigned slots = 3;  ///< two at the device, one whose lines are being used

  inner_walk_pipeline(const device& dev, const device& host, unsigned key_bytes, std::size_t bucket)
      : host_(host), key_bytes_(key_bytes) {
    const device pinned = dev.with_pool(dev.host_pool());
    for (unsigned s = 0; s < slots; ++s) {
      const stream order = dev.make_stream();
      slots_.push_back({order, staging_channel(dev, order), raw_buffer(dev, bucket * key_bytes, order),
                        buffer<std::uint32_t>(pinned, bucket, order), buffer<std::uint32_t>(pinned, bucket, order)});
    }
  }
  /// Bytes of the device's memory; saturates for buckets that no memory can hold.
  [[nodiscard]] static std::size_t bytes(unsigned key_bytes, std::size_t bucket) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return bucket > most / (slots * key_bytes) ? most : slots * bucket * key_bytes;
  }

  /// Groups of the queries [plain, plain + grouped) of the slot's next bucket, to be written before start().
  [[nodiscard]] std::uint32_t* groups(unsigned s) const { return slots_[s].groups.data(); }

  /// Searches the first `plain` keys from the table on, and the next `grouped` ones from their groups on. `keys` must
  /// be valid until wait().
  void start(unsigned s, const inner_levels& levels, const void* keys, std::size_t plain, std::size_t grouped,
             host_copies copies) {
    slot& at = slots_[s];
    const std::size_t n = plain + grouped, bytes = n * key_bytes_;
    if (n == 0) return;
    at.on_their_way.up(host_, at.keys.data(), keys, bytes, copies);
    levels.walk(at.keys.data(), nullptr, plain, at.lines.data(), at.order);
    if (grouped != 0) {
      levels.walk(static_cast<const char*>(at.keys.data()) + plain * key_bytes_, at.groups.data(), grouped,
                  at.lines.data() + plain, at.order);
    }
  }
  /// True if wait() would not block.
  [[nodiscard]] bool is_done(unsigned s) const { return slots_[s].order.is_done(); }
  /// Rethrows errors of the device.
  [[nodiscard]] const std::uint32_t* wait(unsigned s) const {
    wait_blocking(slots_[s].order);
    return slots_[s].lines.data();
  }
  /// Called after an error: afterwards no memory of this object is in use.
  void abandon() const noexcept { drain(slots_); }

 private:
  struct slot {
    stream order;
    staging_channel on_their_way;
    raw_buffer keys;
    buffer<std::uint32_t> groups, lines;  ///< host memory
  };
  cpu_backend host_;
  unsigned key_bytes_;
  std::vector<slot> slots_;
};

}  // namespace espalier::detail
