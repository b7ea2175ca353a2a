// aggregate_tree.hpp - partial aggregates over blocks of 64 elements, blocks of 64 blocks, and so on. Any range of
// ranks is combined from fewer than 128 parts per level, all of them inside the range, so no subtraction is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace espalier::engine {

/// Node is a partial aggregate. Node{} is the aggregate of no elements, and a += b combines adjacent ones.
template <class Node>
class aggregate_tree {
 public:
  static constexpr std::size_t fan_out = 64;

  /// leaves(from, to) returns the aggregate over elements of one block. run(n, body) calls body(i) for each i in [0,
  /// n).
  template <class Leaves, class Run>
  void build(std::size_t n, const Leaves& leaves, const Run& run) {
    std::vector<std::vector<Node>> levels;
    for (std::size_t below = n; below >= fan_out || levels.empty();) {  // the last level has no complete block
      const std::size_t blocks = (below + fan_out - 1) / fan_out;
      std::vector<Node> level(blocks);
      run(blocks, [&](std::size_t b) {
        const std::size_t from = b * fan_out;
        const std::size_t to = std::min(below, from + fan_out);
        level[b] = levels.empty() ? leaves(from, to) : sum(levels.back(), from, to);
      });
      levels.push_back(std::move(level));
      below = blocks;
    }
    levels_ = std::move(levels);
    size_ = n;
  }
  [[nodiscard]] bool is_built() const { return !levels_.empty(); }

  template <class Leaves>
  [[nodiscard]] Node fold(std::size_t from, std::size_t to, const Leaves& leaves) const {
    if (from >= to) return Node{};
    Node left = parts(from, to, leaves);
    for (std::size_t level = 0; from < to; ++level)
      left += parts(from, to, [&](std::size_t a, std::size_t b) { return sum(levels_[level], a, b); });
    return left;
  }

  /// Updates the tree after element i has changed.
  template <class Leaves>
  void update(std::size_t i, const Leaves& leaves) {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t below = level == 0 ? size_ : levels_[level - 1].size();
      const std::size_t from = i / fan_out * fan_out;
      const std::size_t to = std::min(below, from + fan_out);
      i /= fan_out;
      levels_[level][i] = level == 0 ? leaves(from, to) : sum(levels_[level - 1], from, to);
    }
  }

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& level : levels_) total += level.size() * sizeof(Node);
    return total;
  }

 private:
  static Node sum(const std::vector<Node>& nodes, std::size_t from, std::size_t to) {
    Node total{};
    for (std::size_t i = from; i < to; ++i) total += nodes[i];
    return total;
  }

  /// Returns the aggregate of the elements outside of complete blocks at both ends; [from, to) becomes the blocks in
  /// between.
  template <class Leaves>
  static Node parts(std::size_t& from, std::size_t& to, const Leaves& leaves) {
    const std::size_t first = (from + fan_out - 1) / fan_out;
    const std::size_t last = to / fan_out;
    Node total{};
    if (first > last) {  // the range is within one block
      total = leaves(from, to);
      from = to = 0;
      return total;
    }
    if (from < first * fan_out) total = leaves(from, first * fan_out);
    if (last * fan_out < to) total += leaves(last * fan_out, to);
    from = first;
    to = last;
    return total;
  }

  std::vector<std::vector<Node>> levels_;
  std::size_t size_ = 0;
};

}  // namespace espalier::engine
