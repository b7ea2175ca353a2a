// radix_partition.hpp - partitions rows by the hash of their word, so that the data of a partition fits a core's cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/keys/key_packer.hpp"

namespace espalier::engine {

struct row_span {
  std::size_t begin, end;
};
/// The number of pieces for parallel processing of many rows, and the rows of one piece.
[[nodiscard]] std::size_t core_pieces(std::size_t rows);
[[nodiscard]] row_span span_of(std::size_t piece, std::size_t pieces, std::size_t rows);

/// Returns a power of two.
[[nodiscard]] std::size_t parts_for(std::size_t rows, std::size_t rows_of_a_part);
[[nodiscard]] inline std::size_t part_of(std::uint64_t hash, std::size_t parts) { return (hash >> 32) & (parts - 1); }

/// Returns whether the distinct words of a sample are more than a quarter of its rows.
[[nodiscard]] bool rarely_equal(const packed_keys& keys);

/// Rows that have a key, with their words; rows of a partition ascend.
class radix_partition {
 public:
  radix_partition(const packed_keys& keys, std::size_t parts);

  [[nodiscard]] std::size_t parts() const { return parts_; }
  /// Returns the number of rows in the preceding partitions.
  [[nodiscard]] std::size_t begin(std::size_t part) const { return begin_[part]; }
  [[nodiscard]] std::span<const std::uint64_t> words(std::size_t part) const {
    return {words_.get() + begin_[part], begin_[part + 1] - begin_[part]};
  }
  [[nodiscard]] std::span<const std::uint32_t> ids(std::size_t part) const {
    return {ids_.get() + begin_[part], begin_[part + 1] - begin_[part]};
  }

 private:
  std::size_t parts_;
  std::vector<std::size_t> begin_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::unique_ptr<std::uint32_t[]> ids_;
};

}  // namespace espalier::engine
