// merge.hpp - a batch, sorted and merged into the leaves (bulk.hpp has the steps), and the upper levels that follow from it.
#pragma once

#include <utility>

#include "blink_tree/bulk_few.hpp"
#include "blink_tree/bulk_many.hpp"
#include "blink_tree/bulk_touched.hpp"
#include "blink_tree/storage.hpp"

namespace espalier::detail {

/// What the owner must know of a batch before its leaves are changed.
struct merge_verdict {
  std::uint64_t new_nodes;
  std::uint32_t many;  ///< not 0: too many elements fall into one leaf
};
struct note_new_nodes {
  const std::uint64_t* total;
  merge_verdict* to;
  ESPALIER_HD void operator()(std::size_t) const { to->new_nodes = *total; }
};

template <class Context, class Storage>
struct batch_merger;

template <class Context, class Word, unsigned V, unsigned N, upper U>
struct batch_merger<Context, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using value = typename storage::value;
  using leaf_list = typename storage::leaf_list;

  storage& tree;  ///< nobody else is at it
  Context& context;

  /// Elements numbered list[0], ..., list[n - 1] of a batch (list null: all n of it), sorted and merged into the leaves.
  /// Nobody else is at the tree. What is pointed to is in this device's memory.
  void merge(write_op op, const void* keys, const void* values, const std::uint32_t* list,
             std::size_t n, std::uint8_t* done) {
    leaf_list fresh;
    const leaf_list* leaves = &tree.listed;
    tree.leaf_nodes.refresh(context);
    if (!tree.list_is_whole) {
      fresh = tree.list_leaves(context);
      leaves = &fresh;
    }
    const std::uint64_t live = leaves->highs.size();
    buffer<std::uint32_t> places(tree.where, n, context.order());
    buffer<Word> words(tree.where, n, context.order());
    sort_batch(keys, list, n, words, places);

    bulk_batch<view_type> b{};
    b.tree = tree.view;
    b.op = op;
    b.n = n;
    b.words = words.data();
    b.place = places.data();
    b.values = values;
    b.done = done;
    b.leaves = live;
    b.highs = leaves->highs.data();
    b.by_lane = tree.list_is_whole;
    b.ids = leaves->ids.size() == 0 ? nullptr : leaves->ids.data();
    b.per_node = N * 3 / 4;
    if (!merge_touched(b)) merge_cut(b);
    tree.order_now(context);
  }
  /// By steps over all leaves.
  void merge_cut(bulk_batch<view_type> b) {
    const buffer<std::uint64_t> new_nodes(tree.where, b.leaves + 1, context.order());
    const buffer<std::uint32_t> cuts(tree.where, b.leaves + 1, context.order());
    b.cuts = cuts.data();
    b.new_nodes = new_nodes.data();
    context.for_each(b.leaves + 1, cut_batch<view_type>{b});
    context.zero(new_nodes.data() + b.leaves, 8);
    if (!merge_few(b)) merge_many(b);
  }
  /// The batch in key order, and where its elements come from.
  void sort_batch(const void* keys, const std::uint32_t* list, std::size_t n, buffer<Word>& words,
                  buffer<std::uint32_t>& places) {
    buffer<std::uint32_t> numbers(tree.where, list == nullptr ? n : 0, context.order());
    if (list == nullptr) context.for_each(n, number_places{numbers.data()});
    // Unsigned keys are words already.
    const bool plain = list == nullptr && tree.elements.key == (sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64);
    buffer<Word> encoded(tree.where, plain ? 0 : n, context.order());
    if (!plain) context.for_each(n, encode_listed<Word>{tree.elements.key, keys, list, encoded.data()});
    context.sort_from(plain ? static_cast<const Word*>(keys) : encoded.data(), words,
                      list == nullptr ? numbers.data() : list, places, n);
  }
  /// On a CPU. False, and nothing is changed: too many elements fall into one leaf.
  bool merge_touched([[maybe_unused]] bulk_batch<view_type> b) {
    if constexpr (Context::on_gpu || bulk_batch<view_type>::few == 0) {
      return false;
    } else {
      if (b.n > bulk_batch<view_type>::few * b.leaves) return false;  // without a look
      const bool brings_values = V != 0 && b.op != write_op::erase;
      const buffer<value> sorted(tree.where, brings_values ? b.n : 0, context.order());
      const buffer<std::uint8_t> positions(tree.where, b.n, context.order());
      b.sorted = sorted.data();
      b.positions = positions.data();
      touched_leaves<Context, view_type> touched(context, b);
      const auto [new_nodes, many] = touched.judge();
      if (many) return false;
      if (brings_values) context.for_each(b.n, sort_value<view_type>{b, sorted.data()});
      leaf_list after = make_new_leaves(b, new_nodes);
      touched.change(b);
      after_merge(b, std::move(after));
      return true;
    }
  }
  /// On a GPU. Likewise.
  bool merge_few([[maybe_unused]] bulk_batch<view_type> b) {
    if constexpr (!Context::on_gpu || bulk_batch<view_type>::few == 0) {
      return false;
    } else {
      const bool brings_values = V != 0 && b.op != write_op::erase;
      const buffer<value> sorted(tree.where, brings_values ? b.n : 0, context.order());
      const buffer<std::uint8_t> positions(tree.where, b.n, context.order()), changes(tree.where, b.leaves, context.order());
      const buffer<merge_verdict> verdict(tree.where, 1, context.order());
      b.sorted = sorted.data();
      b.positions = positions.data();
      b.changes = changes.data();
      context.zero(verdict.data(), sizeof(merge_verdict));
      context.for_each(b.leaves, judge_leaf<typename Context::lone_team, view_type>{b, &verdict.data()->many});
      context.exclusive_scan(b.new_nodes, b.new_nodes, b.leaves + 1);
      context.for_each(1, note_new_nodes{b.new_nodes + b.leaves, verdict.data()});
      auto letter = context.send(verdict.data());
      if (brings_values) context.for_each(b.n, sort_value<view_type>{b, sorted.data()});  // while the letter is on its way
      const auto [new_nodes, many] = letter.get();
      if (many != 0) return false;
      const buffer<std::uint32_t> splits(tree.where, new_nodes, context.order());
      b.splits = splits.data();
      leaf_list after = make_new_leaves(b, new_nodes);
      context.for_each_whole_leaf(b.leaves, change_leaf<view_type>{b});
      context.for_each_leaf(new_nodes, split_leaf<view_type>{b});
      after_merge(b, std::move(after));
      return true;
    }
  }
  void merge_many(bulk_batch<view_type> b) {
    const buffer<std::uint64_t> moved(tree.where, b.n + 1, context.order());
    const buffer<std::uint32_t> leaf(tree.where, b.n, context.order());
    const buffer<std::uint16_t> slot(tree.where, b.n, context.order()), counts(tree.where, b.leaves, context.order());
    b.moved = moved.data();
    b.leaf = leaf.data();
    b.slot = slot.data();
    b.counts = counts.data();
    context.zero(moved.data() + b.n, 8);
    context.for_each(b.n, place_element<typename Context::lone_team, view_type>{b, false});
    context.exclusive_scan(b.moved, b.moved, b.n + 1);
    context.for_each(b.leaves, count_nodes<view_type>{b});
    context.exclusive_scan(b.new_nodes, b.new_nodes, b.leaves + 1);
    leaf_list after = make_new_leaves(b, context.read(b.new_nodes + b.leaves));
    if (b.assigns()) context.for_each(b.n, place_element<typename Context::lone_team, view_type>{b, true});
    if (b.op != write_op::update) {
      context.for_each_leaf(b.leaves, move_leaf<view_type>{b});
      context.for_each(b.n, write_element<view_type>{b});
    }
    after_merge(b, std::move(after));
  }
  /// Memory for new nodes, and for the list of leaves afterwards. From here on the tree is changed.
  [[nodiscard]] leaf_list make_new_leaves(bulk_batch<view_type>& b, std::uint64_t wanted) {
    leaf_list after;
    if (wanted != 0) {
      tree.leaf_nodes.ensure_alone(context, wanted);
      tree.adopt_pools();  // nodes may have moved, and what follows may fail
      after = {buffer<Word>(tree.where, b.leaves + wanted, context.order()),
               buffer<node_id>(tree.where, b.leaves + wanted, context.order())};
      b.numbers = tree.leaf_nodes.take(context, static_cast<std::uint32_t>(wanted));
      b.after_highs = after.highs.data();
      b.after_ids = after.ids.data();
    }
    tree.adopt_pools();
    b.tree = tree.view;
    if (b.op != write_op::update) tree.ranks_are_known = false;
    if (wanted != 0) tree.list_is_whole = false;
    return after;
  }
  void after_merge(const bulk_batch<view_type>& b, leaf_list&& after) {
    tree.lent = false;
    const std::uint64_t leaves = after.highs.size() == 0 ? b.leaves : after.highs.size();
    tree.known_leaves = leaves;
    if (b.op == write_op::erase) {
      tree.erased += b.n;
      if (tree.looks_now()) tree.tidy_if_there_is_memory(context);
    } else if (leaves != b.leaves) {
      try {
        auto made = tree.make_upper(context, tree.view, std::move(after));
        const std::uint64_t erased = tree.erased;
        tree.adopt(std::move(made), leaves);
        tree.erased = erased;  // dead leaves wait for a tidy() still
      } catch (const out_of_memory&) {
        tree.stale += leaves - b.leaves;  // the lane that there was still leads to every leaf, by links
      }
    }
  }
};

}  // namespace espalier::detail
