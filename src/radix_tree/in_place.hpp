// in_place.hpp - inserts and erases that change only the affected nodes.
//
// A batch is sorted, new leaves are written first, and each node is changed once (graft.hpp, prune.hpp). At the end the
// cells of the root table that lead to changed nodes are rewritten; leaves in key order are listed when a query needs
// them (leaf_order.hpp).
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "radix_tree/build_kernels.hpp"
#include "radix_tree/graft.hpp"
#include "radix_tree/prune.hpp"
#include "radix_tree/root_table.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/storage.hpp"

namespace espalier::detail {

/// Elements of a batch, by number.
struct listed_keys_of {
  byte_batch batch;
  const std::uint32_t* numbers;
};

/// Rewrites the cells of the listed keys. Of neighbours in one cell the first one rewrites it.
template <unsigned V>
struct renew_cell {
  radix_view<V> tree;
  listed_keys_of keys;
  radix_link* cells;
  ESPALIER_HD void operator()(std::size_t j) const {
    const byte_key_view key = keys.batch[keys.numbers[j]];
    if (!tree.in_table(key)) return;
    if (j != 0) {
      const byte_key_view before = keys.batch[keys.numbers[j - 1]];
      if (tree.in_table(before) && tree.cell_of(before) == tree.cell_of(key)) return;
    }
    atomic_word_ref{&cells[tree.cell_of(key)].word}.store_relaxed(write_root_cell<V>::lowest_above(tree, key).word);
  }
};

template <class Context, unsigned V>
class in_place_writer {
  using storage = radix_storage<V>;

 public:
  /// `table_bits` as in radix_options.
  in_place_writer(Context& context, storage& tree, unsigned table_bits)
      : context_(context), tree_(tree), table_(context, tree, table_bits) {}

  /// Inserts m elements whose keys are new and distinct, in key order. Strong exception guarantee.
  void insert(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m, const void* values) {
    const ordered_keys listed{keys, numbers, m};
    const buffer<radix_link> links = make_leaves(listed, values);
    radix_graft<Context, V> graft(context_, tree_.view, listed);
    grow(tree_.node4, tree_.view.node4, 0, graft.made(0));
    grow(tree_.node16, tree_.view.node16, 1, graft.made(1));
    grow(tree_.node48, tree_.view.node48, 2, graft.made(2));
    grow(tree_.node256, tree_.view.node256, 3, graft.made(3));
    // Nothing can fail from here on.
    const auto outcome = graft.write(tree_.view, links.data(), tree_.node_counts);
    tree_.view.root = outcome.root;
    for (unsigned k = 0; k < 4; ++k) {
      tree_.node_counts[k] += graft.made(k);
      tree_.node_dead[k] += outcome.dead[k];
    }
    inserted(keys, numbers, m);
  }

  /// Erases m elements whose keys are present and distinct; `gone` is the number of their leaves of each class.
  void erase(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m,
             const std::size_t (&gone)[leaf_classes]) {
    radix_prune<Context, V> prune(context_, {keys, numbers, m});
    const prune_outcome outcome = prune.take_out_keys(tree_.view);
    const bool shrinks = grow_if_possible(outcome.shrunk_to);
    if (shrinks) prune.shrink(tree_.view, tree_.node_counts);
    tree_.view.root = prune.rehang(tree_.view);
    for (unsigned k = 0; k < 4; ++k) {
      tree_.node_dead[k] += outcome.dead[k] + (shrinks ? outcome.shrunk[k] : 0);
      tree_.node_counts[k] += shrinks ? outcome.shrunk_to[k] : 0;
    }
    erased(keys, numbers, m, gone);
  }

 protected:
  // ---- leaves: after the existing ones ---------------------------------------------------------------------
  [[nodiscard]] buffer<radix_link> make_leaves(const ordered_keys& listed, const void* values) {
    buffer<radix_link> links = room<radix_link>(context_, listed.n);
    const buffer<std::uint64_t> of_class = room<std::uint64_t>(context_, listed.n + 1);
    const byte_batch& batch = listed.batch;
    for (unsigned c = 0; c < leaf_classes; ++c) {
      added_[c] = 0;
      if (batch.offsets == nullptr && leaf_class(static_cast<std::uint32_t>(batch.stride)) != c) continue;
      context_.for_each(listed.n, mark_class{listed, c, of_class.data()});
      added_[c] = number_marks(context_, of_class, listed.n);
      if (added_[c] == 0) continue;
      require_numbers_for(tree_.leaf_counts[c] + added_[c]);
      context_.for_each(listed.n, link_of_class{listed, of_class.data(), links.data(), tree_.leaf_counts[c]});
      grow_leaves(c, tree_.leaf_counts[c] + added_[c]);
    }
    heap_after_ = tree_.heap_used;
    if (added_[long_class] != 0) {
      context_.for_each(listed.n, count_heap{listed, of_class.data()});
      heap_after_ += number_marks(context_, of_class, listed.n);
      grow_heap(heap_after_);
    }
    context_.for_each(listed.n, write_leaf<V>{tree_.view, listed, values, of_class.data(),
                                              tree_.heap.data() + tree_.heap_used, links.data(), tree_.heap_used});
    return links;
  }
  void grow_leaves(unsigned c, std::size_t wanted) {
    const std::size_t bytes = leaf_bytes(c, V);
    if (wanted * bytes <= tree_.leaves[c].bytes()) return;
    raw_buffer larger(context_.get_device(), (wanted + wanted / 4) * bytes, context_.order());
    if (tree_.leaf_counts[c] != 0) context_.copy(larger.data(), tree_.leaves[c].data(), tree_.leaf_counts[c] * bytes);
    tree_.leaves[c] = std::move(larger);
    tree_.view.leaves[c] = static_cast<std::byte*>(tree_.leaves[c].data());
  }
  void grow_heap(std::uint64_t wanted) {
    if (wanted <= tree_.heap.size()) return;
    buffer<std::uint64_t> larger = tree_.heap_room(context_, wanted + wanted / 4);
    if (tree_.heap_used != 0) context_.copy(larger.data(), tree_.heap.data(), tree_.heap_used * 8);
    tree_.heap = std::move(larger);
    tree_.view.heap = tree_.heap.data();
  }

  // ---- nodes -----------------------------------------------------------------------------------------------
  /// Reserves exactly this number of nodes of each kind; returns false if there is no memory for some, or no need.
  [[nodiscard]] bool grow_if_possible(const std::uint32_t (&more)[4]) {
    if (more[0] + more[1] + more[2] == 0) return false;
    try {
      grow(tree_.node4, tree_.view.node4, 0, more[0]);
      grow(tree_.node16, tree_.view.node16, 1, more[1]);
      grow(tree_.node48, tree_.view.node48, 2, more[2]);
    } catch (const error&) {  // no memory, or no numbers left
      return false;
    }
    return true;
  }
  template <class Node>
  void grow(buffer<Node>& memory, Node*& view, unsigned kind, std::size_t more) {
    const std::size_t used = tree_.node_counts[kind], wanted = used + more;
    if (wanted <= memory.size()) return;
    require_numbers_for(wanted);
    buffer<Node> larger = room<Node>(context_, wanted + wanted / 8);
    if (used != 0) context_.copy(larger.data(), memory.data(), used * sizeof(Node));
    context_.fill(larger.data() + used, 0xff, (larger.size() - used) * sizeof(Node));
    memory = std::move(larger);
    view = memory.data();
  }

  void inserted(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m) {
    tree_.view.size += m;
    tree_.heap_used = heap_after_;
    for (unsigned c = 0; c < leaf_classes; ++c) tree_.leaf_counts[c] += added_[c];
    after(keys, numbers, m);
  }
  void erased(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m,
              const std::size_t (&gone)[leaf_classes]) {
    tree_.view.size -= m;
    for (unsigned c = 0; c < leaf_classes; ++c) tree_.leaf_dead[c] += gone[c];
    after(keys, numbers, m);
  }
  void after(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m) {
    tree_.forget_order();
    if (table_.follow() || tree_.view.table_bits == 0) return;
    context_.for_each(m, renew_cell<V>{tree_.view, {keys, numbers}, tree_.cells.data()});
  }

  Context& context_;
  storage& tree_;

 private:
  root_table<Context, V> table_;
  // State of the batch that is being inserted:
  std::size_t added_[leaf_classes] = {};
  std::uint64_t heap_after_ = 0;  ///< words
};

}  // namespace espalier::detail
