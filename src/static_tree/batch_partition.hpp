// batch_partition.hpp - the two passes of plan partition_first on a GPU (docs/design/plans.md): queries are put in
// bucket order, and answers back in the caller's order.
//
// Invariants:
// (1) A query never leaves its tile. place[i] is its position within the tile, so two bytes suffice, every tile is read
//     and written as a whole, and answers are put back in place.
// (2) All work is enqueued on one stream, and the scratch memory is freed in its order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/layout.hpp"
#include "static_tree/bucket_order.hpp"
#include "static_tree/bucket_table.hpp"

namespace espalier::detail {

/// An array of answers, one element per query.
struct answer_array {
  void* data = nullptr;
  unsigned bytes = 0;
};

template <class Word>
class batch_partition {
 public:
  /// Allocates scratch memory for pieces of up to `most` queries, at most partition_piece. `arrays`: 1, or 2 for
  /// ranges. Throws out_of_memory.
  batch_partition(const device& dev, const stream& order, bucket_shape shape, std::size_t most, scalar_kind kind,
                  unsigned arrays);

  /// Partitions n >= 1 queries by the first array of keys. Bucket bounds come from the headers of a tree with at least
  /// one group.
  void partition(const group_header<Word>* headers, std::uint32_t groups, const void* const keys[2], std::size_t n);
  /// The order of the piece that was partitioned last.
  [[nodiscard]] bucket_order order() const;
  /// An array of keys of that piece in bucket order, unless the order is the caller's.
  [[nodiscard]] const void* keys(unsigned array) const { return keys_[array].data(); }
  /// Puts answers of that piece from bucket order into the caller's order, in place. Arrays without data are skipped.
  void restore(const answer_array* answers, unsigned count) const;

 private:
  [[nodiscard]] std::uint32_t tiles() const { return static_cast<std::uint32_t>((n_ + shape_.tile - 1) / shape_.tile); }

  device device_;
  stream stream_;
  bucket_shape shape_;
  scalar_kind kind_;
  unsigned arrays_;
  std::size_t n_ = 0;
  buffer<bucket_table<Word>> table_;
  raw_buffer keys_[2];
  buffer<std::uint16_t> place_;
  buffer<std::uint32_t> counts_;  // of segments, then queries before each segment
  buffer<std::uint32_t> begin_;
  buffer<std::uint32_t> first_;
};

extern template class batch_partition<std::uint32_t>;
extern template class batch_partition<std::uint64_t>;

}  // namespace espalier::detail
