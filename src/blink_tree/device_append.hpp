// device_append.hpp - appends a batch of ascending keys after the last key of the tree, on a GPU: a copy to new leaves.
//
// It takes two steps and one wait, whatever the batch: the GPU itself checks whether the batch is an append, and how
// many leaves it needs. If it is not, nothing is changed. bulk_append.hpp is the CPU version.
#pragma once

#include <cstdint>

#include "blink_tree/pool.hpp"
#include "espalier/blink_tree/node.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier::detail {

/// Result of the first step.
template <class Word>
struct append_plan {
  std::uint32_t refused;  ///< not 0 if keys do not ascend, or are not after those of the tree
  std::uint32_t leaves;   ///< number of new leaves
  std::uint32_t count;    ///< elements of the last leaf before the append
  node_id last;           ///< that leaf
  Word key;               ///< last key of that leaf
};

template <class View>
struct device_append {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;

  View tree;
  const void* keys;
  const void* values;
  std::uint8_t* done;  ///< may be null
  std::uint64_t n;
  const node_id* last_id;  ///< number of the last leaf; if null, it is `last`
  node_id last;
  new_numbers numbers;  ///< numbers for the maximum number of leaves that n elements can need
  word* highs;          ///< entries of the last leaf and of the leaves after it in the list of leaves
  node_id* ids;
  append_plan<word>* plan;

  [[nodiscard]] ESPALIER_INLINE word word_at(std::uint64_t i) const {
    return encode_bits(tree.key, load_bits<word>(tree.key, keys, i));
  }
};

/// Checks element i in [0, n). `plan` is zero before.
template <class View>
struct check_append {
  using word = typename device_append<View>::word;
  device_append<View> a;
  ESPALIER_HD void operator()(std::size_t i) const {
    constexpr unsigned slots = View::leaf_shape::slots;
    const word x = a.word_at(i);
    bool behind = true;
    if (i != 0) {
      behind = a.word_at(i - 1) < x;
    } else {
      const node_id last = a.last_id == nullptr ? a.last : *a.last_id;
      const auto node = a.tree.leaf(last);
      node_head<word> h;
      h.set_info(*node.info());
      const word key = h.count == 0 ? word{0} : node.keys()[h.count - 1];
      behind = h.count != 0 && key < x;  // the lowest key of an empty leaf is not known here
      const std::uint64_t room = slots - h.count;
      a.plan->leaves = a.n <= room ? 0 : static_cast<std::uint32_t>((a.n - room + slots - 1) / slots);
      a.plan->count = h.count;
      a.plan->last = last;
      a.plan->key = key;
    }
    if (!behind && atomic_word_ref{&a.plan->refused}.load_relaxed() == 0)
      atomic_word_ref{&a.plan->refused}.store_relaxed(1);
  }
};

/// Runs for i in [0, n), after check_append: each element is written to its slot, the first one of a leaf writes the
/// header.
template <class View>
struct write_append {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  device_append<View> a;
  ESPALIER_HD void operator()(std::size_t i) const {
    const append_plan<word> p = *a.plan;
    if (p.refused != 0) return;
    const std::uint64_t room = shape::slots - p.count;
    if (i == 0) end_last(p, room);
    if (i < room) {
      put(a.tree.leaf(p.last), p.count + static_cast<unsigned>(i), i);
    } else {
      const std::uint64_t k = (i - room) / shape::slots;
      const auto slot = static_cast<unsigned>((i - room) % shape::slots);
      const node_id id = a.numbers[k];
      const auto node = a.tree.leaf(id);
      if (slot == 0) begin(p, node, id, k, i);
      put(node, slot, i);
      if (i + 1 == a.n) {
        for (unsigned s = slot + 1; s < shape::slots; ++s) node.keys()[s] = static_cast<word>(~word{0});
      }
    }
    if (a.done != nullptr) a.done[i] = 1;
  }

 private:
  ESPALIER_INLINE void put(node_at<shape> node, unsigned slot, std::uint64_t i) const {
    node.keys()[slot] = a.word_at(i);
    if constexpr (shape::value_bytes != 0)
      node.values()[slot] = load_value<shape::value_bytes>(a.tree.value_bytes, a.values, i);
  }
  ESPALIER_INLINE void begin(const append_plan<word>& p, node_at<shape> node, node_id id, std::uint64_t k,
                             std::uint64_t first) const {
    node_head<word> h;
    h.count = static_cast<std::uint32_t>(a.n - first < shape::slots ? a.n - first : shape::slots);
    if (k + 1 < p.leaves) {
      h.high = a.word_at(first + shape::slots - 1);
      h.right = a.numbers[k + 1];
    }
    *node.version() = 0;
    *node.info() = h.info();
    *node.right() = h.right;
    *node.high() = h.high;
    a.ids[k + 1] = id;
    a.highs[k + 1] = h.high;
  }
  /// Updates the leaf that was the last one.
  ESPALIER_INLINE void end_last(const append_plan<word>& p, std::uint64_t room) const {
    const auto node = a.tree.leaf(p.last);
    node_head<word> h;
    h.set_info(*node.info());
    h.count = p.count + static_cast<std::uint32_t>(a.n < room ? a.n : room);
    *node.info() = h.info();
    if (p.leaves == 0) return;
    const word high = room == 0 ? p.key : a.word_at(room - 1);
    *node.right() = a.numbers[0];
    *node.high() = high;
    a.ids[0] = p.last;
    a.highs[0] = high;
  }
};

}  // namespace espalier::detail
