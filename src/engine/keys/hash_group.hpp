// hash_group.hpp - assigns equal numbers to rows with equal words, on all cores.
//
// There are four methods, chosen by the distribution of the words:
// - sorted: adjacent words are compared.
// - dense: the words index an array.
// - many duplicates: each piece of the rows has its own hash table, and the tables are merged by hash partition, all
//   partitions in parallel.
// - few duplicates: rows are radix-partitioned by hash first, so that the table of each partition fits a core's cache.
// With every method, groups are numbered in the order of their first rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/keys/groups.hpp"
#include "engine/keys/key_packer.hpp"
#include "engine/keys/word_hash_map.hpp"

namespace espalier::engine {

class hash_group {
 public:
  /// `searched` means that find() will be called.
  hash_group(const packed_keys& keys, bool searched);

  [[nodiscard]] const row_groups& groups() const { return groups_; }
  [[nodiscard]] row_groups take() { return std::move(groups_); }
  /// Returns the group of each word, or no_group. `keys` were packed by the same packer.
  [[nodiscard]] std::vector<std::uint32_t> find(const packed_keys& keys) const;

 private:
  struct piece;
  bool group_in_order(const packed_keys& keys);
  bool group_by_array(const packed_keys& keys, bool searched);
  void group_by_hash(const packed_keys& keys);
  void merge(std::vector<piece>& pieces);
  void group_by_parts(const packed_keys& keys);
  void number_groups(const std::vector<std::vector<std::uint32_t>>& first);
  void make_filter(const packed_keys& keys);
  void find_piece(const packed_keys& keys, std::size_t begin, std::size_t end, std::uint32_t* out) const;

  row_groups groups_;
  // The structures that find() searches: an array by word, or hash tables by partition with the group of each entry.
  std::vector<std::uint32_t> by_word_;
  std::vector<word_hash_map> parts_;
  std::vector<std::vector<std::uint32_t>> group_of_;
  std::vector<std::uint64_t> filter_;  ///< a clear bit means that the word is absent
  unsigned filter_shift_ = 0;
};

}  // namespace espalier::engine
