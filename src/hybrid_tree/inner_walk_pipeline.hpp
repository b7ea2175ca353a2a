// inner_walk_pipeline.hpp - buckets of queries on their way to the device and back.
//
// Each slot has a stream and buffers of its own: keys go up, the inner levels are walked, line numbers come back, in
// stream order. What walks writes line numbers (and reads groups) straight in pinned host memory: a copy would wait
// for its turn behind those of whole windows, and the host for the copy. (The caller's keys are copied: that only their
// first byte is pinned is all we know.) start() returns at once; wait() sleeps until the slot's lines are there. A slot
// is used by one bucket at a time.
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
  /// Of the device's memory; for buckets that no memory holds, all there can be.
  [[nodiscard]] static std::size_t bytes(unsigned key_bytes, std::size_t bucket) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return bucket > most / (slots * key_bytes) ? most : slots * bucket * key_bytes;
  }

  /// Groups of the queries [plain, plain + grouped) of the slot's next bucket, to be written before start().
  [[nodiscard]] std::uint32_t* groups(unsigned s) const { return slots_[s].groups.data(); }

  /// The first `plain` keys are walked from the table on, the next `grouped` ones from their groups on. `keys` must
  /// stay until wait().
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
  /// Then wait() does not.
  [[nodiscard]] bool is_done(unsigned s) const { return slots_[s].order.is_done(); }
  /// Throws what the device met.
  [[nodiscard]] const std::uint32_t* wait(unsigned s) const {
    wait_blocking(slots_[s].order);
    return slots_[s].lines.data();
  }
  /// After an error: nothing of ours is in use any more.
  void abandon() const noexcept { drain(slots_); }

 private:
  struct slot {
    stream order;
    staging_channel on_their_way;
    raw_buffer keys;
    buffer<std::uint32_t> groups, lines;  ///< the host's
  };
  cpu_backend host_;
  unsigned key_bytes_;
  std::vector<slot> slots_;
};

}  // namespace espalier::detail
