// merge.hpp - sorts a batch and merges it into the leaves (bulk.hpp has the steps), and updates the inner levels.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>

#include "blink_tree/batch_order.hpp"
#include "blink_tree/bulk_append.hpp"
#include "blink_tree/bulk_runs.hpp"
#include "blink_tree/device_append.hpp"
#include "blink_tree/merge_by_leaf.hpp"
#include "blink_tree/merge_touched_leaves.hpp"
#include "blink_tree/storage.hpp"

namespace espalier::detail {

/// Totals of a batch that the owner needs before its leaves are changed.
struct merge_totals {
  std::uint64_t all;    ///< encoded by bulk_batch::encode
  std::uint64_t heavy;  ///< new nodes of heavy leaves
  std::uint64_t moved;  ///< new elements of heavy leaves
};
struct note_totals {
  const std::uint64_t* all;
  const std::uint64_t* heavy;  ///< null if there are no heavy leaves
  const std::uint64_t* moved;
  merge_totals* to;
  ESPALIER_HD void operator()(std::size_t) const {
    *to = {*all, heavy == nullptr ? 0 : *heavy, heavy == nullptr ? 0 : *moved};
  }
};

/// Leaves [first, last] contain the range of a sorted batch.
struct leaf_span {
  std::uint64_t first, last;
};
template <class Word>
struct find_span {
  const Word* highs;
  std::uint64_t leaves;
  const Word* words;
  std::uint64_t n;
  leaf_span* to;
  ESPALIER_HD void operator()(std::size_t) const {
    // The last leaf has the largest word as high key.
    *to = {first_not_below(highs, 0, leaves - 1, words[0]), first_not_below(highs, 0, leaves - 1, words[n - 1])};
  }
};

template <class Context, class Storage>
struct batch_merger;

template <class Context, class Word, unsigned V, unsigned N, inner_index U>
struct batch_merger<Context, blink_storage<Context, Word, V, N, U>> {
  using storage = blink_storage<Context, Word, V, N, U>;
  using view_type = typename storage::view_type;
  using value = typename storage::value;
  using leaf_list = typename storage::leaf_list;
  using batch = bulk_batch<view_type>;
  using single_thread_team = typename Context::single_thread_team;
  /// Whether light leaves have separate steps here. A CPU has merge_touched() for batches that consist only of light
  /// leaves.
  static constexpr bool light_steps = Context::on_gpu && batch::few != 0;

  storage& tree;  ///< no other operation is in progress
  Context& context;
  bool lazy = false;  ///< the rebuild of inner levels may be deferred until an operation other than a merge needs them

  /// Sorts elements numbered list[0], ..., list[n - 1] of a batch (all n if list is null) and merges them into the
  /// leaves. Precondition: no other operation is in progress. All pointers refer to memory of this device.
  void merge(write_op op, const void* keys, const void* values, const std::uint32_t* list, std::size_t n,
             std::uint8_t* done) {
    tree.refresh_pools(context);
    if (list == nullptr && fill_empty(op, keys, values, n, done)) return;
    leaf_list fresh;
    const leaf_list* leaves = &tree.listed;
    std::uint64_t live = tree.listed.highs.size();
    if (tree.pending.size != 0 && tree.pending_is_whole) {
      tree.gather_pending(context);
      leaves = &tree.pending.list;
      live = tree.pending.size;
    } else if (!tree.leaf_list_is_current) {
      fresh = tree.list_leaves(context);
      leaves = &fresh;
      live = fresh.highs.size();
    }
    const ordered_batch<Word> ordered(context, tree.elements.key, keys, list, n);
    batch b{};
    b.tree = tree.view;
    b.op = op;
    b.n = n;
    b.words = ordered.words();
    b.place = ordered.places();
    b.values = values;
    b.done = done;
    b.leaves = live;
    b.highs = leaves->highs.data();
    b.ids = leaves->ids.size() == 0 ? nullptr : leaves->ids.data();
    b.per_node = N * 3 / 4;
    if (done != nullptr && list == nullptr) context.zero(done, n);
    const known_list before{*leaves, live};
    if (!merge_touched(b, before)) merge_span(b, before);
    tree.sync_if_gpu(context);
  }

  /// Appends a batch of ascending keys after the last key of the tree: a copy to new leaves. Returns false, with
  /// nothing changed, if it is not such a batch.
  bool append(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
    const bool inserts = op == write_op::insert || op == write_op::insert_or_assign;
    const bool known = tree.pending.size != 0 ? tree.pending_is_whole : tree.leaf_list_is_current;
    if (!inserts || !known) return false;
    tree.refresh_pools(context);
    if constexpr (Context::on_gpu) {
      return may_append(tree, n) && append_on_device(keys, values, n, done);
    } else {
      const node_id last = last_listed();
      appended_batch<view_type> b{tree.view, keys, values, n};
      node_head<Word> head = head_of(last);
      if (!b.is_after_last(last, head) || !context.may_ascend(tree.elements.key, keys, n)) return false;
      const auto room = static_cast<unsigned>(std::min<std::uint64_t>(N - head.count, n));
      const std::uint64_t wanted = (n - room + N - 1) / N;
      if (!b.ascends(0, room)) return false;
      if (wanted != 0 && !append_leaves(b, last, room, wanted)) return false;
      tree.ranks_are_known = false;
      b.fill_up(last, head, room, wanted == 0 ? no_node : tree.leaf_nodes.next(1)[0]);
      if (done != nullptr) context.fill(done, 1, n);
      tree.has_live_refs = false;
      tree.count_changed(static_cast<std::int64_t>(n));
      if (wanted != 0) end_append(wanted);
      return true;
    }
  }

  /// On a GPU: returns whether a batch of n elements could be an append. Beyond some size a merge costs hardly more.
  [[nodiscard]] static bool may_append(const storage& tree, std::size_t n) {
    constexpr std::size_t most = std::size_t{1} << 20;
    return (tree.pending.size != 0 ? tree.pending_is_whole : tree.leaf_list_is_current) && !tree.has_live_refs &&
           n <= most;
  }
  /// Enqueues the check whether it is an append; `plan`, zero before, receives the result. Requires may_append().
  void look_for_append(const void* keys, std::size_t n, append_plan<Word>* plan) {
    const auto& to = tree.pending;
    const leaf_list& list = to.size != 0 ? to.list : tree.listed;
    const std::uint64_t last = (to.size != 0 ? to.size - to.shared : list.highs.size()) - 1;
    device_append<view_type> a{};
    a.tree = tree.view;
    a.keys = keys;
    a.n = n;
    a.last_id = list.ids.size() == 0 ? nullptr : list.ids.data() + last;
    a.last = static_cast<node_id>(last);
    a.plan = plan;
    context.for_each(n, check_append<view_type>{a});
  }

 private:
  /// Nodes for at most `most` leaves after the last one, and entries for them in the list of leaves. No visible change
  /// is made.
  struct append_room {
    leaf_list more;        ///< if empty, entries are added in place
    std::uint64_t before;  ///< entries of the list; the last one is that of the last leaf
    new_numbers numbers;
  };
  [[nodiscard]] append_room room_behind(std::uint64_t most) {
    tree.leaf_nodes.ensure(context, most, true);
    tree.install_pools();  // nodes may have moved, and the following steps may fail
    const auto& to = tree.pending;
    append_room room;
    room.before = to.size != 0 ? to.size - to.shared : 1;  // entries that are not in `listed`
    if (to.size == 0 || room.before + most > to.list.highs.size()) {
      const std::uint64_t entries = room.before + most + (room.before + most) / 4;
      room.more = {buffer<Word>(tree.dev, entries, context.order()),
                   buffer<node_id>(tree.dev, entries, context.order())};
      if (to.size != 0) tree.copy_entries(context, to.list, 0, room.before, room.more, 0);
    }
    room.numbers = tree.leaf_nodes.next(static_cast<std::uint32_t>(most));
    return room;
  }
  [[nodiscard]] const leaf_list& list_of(const append_room& room) const {
    return room.more.highs.size() == 0 ? tree.pending.list : room.more;
  }
  /// Publishes the entries of added leaves.
  void keep_entries(append_room&& room) {
    if (room.more.highs.size() == 0) return;
    auto& to = tree.pending;
    if (to.size == 0) to.shared = tree.listed.highs.size() - 1;
    to.list = std::move(room.more);
  }
  [[nodiscard]] bool append_on_device(const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
    append_room room = room_behind((n + N - 1) / N);
    const leaf_list& list = list_of(room);
    const buffer<append_plan<Word>> plan(tree.dev, 1, context.order());
    context.zero(plan.data(), sizeof(append_plan<Word>));
    look_for_append(keys, n, plan.data());
    device_append<view_type> a{};
    a.tree = tree.view;
    a.keys = keys;
    a.values = values;
    a.done = done;
    a.n = n;
    a.numbers = room.numbers;
    a.highs = list.highs.data() + room.before - 1;
    a.ids = list.ids.data() + room.before - 1;
    a.plan = plan.data();
    context.for_each(n, write_append<view_type>{a});
    const append_plan<Word> made = context.read(plan.data());
    tree.appends = made.refused == 0;
    if (!tree.appends) return false;
    tree.append_misses = 0;
    tree.ranks_are_known = false;
    tree.count_changed(static_cast<std::int64_t>(n));
    if (made.leaves == 0) return true;
    keep_entries(std::move(room));
    end_append(made.leaves);
    return true;
  }
  [[nodiscard]] node_id last_listed() const {
    const bool waiting = tree.pending.size != 0;
    const leaf_list& list = waiting ? tree.pending.list : tree.listed;
    const std::uint64_t at = (waiting ? tree.pending.size - tree.pending.shared : list.highs.size()) - 1;
    return list.ids.size() == 0 ? static_cast<node_id>(at) : list.ids.data()[at];
  }
  [[nodiscard]] node_head<Word> head_of(node_id leaf) const {
    using reader = node_reader<single_thread_team, own_reads, typename view_type::leaf_shape>;
    return reader::head_alone(single_thread_team{}, tree.view.leaf(leaf));
  }
  /// Writes the leaves of an appended batch, to which no link leads yet, and their entries in the list. Returns false
  /// if keys do not ascend.
  bool append_leaves(appended_batch<view_type>& b, node_id last, unsigned room, std::uint64_t wanted) {
    append_room to = room_behind(wanted);
    b.tree = tree.view;  // nodes may have moved, including the last leaf
    const leaf_list& list = list_of(to);
    list.ids.data()[to.before - 1] = last;
    std::atomic<bool> ascends = true;
    context.for_each(wanted, write_appended<view_type>{b, room, wanted, to.numbers, list.highs.data() + to.before,
                                                       list.ids.data() + to.before, &ascends});
    if (!ascends) {
      b.bury(to.numbers);
      return false;
    }
    list.highs.data()[to.before - 1] = room == 0 ? b.last_key(last) : b.word_at(room - 1);
    keep_entries(std::move(to));
    return true;
  }
  void end_append(std::uint64_t wanted) {
    static_cast<void>(tree.leaf_nodes.take(context, static_cast<std::uint32_t>(wanted)));
    tree.install_pools();
    const std::uint64_t before = tree.pending.size != 0 ? tree.pending.size : tree.listed.highs.size();
    tree.lists_end();
    tree.pending.size = tree.leaves_at_rebuild = before + wanted;
    tree.pending_is_whole = true;
    if (!waits(before, before + wanted)) tree.settle(context);
  }
  /// Live leaves before the merge.
  struct known_list {
    const leaf_list& entries;
    std::uint64_t size;
  };
  /// Live leaves after the merge; size 0 means that they are the same.
  struct next_list {
    leaf_list entries;  ///< if empty, they are in the memory of tree.pending
    std::uint64_t size = 0;
  };

  /// Builds a tree from the batch if the tree is empty. Returns false if the tree has elements, or if the caller
  /// requests which of equal keys were inserted.
  bool fill_empty(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done) {
    constexpr std::size_t least = 4 * N;  // below this a merge into the single leaf is equivalent
    if (op == write_op::update || op == write_op::erase || tree.has_live_refs || n < least || !tree.is_empty(context))
      return false;
    const auto which = op == write_op::insert ? equal_keys::keep_first : equal_keys::keep_last;
    const auto sorted = tree.sort_pairs(context, keys, values, n, which);
    if (done != nullptr) {
      if (sorted.n != n) return false;
      context.fill(done, 1, n);
    }
    tree.make_tree(context, sorted.words, sorted.values, sorted.n);
    return true;
  }

  /// CPU only. Returns false, with nothing changed, if too many elements fall into one leaf.
  bool merge_touched([[maybe_unused]] batch b, [[maybe_unused]] const known_list& list) {
    if constexpr (Context::on_gpu || batch::few == 0) {
      return false;
    } else {
      const leaf_span span = span_of(b);
      if (b.n > batch::few * (span.last - span.first + 1)) return false;  // decided without examining the leaves
      const bool brings_values = V != 0 && b.op != write_op::erase;
      const buffer<value> sorted(tree.dev, brings_values ? b.n : 0, context.order());
      const buffer<std::uint8_t> positions(tree.dev, b.n, context.order());
      b.sorted = sorted.data();
      b.positions = positions.data();
      touched_leaves<Context, view_type> touched(context, b);
      const auto [new_nodes, emptied, changed, heavy] = touched.judge();
      if (heavy) return false;
      if (brings_values) context.for_each(b.n, sort_value<view_type>{b, sorted.data()});
      next_list after = make_new_leaves(b, new_nodes, list, {0, b.leaves - 1});
      touched.change(b);
      after_merge(b, list, std::move(after), emptied, changed);
      return true;
    }
  }

  [[nodiscard]] leaf_span span_of(const batch& b) {
    const buffer<leaf_span> found(tree.dev, 1, context.order());
    context.for_each(1, find_span<Word>{b.highs, b.leaves, b.words, b.n, found.data()});
    return context.read(found.data());
  }
  /// Executes the steps over the leaves that the batch falls into, and those between them.
  void merge_span(batch b, const known_list& list) {
    const leaf_span span = span_of(b);
    b.leaves = span.last - span.first + 1;
    b.highs += span.first;
    b.first_id = static_cast<node_id>(span.first);
    if (b.ids != nullptr) b.ids += span.first;
    const buffer<std::uint64_t> new_nodes(tree.dev, b.leaves + 1, context.order());
    const buffer<std::uint32_t> cuts(tree.dev, b.leaves + 1, context.order());
    b.cuts = cuts.data();
    b.new_nodes = new_nodes.data();
    context.for_each(b.leaves + 1, cut_batch<view_type>{b});
    context.zero(new_nodes.data() + b.leaves, 8);
    merge_cut(b, list, span);
  }
  void merge_cut(batch b, const known_list& list, leaf_span span) {
    constexpr unsigned least = light_steps ? batch::few + 1 : 1;  // elements of a heavy leaf
    const std::uint64_t most_heavy = std::min<std::uint64_t>(b.n / least, b.leaves);
    const buffer<std::uint32_t> heavy_leaves(tree.dev, most_heavy, context.order());
    const buffer<std::uint64_t> heavy_elements(tree.dev, most_heavy + 1, context.order());
    const buffer<heavy_list::total> heavy_size(tree.dev, 1, context.order());
    const buffer<std::uint8_t> positions(tree.dev, light_steps ? b.n : 0, context.order());
    const buffer<std::uint8_t> changes(tree.dev, light_steps ? b.leaves : 0, context.order());
    b.heavy = {heavy_leaves.data(), heavy_elements.data(), heavy_size.data()};
    b.positions = positions.data();
    b.changes = changes.data();
    context.zero(heavy_size.data(), sizeof(heavy_list::total));
    if constexpr (light_steps) {
      context.for_each(b.leaves, judge_leaf<single_thread_team, view_type>{b});
    } else {
      context.for_each(b.leaves, list_run<view_type>{b});
    }
    const heavy_list::total heavy = context.read(heavy_size.data());
    const buffer<std::uint64_t> moved(tree.dev, heavy.leaves == 0 ? 0 : std::uint64_t{heavy.elements} + 1,
                                      context.order());
    const buffer<std::uint64_t> more(tree.dev, heavy.leaves == 0 ? 0 : std::uint64_t{heavy.leaves} + 1,
                                     context.order());
    leaf_runs<view_type> r{b, heavy.leaves, heavy_elements.data(), moved.data(), more.data(), nullptr, nullptr};
    if (heavy.leaves != 0) judge_runs(r, heavy);
    context.exclusive_scan(b.new_nodes, b.new_nodes, b.leaves + 1);
    const buffer<merge_totals> noted(tree.dev, 1, context.order());
    context.for_each(1, note_totals{b.new_nodes + b.leaves, heavy.leaves == 0 ? nullptr : more.data() + heavy.leaves,
                                    heavy.leaves == 0 ? nullptr : moved.data() + heavy.elements, noted.data()});
    auto readback = context.read_async(noted.data());
    // Gathers values of light leaves while the totals are being read back.
    const bool brings_values = V != 0 && b.op != write_op::erase;
    const bool any_light = light_steps && heavy.elements != b.n;
    const bool as_they_are = b.op == write_op::insert && values_are_sorted(b);
    const buffer<value> sorted(tree.dev, brings_values && any_light && !as_they_are ? b.n : 0, context.order());
    b.sorted = as_they_are ? static_cast<const value*>(b.values) : sorted.data();
    if (sorted.size() != 0) context.for_each(b.n, sort_value<view_type>{b, sorted.data()});
    const merge_totals totals = readback.get();
    const std::uint64_t low = totals.all & 0xffffffffu;
    const std::uint64_t new_nodes = b.op == write_op::erase ? 0 : low, emptied = b.op == write_op::erase ? low : 0;
    const bool inserts = b.op == write_op::insert || b.op == write_op::insert_or_assign;
    // A single run whose elements are all new equals the batch.
    const bool direct = heavy.leaves == 1 && totals.moved == b.n && values_are_sorted(b);
    const std::uint64_t gathered = inserts && heavy.leaves != 0 && !direct ? totals.moved : 0;
    const buffer<Word> new_words(tree.dev, gathered, context.order());
    const buffer<value> new_values(tree.dev, V == 0 ? 0 : gathered, context.order());
    r.new_words = direct ? b.words : new_words.data();
    r.new_values = direct ? static_cast<const value*>(b.values) : new_values.data();
    if (gathered != 0)
      for_each_element_of_runs(context, heavy.elements,
                               gather_elements<view_type>{r, new_words.data(), new_values.data()});
    const buffer<std::uint32_t> splits(tree.dev, any_light ? new_nodes : 0, context.order());
    b.splits = splits.data();
    if (splits.size() != 0 && totals.heavy != 0) context.fill(splits.data(), 0xff, splits.bytes());
    next_list after = make_new_leaves(b, new_nodes, list, span);
    r.b = b;
    if constexpr (light_steps) {
      if (any_light || after.size != 0) context.for_each_whole_leaf(b.leaves, change_leaf<view_type>{b});
      if (totals.heavy != new_nodes) context.for_each_leaf(new_nodes, split_leaf<view_type>{b});
    } else if (after.size != 0) {
      context.for_each(b.leaves, list_untouched<single_thread_team, view_type>{b});
    }
    if (heavy.leaves != 0) change_runs(r, totals.heavy);
    after_merge(b, list, std::move(after), emptied, totals.all >> 32);
  }
  /// Determines which elements of heavy leaves are new, and the nodes that those leaves need. Changes nothing.
  void judge_runs(const leaf_runs<view_type>& r, const heavy_list::total& heavy) {
    context.zero(r.b.heavy.elements + heavy.leaves, 8);
    context.exclusive_scan(r.b.heavy.elements, r.b.heavy.elements, heavy.leaves + 1);
    context.zero(r.moved + heavy.elements, 8);
    for_each_element_of_runs(context, heavy.elements, judge_elements<single_thread_team, view_type>{r});
    context.exclusive_scan(r.moved, r.moved, std::uint64_t{heavy.elements} + 1);
    context.zero(r.more + heavy.leaves, 8);
    context.for_each(heavy.leaves, count_run<view_type>{r});
    context.exclusive_scan(r.more, r.more, heavy.leaves + 1);
  }
  void change_runs(const leaf_runs<view_type>& r, std::uint64_t new_nodes) {
    if (r.b.assigns()) context.for_each_leaf(r.runs, assign_run<view_type>{r});
    if (r.b.op == write_op::erase) {
      context.for_each_leaf(r.runs, erase_run<view_type>{r});
    } else if (r.b.op != write_op::update) {
      context.for_each_leaf(new_nodes, write_new_node<view_type>{{r}});
      context.for_each_leaf(r.runs, write_first_node<view_type>{{r}});
    }
  }
  /// Returns whether the caller's values can be read like those of a sorted batch.
  [[nodiscard]] bool values_are_sorted(const batch& b) const {
    return b.place == nullptr && (V == 0 || (tree.elements.value_bytes == V &&
                                             reinterpret_cast<std::uintptr_t>(b.values) % alignof(value) == 0));
  }

  /// Allocates new nodes and the list of leaves after the merge, and writes its entries outside of the span. The tree
  /// is changed from here on.
  [[nodiscard]] next_list make_new_leaves(batch& b, std::uint64_t wanted, const known_list& list, leaf_span span) {
    next_list after;
    if (wanted != 0) {
      tree.leaf_nodes.ensure(context, wanted, true);
      tree.install_pools();  // nodes may have moved, and the following steps may fail
      after.size = list.size + wanted;
      const bool at_end = span.last + 1 == list.size;
      tree.appends = at_end && span.first == span.last;
      if (tree.appends) tree.append_misses = 0;
      // Entries after the last leaf are added in place. None of the steps that write them reads the old high key.
      const bool in_place = &list.entries == &tree.pending.list && at_end && span.first == span.last &&
                            after.size <= list.entries.highs.size();
      if (!in_place) {
        const std::uint64_t room = after.size + (waits(list.size, after.size) && at_end ? after.size / 16 : 0);
        after.entries = {buffer<Word>(tree.dev, room, context.order()),
                         buffer<node_id>(tree.dev, room, context.order())};
        tree.copy_entries(context, list.entries, 0, span.first, after.entries, 0);
        tree.copy_entries(context, list.entries, span.last + 1, list.size - span.last - 1, after.entries,
                          span.last + 1 + wanted);
      }
      const leaf_list& to = in_place ? tree.pending.list : after.entries;
      b.numbers = tree.leaf_nodes.take(context, static_cast<std::uint32_t>(wanted));
      b.after_highs = to.highs.data() + span.first;
      b.after_ids = to.ids.data() + span.first;
    }
    tree.install_pools();
    b.tree = tree.view;
    if (b.op != write_op::update) tree.ranks_are_known = false;
    if (wanted != 0) tree.lists_end();  // until after_merge()
    return after;
  }
  /// `emptied` is the number of leaves that an erase left empty; `changed` is the number of inserted or erased
  /// elements.
  void after_merge(const batch& b, const known_list& list, next_list&& after, std::uint64_t emptied,
                   std::uint64_t changed) {
    tree.has_live_refs = false;
    const auto n = static_cast<std::int64_t>(changed);
    tree.count_changed(b.op == write_op::erase ? -n : n);
    const std::uint64_t before = list.size, leaves = after.size == 0 ? before : after.size;
    tree.leaves_at_rebuild = leaves;
    if (b.op == write_op::erase) {
      // Examining all leaves finds nothing to do while none is empty and the average fill is sufficient.
      const bool full_enough = tree.count_is_known() && !tree.is_too_empty(leaves, tree.count());
      if (emptied != 0 || !full_enough) tree.erased += b.n;
      if (tree.looks_now()) tree.rebuild_inner_if_memory_allows(context);
      return;
    }
    if (after.size == 0) return;
    if (after.entries.highs.size() != 0) tree.pending.list = std::move(after.entries);
    tree.pending.size = leaves;
    tree.pending.shared = 0;  // a concurrent writer may have invalidated a list that was not complete
    tree.pending_is_whole = true;
    if (!waits(before, leaves)) tree.settle(context);
  }
  /// Returns whether the rebuild of the inner levels is deferred after a merge that adds leaves.
  [[nodiscard]] bool waits(std::uint64_t before, std::uint64_t after) const {
    return lazy && tree.view.lane.size != 0 && (after - before) * 2 <= after;
  }
};

}  // namespace espalier::detail
