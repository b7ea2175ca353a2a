// device_leaves.hpp - buckets of queries that the device answers alone, with leaves that stay in host memory.
//
// The device walks the inner levels, orders the bucket by line, reads each line of host memory once and in ascending
// order (at random a GPU reads host memory fourteen times more slowly, docs/design/hybrid-tree.md), looks for the keys,
// and the answers come back in the caller's order. What is left of the device's memory keeps copies of lines that are
// often asked for (leaf_cache.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/device.hpp"
#include "espalier/static_tree/index.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/leaf_cache.hpp"

namespace espalier::detail {

class device_leaves {
 public:
  static constexpr unsigned slots = leaf_cache::in_flight;

  virtual ~device_leaves() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;        ///< of the device's memory
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;  ///< of these, copies of lines

  /// Returns at once. n is at most the bucket's size; the slot is free again after finish().
  virtual void start(unsigned slot, const inner_levels& levels, const void* keys, std::size_t n) = 0;
  [[nodiscard]] virtual bool is_done(unsigned slot) const = 0;
  /// Waits, and copies the answers to the caller's memory (null: not wanted). Throws what the device met.
  virtual void finish(unsigned slot, void* values, std::uint8_t* found) = 0;
  /// After an error: nothing of ours is in use any more.
  virtual void abandon() noexcept = 0;
};

/// Bytes of the device's memory without the cache.
[[nodiscard]] std::size_t device_leaves_bytes(element_type elements, std::size_t bucket);

/// `tree`: a static tree in host memory, which must outlive this. `cache`: bytes for copies of lines.
[[nodiscard]] std::unique_ptr<device_leaves> make_device_leaves(const device& where, const device& host,
                                                                const static_index& tree, std::size_t bucket,
                                                                std::size_t cache);

}  // namespace espalier::detail
