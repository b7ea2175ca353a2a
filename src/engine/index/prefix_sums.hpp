// prefix_sums.hpp - sums of integers over ranges of ranks, as the difference of two prefix sums. They are exact in 128
// bits. Floats would lose small values next to large ones and use aggregate_tree instead.
//
// There are two levels, so that a changed value affects few sums: blocks of 64 elements are summed from the start of
// their group, groups of 64 blocks from the start of the array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "espalier/core/config.hpp"

namespace espalier::engine {

class prefix_sums {
 public:
  static constexpr std::size_t block = 64;
  static constexpr std::size_t group = 64 * block;

  /// leaves(from, to) returns the sum over elements of one block. run(n, body) calls body(i) for each i in [0, n).
  template <class Leaves, class Run>
  void build(std::size_t n, const Leaves& leaves, const Run& run) {
    std::vector<int128> blocks(n / block + 1);  // complete blocks, and the position after them
    std::vector<int128> groups(n / group + 1);
    run(n / group + 1, [&](std::size_t g) { count_up(blocks, g, leaves); });
    for (std::size_t g = 1; g < groups.size(); ++g)
      groups[g] = groups[g - 1] + blocks[g * 64 - 1] + leaves(g * group - block, g * group);
    blocks_ = std::move(blocks);
    groups_ = std::move(groups);
  }
  [[nodiscard]] bool is_built() const { return !groups_.empty(); }

  template <class Leaves>
  [[nodiscard]] int128 fold(std::size_t from, std::size_t to, const Leaves& leaves) const {
    if (from >= to) return 0;
    if (from / block == (to - 1) / block) return leaves(from, to);
    return below(to, leaves) - below(from, leaves);
  }

  /// Updates the sums after element i has changed.
  template <class Leaves>
  void update(std::size_t i, const Leaves& leaves) {
    const std::size_t g = i / group;
    const bool is_last = g + 1 == groups_.size();
    const int128 before = is_last ? 0 : groups_[g + 1] - groups_[g];
    count_up(blocks_, g, leaves);
    if (is_last) return;
    const int128 now = blocks_[g * 64 + 63] + leaves((g + 1) * group - block, (g + 1) * group);
    for (std::size_t later = g + 1; later < groups_.size(); ++later) groups_[later] += now - before;
  }

  [[nodiscard]] std::size_t bytes() const { return (blocks_.size() + groups_.size()) * sizeof(int128); }

 private:
  /// Recomputes the blocks of a group.
  template <class Leaves>
  static void count_up(std::vector<int128>& blocks, std::size_t g, const Leaves& leaves) {
    const std::size_t last = std::min(blocks.size(), (g + 1) * 64);
    int128 total = 0;
    for (std::size_t b = g * 64; b < last; ++b) {
      blocks[b] = total;
      if (b + 1 < last) total += leaves(b * block, (b + 1) * block);
    }
  }

  template <class Leaves>
  [[nodiscard]] int128 below(std::size_t i, const Leaves& leaves) const {
    return groups_[i / group] + blocks_[i / block] + leaves(i / block * block, i);
  }

  std::vector<int128> blocks_;
  std::vector<int128> groups_;
};

}  // namespace espalier::engine
