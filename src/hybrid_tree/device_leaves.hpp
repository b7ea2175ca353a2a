// device_leaves.hpp - windows of queries that the device answers alone, with leaves that stay in host memory.
//
// The device searches the inner levels, sorts the window by line, reads each line of host memory once and in ascending
// order (random reads of host memory by a GPU are fourteen times slower, docs/design/hybrid-tree.md), searches the
// keys, and the results are returned in the caller's order. The rest of the device's memory caches copies of frequently
// read lines (leaf_cache.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/device.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/static_tree/index.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/leaf_cache.hpp"

namespace espalier::detail {

/// Ranges of one call whose first elements are written row by row (range_rows), and their outputs.
struct range_head_request {
  const void* lo;
  const void* hi;
  range_options options;  ///< limit is the number of elements of a row
  void* keys;             ///< null if not requested, like `values`
  void* values;
  std::uint64_t* counts;

  /// Approximate number of bytes of the result of one range.
  [[nodiscard]] std::size_t row_bytes(element_type elements) const {
    const std::size_t key = keys == nullptr ? 0 : bytes_of(elements.key),
                      value = values == nullptr ? 0 : elements.value_bytes;
    return options.limit * (key + value) + 1;
  }
  /// The same without the first ranges.
  [[nodiscard]] range_head_request from(std::size_t first, element_type elements) const {
    const std::size_t key = bytes_of(elements.key), row = first * options.limit;
    const auto moved = [](void* p, std::size_t bytes) -> void* {
      return p == nullptr ? nullptr : static_cast<char*>(p) + bytes;
    };
    return {static_cast<const char*>(lo) + first * key,
            static_cast<const char*>(hi) + first * key,
            options,
            moved(keys, row * key),
            moved(values, row * elements.value_bytes),
            counts + first};
  }
};

class device_leaves {
 public:
  /// One window that reads leaves, one whose results are downloaded, and one that is queued while the host is busy.
  static constexpr unsigned slots = 3;
  static_assert(slots <= leaf_cache::min_idle_buckets);
  /// Areas for copies of lines: one that is being filled, and two that are in use or wait for it.
  static constexpr unsigned areas = 3;

  virtual ~device_leaves() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;        ///< used bytes of the device's memory
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;  ///< part of these for copies of lines

  /// Announces the size of later windows: a window that needs more memory allocates for this number of queries.
  void expect(std::size_t queries) { expected_ = queries; }

  /// The caller's queries and outputs (null if not requested), all in host memory.
  struct window {
    const void* keys;
    std::size_t n;
    void* values;
    std::uint8_t* found;
    host_copies copies;
  };
  /// Returns at once if that memory is pinned. After finish() the slot is free again and the results are complete.
  virtual void start(unsigned slot, const inner_levels& levels, const window& w) = 0;
  /// The same for n ranges, row by row.
  virtual void start_rows(unsigned slot, const inner_levels& levels, const range_head_request& rows, std::size_t n,
                          host_copies copies) = 0;
  /// Returns whether a window of n rows reads most lines. Then all lines are copied, and larger windows share them.
  [[nodiscard]] virtual bool wants_all_lines(std::size_t n, std::uint64_t limit) const = 0;
  /// Fraction of all lines that the cache has places for: 0 to 1.
  [[nodiscard]] virtual double cached_part() const = 0;
  [[nodiscard]] virtual bool is_done(unsigned slot) const = 0;
  /// Waits. Rethrows errors of the device.
  virtual void finish(unsigned slot) = 0;
  /// Called after an error: afterwards no memory of this object is in use.
  virtual void abandon() noexcept = 0;

 protected:
  [[nodiscard]] std::size_t expected() const { return expected_; }

 private:
  std::size_t expected_ = 0;
};

/// Maximum number of elements of a window whose lines are fetched together.
inline constexpr std::size_t largest_part = std::size_t{1} << 20;

/// Bytes of the device's memory per query, without copies of lines.
[[nodiscard]] std::size_t window_bytes_per_query(element_type elements);
/// Bytes of the device's memory for windows of this size in all slots, without the cache.
[[nodiscard]] std::size_t window_bytes(element_type elements, std::size_t window);

/// Bytes of the device's memory for one range in each slot's window of rows, in addition to those of a query.
[[nodiscard]] std::size_t row_window_bytes(element_type elements, std::uint64_t limit);

/// `tree` is a static tree in host memory, which must outlive the result. `part` is the number of elements of a window
/// whose lines are fetched together. `cache` is the number of bytes for cached copies of lines.
[[nodiscard]] std::unique_ptr<device_leaves> make_device_leaves(const device& dev, const device& host,
                                                                const static_index& tree, std::size_t part,
                                                                std::size_t cache);

}  // namespace espalier::detail
