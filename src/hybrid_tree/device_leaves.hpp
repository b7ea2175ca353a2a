// device_leaves.hpp - windows of queries that the device answers alone, with leaves that stay in host memory.
//
// The device walks the inner levels, orders the window by line, reads each line of host memory once and in ascending
// order (at random a GPU reads host memory fourteen times more slowly, docs/design/hybrid-tree.md), looks for the keys,
// and the answers come back in the caller's order. What is left of the device's memory keeps copies of lines that are
// often asked for (leaf_cache.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/device.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/static_tree/index.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/leaf_cache.hpp"
#include "hybrid_tree/range_head_request.hpp"

namespace espalier::detail {

class device_leaves {
 public:
  /// One window that reads leaves, one whose answers come down, and one that waits for its turn while the host is busy.
  static constexpr unsigned slots = 3;
  static_assert(slots <= leaf_cache::min_idle_buckets);
  /// For copies of lines: one that is filled, and two that are used or wait for it.
  static constexpr unsigned areas = 3;

  virtual ~device_leaves() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;        ///< of the device's memory
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;  ///< of these, copies of lines

  /// Windows to come may have so many queries: where one of them needs more room, it is made for as many.
  void expect(std::size_t queries) { expected_ = queries; }

  /// Queries of the caller's, and where the answers go (null: not wanted), all in host memory.
  struct window {
    const void* keys;
    std::size_t n;
    void* values;
    std::uint8_t* found;
    host_copies copies;
  };
  /// Returns at once where that memory is pinned. The slot is free again, and the answers are there, after finish().
  virtual void start(unsigned slot, const inner_levels& levels, const window& w) = 0;
  /// The same for n ranges, row by row.
  virtual void start_rows(unsigned slot, const inner_levels& levels, const range_head_request& rows, std::size_t n,
                          host_copies copies) = 0;
  /// Would a window of n rows want most lines? Then it has them copied, and larger windows share them.
  [[nodiscard]] virtual bool wants_all_lines(std::size_t n, std::uint64_t limit) const = 0;
  /// Of all lines, those that the cache has places for: 0 to 1.
  [[nodiscard]] virtual double cached_part() const = 0;
  [[nodiscard]] virtual bool is_done(unsigned slot) const = 0;
  /// Waits. Throws what the device met.
  virtual void finish(unsigned slot) = 0;
  /// After an error: nothing of ours is in use any more.
  virtual void abandon() noexcept = 0;

 protected:
  [[nodiscard]] std::size_t expected() const { return expected_; }

 private:
  std::size_t expected_ = 0;
};

/// Elements of a window whose lines are fetched together, at most.
inline constexpr std::size_t largest_part = std::size_t{1} << 20;

/// Of the device's memory, without copies of lines.
[[nodiscard]] std::size_t window_bytes_per_query(element_type elements);
/// Of the device's memory for windows of this size in all slots, without the cache.
[[nodiscard]] std::size_t window_bytes(element_type elements, std::size_t window);

/// Of the device's memory for one range in each slot's window of rows, beside what a query has.
[[nodiscard]] std::size_t row_window_bytes(element_type elements, std::uint64_t limit);

/// `tree`: a static tree in host memory, which must outlive this. `part`: elements of a window whose lines are fetched
/// together. `cache`: bytes for copies of lines that are kept.
[[nodiscard]] std::unique_ptr<device_leaves> make_device_leaves(const device& dev, const device& host,
                                                                const static_index& tree, std::size_t part,
                                                                std::size_t cache);

}  // namespace espalier::detail
