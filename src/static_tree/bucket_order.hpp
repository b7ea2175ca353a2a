// bucket_order.hpp - sizes of a partitioned batch, and where the queries of a bucket lie (docs/design/plans.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"

namespace espalier::detail {

/// A batch is cut into tiles. The queries of a tile are put in bucket order within the tile.
struct bucket_shape {
  unsigned buckets;
  unsigned tile;  ///< 1024, 8192 or 16384 queries
};

/// Queries of a batch that are partitioned at once; limits the scratch memory.
inline constexpr std::size_t partition_piece = std::size_t{1} << 26;

/// `widest`: bytes of a key or of a unit of an answer, whichever is wider. A tile of either fits 64 KiB of shared
/// memory.
[[nodiscard]] inline bucket_shape shape_of_buckets(std::size_t queries, std::size_t leaf_bytes, unsigned widest) {
  // Small tiles, so that a small batch has work for all multiprocessors.
  if (queries <= (std::size_t{1} << 18)) return {64, 1024};
  // A bucket of 4 MB: the lines of those that are searched at a time, and the caller's queries and answers, fit the L2.
  constexpr std::size_t bucket_bytes = std::size_t{1} << 22;
  unsigned buckets = 32;
  while (buckets < 256 && leaf_bytes / buckets > bucket_bytes) buckets *= 2;
  return {buckets, widest <= 4 ? 16384u : 8192u};
}

/// The widest unit in which elements of this size at this address are moved: 1, 2, 4 or 8 bytes.
[[nodiscard]] inline unsigned unit_of(const void* p, unsigned bytes) {
  const std::uintptr_t both = reinterpret_cast<std::uintptr_t>(p) | bytes | 8;
  return static_cast<unsigned>(both & (~both + 1));
}

/// The queries of a bucket in a tile are a segment. Segments are numbered bucket by bucket, tile by tile within a
/// bucket, so the queries of consecutive segments are the batch in bucket order.
struct bucket_order {
  const std::uint32_t* first = nullptr;   ///< for query 32 i of the bucket order: its segment
  const std::uint32_t* before = nullptr;  ///< for each segment: number of queries in the segments before it
  const std::uint32_t* begin = nullptr;   ///< for each segment: position of its first query in the piece
  std::uint32_t segments = 0;
  const std::uint32_t* ascending = nullptr;  ///< not 0: the order is the caller's

  /// The last segment of [from, segments) that starts at or before query q. Segment `from` does.
  [[nodiscard]] ESPALIER_HD std::uint32_t last_segment(std::uint32_t from, std::uint32_t q) const {
    std::uint32_t end = segments;
    while (end - from > 1) {
      const std::uint32_t middle = from + (end - from) / 2;
      if (before[middle] <= q) {
        from = middle;
      } else {
        end = middle;
      }
    }
    return from;
  }
};

}  // namespace espalier::detail
