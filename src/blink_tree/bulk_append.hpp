// bulk_append.hpp - appends a batch of ascending keys after the last key of the tree, on a CPU. device_append.hpp is
// the GPU version.
//
// This is a copy: the last leaf is filled, and new leaves, all full except for the last one, receive the rest in one
// pass over the batch, which also checks that keys ascend. The tree is changed only after that: until then no link
// leads to the new leaves. The operation is memory-bound, so it writes nothing that a later step would read again.
#pragma once

#include <atomic>
#include <cstdint>

#include "blink_tree/pool.hpp"
#include "espalier/blink_tree/node_write.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::detail {

template <class View>
struct appended_batch {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;
  using leaf_writer = node_writer<scalar_team, shape>;

  View tree;
  const void* keys;  ///< the caller's keys
  const void* values;
  std::uint64_t n;

  [[nodiscard]] word word_at(std::uint64_t i) const {
    return encode_bits(tree.key, load_bits<word>(tree.key, keys, i));
  }
  [[nodiscard]] word last_key(node_id leaf) const {
    node_head<word> h;
    h.set_info(*tree.leaf(leaf).info());
    return tree.leaf(leaf).keys()[h.count - 1];
  }
  /// Returns whether the batch belongs after the last leaf, which has this header. The lowest key of an empty leaf is
  /// not known here.
  [[nodiscard]] bool is_after_last(node_id leaf, const node_head<word>& h) const {
    return h.count != 0 && last_key(leaf) < word_at(0);
  }

  /// Up to `slots` elements in the format of a node: the caller's memory, or copies.
  struct piece {
    const word* words;
    const value* values;
    word word_copies[shape::slots];
    value value_copies[shape::slots];
  };
  void load(std::uint64_t first, unsigned count, piece& p) const {
    if (tree.key == (sizeof(word) == 4 ? scalar_kind::u32 : scalar_kind::u64)) {
      p.words = static_cast<const word*>(keys) + first;
    } else {
      for (unsigned s = 0; s < count; ++s) p.word_copies[s] = word_at(first + s);
      p.words = p.word_copies;
    }
    p.values = p.value_copies;
    if constexpr (shape::value_bytes != 0) {
      if (tree.value_bytes == shape::value_bytes && reinterpret_cast<std::uintptr_t>(values) % alignof(value) == 0) {
        p.values = static_cast<const value*>(values) + first;
      } else {
        for (unsigned s = 0; s < count; ++s)
          p.value_copies[s] = load_value<shape::value_bytes>(tree.value_bytes, values, first + s);
      }
    }
  }
  [[nodiscard]] static bool ascend(const word* words, unsigned count) {
    bool up = true;
    for (unsigned s = 1; s < count; ++s) up &= words[s - 1] < words[s];
    return up;
  }
  [[nodiscard]] bool ascends(std::uint64_t first, unsigned count) const {
    piece p;
    load(first, count, p);
    return ascend(p.words, count);
  }

  /// Appends the first `count` elements to the last leaf, whose header is `h`, and links leaf `right` after it.
  void fill_up(node_id leaf, node_head<word> h, unsigned count, node_id right) const {
    const auto node = tree.leaf(leaf);
    piece p;
    load(0, count, p);
    leaf_writer::put(node.keys(), h.count, p.words, count);
    if constexpr (shape::value_bytes != 0) leaf_writer::put(node.values(), h.count, p.values, count);
    h.count += count;
    h.right = right;
    if (right != no_node) h.high = node.keys()[h.count - 1];
    leaf_writer::store_head(scalar_team{}, node, h);
  }
  /// Marks the recycled nodes dead again.
  void bury(const new_numbers& numbers) const {
    for (std::uint32_t i = 0; i < numbers.reused; ++i) *tree.leaf(numbers.again[i]).info() |= node_head<word>::dead_bit;
  }
};

/// Writes new leaves [first, last), after the elements that the old last leaf takes.
template <class View>
struct write_appended {
  using batch = appended_batch<View>;
  using shape = typename batch::shape;
  batch b;
  std::uint64_t skipped;
  std::uint64_t leaves;
  new_numbers numbers;
  typename batch::word* highs;
  node_id* ids;
  std::atomic<bool>* ascends;

  void operator()(std::size_t first, std::size_t last) const {
    bool up = true;
    std::uint64_t at = skipped + first * shape::slots;
    typename batch::piece p;
    auto before = at == 0 ? typename batch::word{0} : b.word_at(at - 1);
    for (std::size_t k = first; k < last && up; ++k) {
      node_head<typename batch::word> h;
      h.count = static_cast<std::uint32_t>(b.n - at < shape::slots ? b.n - at : shape::slots);
      b.load(at, h.count, p);
      up = (at == 0 || before < p.words[0]) && batch::ascend(p.words, h.count);
      before = p.words[h.count - 1];
      if (k + 1 < leaves) {
        h.high = before;
        h.right = numbers[k + 1];
      }
      ids[k] = numbers[k];
      highs[k] = h.high;
      batch::leaf_writer::write_new(scalar_team{}, b.tree.leaf(ids[k]), p.words, p.values, h);
      at += h.count;
    }
    if (!up) ascends->store(false, std::memory_order_relaxed);
  }
};

}  // namespace espalier::detail
