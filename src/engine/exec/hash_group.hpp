// hash_group.hpp - rows with equal words get equal numbers, on all cores.
//
// Four ways, by what the words are:
//   in order         neighbours are compared
//   close together   they number an array
//   often equal      each of some pieces of the rows has a hash table of its own, and the tables are merged by parts of
//                    the hash, all parts at once
//   rarely equal     rows are first parted by their hash, so that each part's table fits a core's cache
// Whatever the way, groups are numbered in the order in which rows bring them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/groups.hpp"
#include "engine/exec/key_packer.hpp"
#include "engine/exec/word_hash_map.hpp"

namespace espalier::engine {

class hash_group {
 public:
  /// `searched`: find() is going to be called.
  hash_group(const packed_keys& keys, bool searched);

  [[nodiscard]] const row_groups& groups() const { return groups_; }
  [[nodiscard]] row_groups take() { return std::move(groups_); }
  /// The group of each word, or no_group. `keys` are of the same packer.
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
  // What find() asks: an array by word, or tables by part of the hash with the group of each of their numbers.
  std::vector<std::uint32_t> by_word_;
  std::vector<word_hash_map> parts_;
  std::vector<std::vector<std::uint32_t>> group_of_;
  std::vector<std::uint64_t> filter_;  ///< bits by hash: no bit, no such word
  unsigned filter_shift_ = 0;
};

}  // namespace espalier::engine
