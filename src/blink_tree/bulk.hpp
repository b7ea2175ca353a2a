// bulk.hpp - merges a sorted batch into the leaves, without latches: no other operation is in progress.
//
// A leaf is identified by its position in key order. The batch is partitioned by leaf (cut_batch): the elements that
// fall into one leaf are its *slice*. Two sets of steps follow, chosen leaf by leaf:
//
//   light leaves (merge_by_leaf.hpp; a CPU visits only leaves with a slice: merge_touched_leaves.hpp), at most 32
//   elements each:
//     judge_leaf      position of each element in the leaf, number of nodes of the leaf; heavy leaves are listed
//     change_leaf     one team per leaf that stays one node changes it in registers
//     split_leaf      one team per leaf that becomes several nodes writes them
//   heavy leaves (bulk_runs.hpp), any number of elements: the parallelism follows the output, not the leaves
//     judge_elements  one thread per few elements determines which keys are new
//     count_run       after a scan of that: number of nodes of the leaf
//     gather_elements new elements, packed in key order
//     write_node      one team per output node, which finds its part of the old leaf and of the new elements (merge
//                     path)
//
// So a leaf that receives a million elements costs as much as a million leaves that receive one each.
#pragma once

#include <cstdint>

#include "blink_tree/build_kernels.hpp"
#include "blink_tree/pool.hpp"
#include "espalier/blink_tree/descend.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/static_tree/run.hpp"
#include "static_tree/prefetch_hint.hpp"

namespace espalier::detail {

/// Leaves with more elements than light leaves may have, in no particular order. Filled concurrently by judge_leaf.
struct heavy_list {
  std::uint32_t* leaves = nullptr;    ///< positions of leaves in key order
  std::uint64_t* elements = nullptr;  ///< elements of each leaf; later scanned
  struct total {
    std::uint32_t leaves, elements;
  };
  total* size = nullptr;

  ESPALIER_INLINE void add(std::uint64_t leaf, std::uint32_t n) const {
    const std::uint32_t at = atomic_word_ref{&size->leaves}.fetch_add(1);
    if (leaves == nullptr) return;  // the caller only asks whether there are any
    leaves[at] = static_cast<std::uint32_t>(leaf);
    elements[at] = n;
    atomic_word_ref{&size->elements}.fetch_add(n);
  }
};

template <class View>
struct bulk_batch {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;

  View tree;
  write_op op;
  std::uint64_t n;             ///< number of elements
  const word* words;           ///< sorted
  const std::uint32_t* place;  ///< position of each element in the caller's batch; null if the batch was sorted already
  const void* values;          ///< the caller's values; null for erase and for sets
  std::uint8_t* done;          ///< in the caller's order, zeroed beforehand; may be null
  std::uint64_t leaves;
  const word* highs;   ///< high keys of the leaves, in key order
  const node_id* ids;  ///< if null, numbered in key order, from `first_id` on
  node_id first_id;
  std::uint32_t* cuts;  ///< leaves + 1 entries: elements [cuts[j], cuts[j + 1]) fall into leaf j
  /// leaves + 1 entries: new nodes of leaf j; scanned: before leaf j. Encoded as in nodes_before().
  std::uint64_t* new_nodes;
  new_numbers numbers;     ///< numbers of the new nodes
  std::uint32_t per_node;  ///< elements per node of a split leaf
  word* after_highs;       ///< list of leaves after the merge; null if unchanged
  node_id* after_ids;
  // For light leaves:
  const value* sorted;      ///< values in the order of `words`
  std::uint8_t* positions;  ///< position of each element
  std::uint8_t* changes;    ///< number of elements of leaf j that change the set of keys
  std::uint32_t* splits;    ///< leaf of each new node
  heavy_list heavy;

  /// Maximum number of elements of the slice of a light leaf, so that positions fit into seven bits. Wide nodes are
  /// always heavy.
  static constexpr unsigned few = shape::slots == shape::chunk ? 32 : 0;
  /// Position of an element in its leaf after the merge, if it is new or assigns a value to a present key; for an
  /// erased element, the number of kept elements in front of it.
  static constexpr std::uint8_t assigned = 0x80, nothing = 0xff;
  /// Value in `splits` for a new node that belongs to a heavy leaf.
  static constexpr std::uint32_t no_split = ~std::uint32_t{0};

  /// Distribution of the elements of a leaf over nodes.
  struct plan {
    std::uint32_t begin, end;  ///< slice
    std::uint32_t total;       ///< number of elements after the merge
    std::uint32_t nodes, per;
  };

  [[nodiscard]] ESPALIER_INLINE node_id id_of(std::uint64_t j) const {
    return ids == nullptr ? static_cast<node_id>(first_id + j) : ids[j];
  }
  /// Encodes the effect on a leaf so that one scan sums it up: the low half of the word has its new nodes (erase: 1 if
  /// it becomes empty), the high half the number of inserted or erased elements.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t encode(const plan& p, std::uint64_t changed) const {
    const std::uint64_t low = op != write_op::erase ? p.nodes - 1 : p.total == 0 && changed != 0 ? 1 : 0;
    return low | changed << 32;
  }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t nodes_before(std::uint64_t j) const { return new_nodes[j] & 0xffffffffu; }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t place_of(std::uint64_t i) const {
    return place == nullptr ? static_cast<std::uint32_t>(i) : place[i];
  }
  [[nodiscard]] ESPALIER_INLINE bool is_first(std::uint64_t i) const { return i == 0 || words[i - 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE bool is_last(std::uint64_t i) const { return i + 1 == n || words[i + 1] != words[i]; }
  [[nodiscard]] ESPALIER_INLINE value value_of(std::uint64_t i) const {
    return load_value<shape::value_bytes>(tree.value_bytes, values, place_of(i));
  }
  /// The value of the last of equal keys.
  [[nodiscard]] ESPALIER_INLINE value value_of_last(std::uint64_t i) const {
    if (!is_last(i)) {
      const word x = words[i];
      i = (x == static_cast<word>(~word{0}) ? n : first_not_below(words, i, n, static_cast<word>(x + 1))) - 1;
    }
    return value_of(i);
  }
  /// The value of the effective one of equal keys; i is the first of them.
  [[nodiscard]] ESPALIER_INLINE value value_of_run(std::uint64_t i) const {
    return op == write_op::insert_or_assign ? value_of_last(i) : value_of(i);
  }
  [[nodiscard]] ESPALIER_INLINE bool assigns() const {
    return shape::value_bytes != 0 && (op == write_op::insert_or_assign || op == write_op::update);
  }
  /// Prefetch hint for the first `bytes` of a leaf into which elements fall.
  [[nodiscard]] prefetch_hint leaf_ahead(std::uint64_t j, unsigned bytes) const {
    if (cuts[j] == cuts[j + 1]) return {};
    return {tree.leaf(id_of(j)).p, bytes};
  }
  struct verdict {
    bool moves;  ///< it changes the set of keys
    bool done;   ///< the caller's result
  };
  [[nodiscard]] ESPALIER_INLINE verdict judge(std::uint64_t i, bool present) const {
    if (op == write_op::update) return {false, present};
    const bool moves = is_first(i) && (op == write_op::erase ? present : !present);
    return {moves, moves};
  }

  /// Limit that keeps positions in a leaf within 32 bits, whatever it had before.
  static constexpr std::uint64_t most = 0xffff0000u;
  [[nodiscard]] ESPALIER_INLINE plan plan_of(std::uint64_t j, std::uint32_t count, std::uint32_t change) const {
    plan p{};
    p.begin = cuts[j];
    p.end = cuts[j + 1];
    p.total = op == write_op::erase ? count - change : count + change;
    p.nodes = p.total <= shape::slots ? 1 : (p.total + per_node - 1) / per_node;
    p.per = p.total <= shape::slots ? shape::slots : (p.total + p.nodes - 1) / p.nodes;
    return p;
  }
  [[nodiscard]] ESPALIER_INLINE node_id number_of(std::uint64_t j, std::uint64_t k) const {
    return k == 0 ? id_of(j) : numbers[nodes_before(j) + k - 1];
  }
  [[nodiscard]] ESPALIER_INLINE node_at<shape> node_of(std::uint64_t j, std::uint64_t k) const {
    return tree.leaf(number_of(j, k));
  }
  /// Writes the entry of node k of leaf j in the list of leaves after the merge.
  ESPALIER_INLINE void list(std::uint64_t j, std::uint64_t k, node_id id, word high) const {
    const std::uint64_t at = j + nodes_before(j) + k;
    after_ids[at] = id;
    after_highs[at] = high;
  }
  template <class Team>
  ESPALIER_INLINE void list_unchanged(Team team, std::uint64_t j) const {
    if (after_ids == nullptr) return;
    team.once([&] { list(j, 0, id_of(j), highs[j]); });
  }
};

/// Partitions the batch; for j in [0, leaves].
template <class View>
struct cut_batch {
  using word = typename bulk_batch<View>::word;
  bulk_batch<View> b;
  ESPALIER_HD void operator()(std::size_t j) const { b.cuts[j] = static_cast<std::uint32_t>(cut(j, 0)); }
  /// Partitions leaf after leaf on a CPU: partition points of neighbours are close together, and a search of the whole
  /// batch for each leaf was most of the cost of a small batch in a large tree.
  void operator()(std::size_t first, std::size_t last) const {
    std::uint64_t at = cut(first, 0);
    b.cuts[first] = static_cast<std::uint32_t>(at);
    for (std::size_t j = first + 1; j < last; ++j) {
      constexpr unsigned near = 16;
      unsigned steps = 0;
      if (j != b.leaves) {
        const word low = static_cast<word>(b.highs[j - 1] + 1);
        while (steps < near && at < b.n && b.words[at] < low) ++at, ++steps;
      }
      if (steps == near || j == b.leaves) at = cut(j, at);
      b.cuts[j] = static_cast<std::uint32_t>(at);
    }
  }

  /// Returns the partition point of leaf j, which is not before `from`.
  [[nodiscard]] ESPALIER_HD std::uint64_t cut(std::size_t j, std::uint64_t from) const {
    if (j == 0 || j == b.leaves) return j == 0 ? 0 : b.n;  // only the last leaf has the largest word as high key
    return first_not_below(b.words, from, b.n, static_cast<word>(b.highs[j - 1] + 1));
  }
};

}  // namespace espalier::detail
