// merge_touched_leaves.hpp - merges a batch on a CPU. Only the high keys of leaves without a slice are read.
//
// A batch is small compared to a large tree: 2^20 elements touch an eighth of the leaves of 2^26. An array with a word
// per leaf, written by one step and read by the next, costs more than the leaves that change. A GPU needs such arrays
// (bulk.hpp); a CPU can process leaf after leaf. So leaves in key order are divided into blocks; each block belongs to
// one thread, which lists the touched leaves. The touched leaves form a smaller batch of leaves, to which the steps of
// merge_by_leaf.hpp apply unchanged:
//   judge(block)    lists touched leaves and judges them; the tree is not changed
//   change(block)   changes and splits them, and writes the block's part of the list of leaves after the merge
// The lists of a block whose first element is i start at position i + block: each touched leaf has an element, and each
// list has one more entry at its end.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "blink_tree/merge_by_leaf.hpp"

namespace espalier::detail {

/// `Context` is blink_cpu_executor.
template <class Context, class View>
class touched_leaves {
  using batch = bulk_batch<View>;
  using shape = typename batch::shape;
  using word = typename batch::word;

 public:
  touched_leaves(Context& context, const batch& b)
      : context_(context),
        b_(b),
        per_block_(std::clamp<std::uint64_t>(b.leaves / (8 * context.threads()), 16, most_leaves)),
        blocks_((b.leaves + per_block_ - 1) / per_block_),
        sums_(context.get_device(), blocks_, context.order()),
        leaf_(context.get_device(), b.n + blocks_, context.order()),
        begin_(context.get_device(), b.n + blocks_, context.order()),
        changes_(context.get_device(), b.n + blocks_, context.order()),
        more_(context.get_device(), b.n + blocks_, context.order()) {}

  struct outcome {
    std::uint64_t new_nodes;
    std::uint64_t emptied;  ///< leaves that an erase leaves empty
    std::uint64_t changed;  ///< number of inserted or erased elements
    bool heavy;             ///< too many elements fall into one leaf
  };
  [[nodiscard]] outcome judge() {
    heavy_list::total heavy{};
    b_.heavy.size = &heavy;
    context_.for_each_large(blocks_, [&](std::size_t block) { judge(block); });
    std::uint64_t sum = 0, emptied = 0, changed = 0;
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      sum += std::exchange(sums_.data()[i].new_nodes, sum);
      emptied += sums_.data()[i].emptied;
      changed += sums_.data()[i].changed;
    }
    return {sum, emptied, changed, heavy.leaves != 0};
  }
  /// `b` is the same batch with the new nodes.
  void change(const batch& b) const {
    context_.for_each_large(blocks_, [&](std::size_t block) { change(b, block); });
  }

 private:
  static constexpr std::uint64_t most_leaves = 512;  ///< leaves of a block, whose lists are on the stack
  static constexpr unsigned most_nodes =
      (shape::slots + batch::few) / (shape::slots * 3 / 4) + 1;  ///< maximum number of nodes that a leaf becomes
  static_assert(most_nodes < 256);

  struct block_sum {
    std::uint64_t new_nodes;  ///< new nodes of this block; later, of all blocks before it
    std::uint64_t emptied, changed;
    std::uint64_t lists;  ///< start of its lists
    std::uint32_t touched;
  };
  /// The lists as the steps see them: the j-th touched leaf is their leaf j.
  struct block_lists {
    std::array<node_id, most_leaves> ids;
    std::array<std::uint64_t, most_leaves + 1> new_nodes;
  };
  struct block_nodes {
    std::array<word, most_leaves> highs;
    std::array<word, most_leaves * most_nodes> after_highs;
    std::array<node_id, most_leaves * most_nodes> after_ids;
    std::array<std::uint32_t, most_leaves * most_nodes> splits;
  };
  [[nodiscard]] batch local(const batch& b, const block_sum& sum, block_lists& lists) const {
    for (std::uint32_t t = 0; t < sum.touched; ++t) lists.ids[t] = b.id_of(leaf_.data()[sum.lists + t]);
    batch mine = b;
    mine.leaves = sum.touched;
    mine.ids = lists.ids.data();
    mine.cuts = begin_.data() + sum.lists;
    mine.new_nodes = lists.new_nodes.data();
    mine.changes = changes_.data() + sum.lists;
    return mine;
  }

  void judge(std::uint64_t block) const {
    const std::uint64_t first = block * per_block_, last = std::min(first + per_block_, b_.leaves);
    block_sum& sum = sums_.data()[block];
    const std::uint64_t begin = cut(first), end = cut(last);
    sum = {0, 0, 0, begin + block, 0};
    if (begin == end) return;
    list(sum, first, last, begin, end);
    block_lists lists;
    Context::in_turn(sum.touched, judge_leaf<typename Context::single_thread_team, View>{local(b_, sum, lists)});
    for (std::uint32_t t = 0; t < sum.touched; ++t) {
      const std::uint64_t low = lists.new_nodes[t] & 0xffffffffu, more = b_.op == write_op::erase ? 0 : low;
      sum.emptied += low - more;
      more_.data()[sum.lists + t] = static_cast<std::uint8_t>(more);
      sum.new_nodes += more;
      sum.changed += lists.new_nodes[t] >> 32;
    }
  }
  [[nodiscard]] std::uint64_t cut(std::uint64_t leaf) const { return cut_batch<View>{b_}.cut(leaf, 0); }
  /// Lists elements [at, end), which fall into leaves [leaf, last).
  void list(block_sum& sum, std::uint64_t leaf, std::uint64_t last, std::uint64_t at, std::uint64_t end) const {
    constexpr unsigned line = 64 / sizeof(word);
    std::uint32_t* leaves = leaf_.data() + sum.lists;
    std::uint32_t* begins = begin_.data() + sum.lists;
    for (; at != end; ++sum.touched) {
      const word x = b_.words[at];
      while (leaf + line <= last && b_.highs[leaf + line - 1] < x) leaf += line;
      while (b_.highs[leaf] < x) ++leaf;
      *leaves++ = static_cast<std::uint32_t>(leaf);
      *begins++ = static_cast<std::uint32_t>(at);
      const word high = b_.highs[leaf];
      while (at != end && b_.words[at] <= high) ++at;
    }
    *begins = static_cast<std::uint32_t>(end);
  }

  void change(const batch& b, std::uint64_t block) const {
    const std::uint64_t first = block * per_block_, last = std::min(first + per_block_, b.leaves);
    const block_sum& sum = sums_.data()[block];
    if (sum.touched == 0 && b.after_ids == nullptr) return;
    block_lists lists;
    block_nodes nodes;
    batch mine = local(b, sum, lists);
    std::uint64_t more = 0;
    for (std::uint32_t t = 0; t < sum.touched; ++t) {
      lists.new_nodes[t] = more;
      more += more_.data()[sum.lists + t];
      nodes.highs[t] = b.highs[leaf_.data()[sum.lists + t]];
    }
    lists.new_nodes[sum.touched] = more;
    mine.highs = nodes.highs.data();
    mine.numbers = b.numbers.from(sum.new_nodes);
    mine.splits = nodes.splits.data();
    if (b.after_ids != nullptr) {
      mine.after_highs = nodes.after_highs.data();
      mine.after_ids = nodes.after_ids.data();
    }
    Context::leaves_in_turn(sum.touched, change_leaf<View>{mine});
    Context::leaves_in_turn(more, split_leaf<View>{mine});
    if (b.after_ids != nullptr) list_after(b, sum, lists, nodes, first, last);
  }
  /// Writes the entries of leaves [first, last) and of their new nodes; runs of leaves that were not split are copied.
  void list_after(const batch& b, const block_sum& sum, const block_lists& lists, const block_nodes& nodes,
                  std::uint64_t first, std::uint64_t last) const {
    std::uint64_t to = first + sum.new_nodes, from = first;
    const auto stay = [&](std::uint64_t until) {
      copy(b.after_highs + to, b.highs + from, until - from);
      if (b.ids != nullptr) copy(b.after_ids + to, b.ids + from, until - from);
      for (; b.ids == nullptr && from < until; ++from, ++to) b.after_ids[to] = static_cast<node_id>(from);
      to += until - from;
      from = until;
    };
    for (std::uint32_t t = 0; t < sum.touched; ++t) {
      const unsigned more = more_.data()[sum.lists + t];
      if (more == 0) continue;
      stay(leaf_.data()[sum.lists + t]);
      const std::uint64_t here = t + lists.new_nodes[t];
      copy(b.after_highs + to, nodes.after_highs.data() + here, more + 1);
      copy(b.after_ids + to, nodes.after_ids.data() + here, more + 1);
      to += more + 1;
      ++from;
    }
    stay(last);
  }
  template <class T>
  static void copy(T* to, const T* from, std::size_t n) {
    if (n != 0) std::memcpy(to, from, n * sizeof(T));
  }

  Context& context_;
  batch b_;
  std::uint64_t per_block_, blocks_;
  buffer<block_sum> sums_;
  buffer<std::uint32_t> leaf_, begin_;
  buffer<std::uint8_t> changes_, more_;
};

}  // namespace espalier::detail
