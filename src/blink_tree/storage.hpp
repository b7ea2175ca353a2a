// storage.hpp - the data of a B-link tree on one kind of device and its construction: nodes, inner levels, and the
// owner's statistics about them. Callers have exclusive access unless a comment states otherwise.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "blink_tree/batch_order.hpp"
#include "blink_tree/build_kernels.hpp"
#include "blink_tree/pool.hpp"
#include "blink_tree/tally.hpp"
#include "device/staging.hpp"
#include "device/with_memory.hpp"
#include "espalier/blink_tree/index.hpp"
#include "static_tree/build.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned V, unsigned N, inner_index U>
struct blink_storage {
  using view_type = blink_view<Word, V, N>;
  using shape_type = typename view_type::leaf_shape;
  using inner_shape = typename view_type::inner_shape;
  using value = typename shape_type::value;
  using lane_storage = tree_storage<Word, external_keys>;
  using input = staged_input<Context>;

  struct pairs {
    buffer<Word> words;
    buffer<value> values;
  };
  struct leaf_list {
    buffer<Word> highs;
    buffer<node_id> ids;  ///< if empty, numbered in key order
  };

  blink_storage(const device& on, element_type type, const blink_options& wishes)
      : dev(on), elements(type), options(wishes) {
    view.key = type.key;
    view.value = type.value;
    view.value_bytes = type.value_bytes;
  }

  device dev;
  element_type elements;
  blink_options options;
  node_pool leaf_nodes, inner_nodes;
  leaf_list listed;  ///< the list that the lane was built from
  lane_storage lane;
  view_type view;
  std::uint64_t leaves_at_rebuild = 0;     ///< at the last rebuild of the inner levels
  std::uint64_t leaves_since_rebuild = 0;  ///< leaves made since then
  std::uint64_t erased = 0;                ///< elements requested to be erased since then
  std::size_t lane_builds = 0;
  std::atomic<bool> leaf_list_is_current = false;  ///< `listed` names exactly the live leaves
  /// Live leaves after merges that did not rebuild the lane: a sequence of appended batches does not pay for a lane
  /// that no read uses. settle() builds it.
  struct pending_leaves {
    leaf_list list;  ///< has spare capacity
    std::uint64_t size = 0;
    std::uint64_t shared = 0;  ///< number of first entries, which are those of `listed`; `list` has the others
  };
  pending_leaves pending;
  std::atomic<bool> pending_is_whole = false;  ///< no leaf was added or removed since
  buffer<std::uint64_t> rank_bases;            ///< ranks of `listed`, on a GPU (node.hpp, leaf_ranks)
  buffer<std::uint32_t> ranks_beyond;
  std::atomic<bool> ranks_are_known = false;
  bool appends = false;           ///< the last merged batch was after all keys
  unsigned append_misses = 0;     ///< consecutive batches that were checked for an append in vain
  unsigned ascending_misses = 0;  ///< the same for batches that only one kernel would write if their keys ascended
  /// Small batches may have made chains of leaves that the lane does not name, but the inner nodes do.
  std::atomic<bool> has_posted_leaves = false;
  /// A ref may be in use: nothing is rebuilt, moved or recycled unless requested.
  std::atomic<bool> has_live_refs = false;

  /// Called before a write on a GPU: memory that it replaces is freed after its own steps, not in the stream that
  /// allocated it. All other uses of the memory come before (access_gate.hpp).
  void set_stream([[maybe_unused]] const stream& s) {
    if constexpr (Context::on_gpu) {
      if (tied_ == s.state()) return;
      leaf_nodes.set_stream(s);
      inner_nodes.set_stream(s);
      listed.highs.set_stream(s);
      listed.ids.set_stream(s);
      pending.list.highs.set_stream(s);
      pending.list.ids.set_stream(s);
      lane.set_stream(s);
      rank_bases.set_stream(s);
      ranks_beyond.set_stream(s);
      tied_ = s.state();
    }
  }

  // ---- number of elements ---------------------------------------------------------------------------------
  // The count is known while every write reports what it changed. Refs do not report, so it is unknown while
  // has_live_refs is set. A write reports inside the lock under which it made the change: the next exclusive operation
  // counts each element once.
  void count_is(std::uint64_t elements_now) {
    count_ = static_cast<std::int64_t>(elements_now);
    count_is_known_ = !has_live_refs;
  }
  void count_changed(std::int64_t delta) { count_ += delta; }
  void count_unknown() { count_is_known_ = false; }
  [[nodiscard]] bool count_is_known() const { return count_is_known_; }
  /// Concurrent writers report when they are done: meanwhile an erase may be counted before the insert.
  [[nodiscard]] std::uint64_t count() const {
    const std::int64_t n = count_.load();
    return n < 0 ? 0 : static_cast<std::uint64_t>(n);
  }
  /// Counts the leaves themselves. Precondition: no other operation is in progress.
  [[nodiscard]] live_counts count_leaves(Context& context) {
    refresh_pools(context);
    const live_counts live = count_live(context, view, leaf_nodes.high_water());
    count_is(live.elements);
    return live;
  }

  /// Below this number a lane does not pay for its memory: one or two levels of inner nodes are as good.
  static constexpr std::uint64_t least_lane_leaves = 64;

  [[nodiscard]] unsigned key_bytes() const { return bytes_of(elements.key); }
  [[nodiscard]] std::size_t lane_bytes() const {
    return lane.headers.bytes() + lane.cells.bytes() + lane.subtables.bytes() + listed.highs.bytes() +
           listed.ids.bytes() + pending.list.highs.bytes() + pending.list.ids.bytes() + rank_bases.bytes() +
           ranks_beyond.bytes();
  }
  /// Number of leaves that n inserts are likely to make at once; more are reserved when inserts are refused.
  [[nodiscard]] static std::uint64_t likely_new_leaves(std::uint64_t n) { return n / (N / 2) + 64; }
  /// In the worst case every insert splits a full leaf, and each new leaf then takes half a leaf of inserts.
  [[nodiscard]] std::uint64_t most_new_leaves(std::uint64_t n) const {
    return std::min<std::uint64_t>(n, leaves_at_rebuild + leaves_since_rebuild + 1) + n / (N / 2) + 2;
  }
  [[nodiscard]] static std::uint64_t most_new_inners(std::uint64_t n) { return n / (N / 4) + 64; }
  static void sync_if_gpu(Context& context) {
    if constexpr (Context::on_gpu) context.order().synchronize();
  }

  // ---- loading and storing elements ------------------------------------------------------------------------
  [[nodiscard]] buffer<Word> load_words(Context& context, const void* keys, std::size_t n) const {
    const input in(context, keys, n * key_bytes());
    buffer<Word> words(dev, n, context.order());
    context.for_each(n, encode_key<Word>{elements.key, in.data(), words.data()});
    return words;
  }
  [[nodiscard]] buffer<value> load_values(Context& context, const void* values, std::size_t n) const {
    if constexpr (V == 0) {
      return {};
    } else {
      const input in(context, values, n * elements.value_bytes);
      buffer<value> slots(dev, n, context.order());
      if (elements.value_bytes == V) {
        context.copy(slots.data(), in.data(), n * V);
      } else {
        context.for_each(
            n, widen_value<V>{static_cast<const unsigned char*>(in.data()), elements.value_bytes, slots.data()});
      }
      return slots;
    }
  }
  /// Pairs in key order with unique keys: the caller's memory, or memory of this object.
  struct sorted_pairs {
    const Word* words = nullptr;
    const value* values = nullptr;
    std::size_t n = 0;
    pairs memory;
  };
  /// Returns whether values can be read from the caller's memory directly.
  [[nodiscard]] bool are_slots(const void* values) const {
    return elements.value_bytes == V && dev.is_local(values) &&
           reinterpret_cast<std::uintptr_t>(values) % alignof(value) == 0;
  }
  [[nodiscard]] bool are_words(const void* keys) const {
    return elements.key == (sizeof(Word) == 4 ? scalar_kind::u32 : scalar_kind::u64) && dev.is_local(keys);
  }
  [[nodiscard]] sorted_pairs sort_pairs(Context& context, const void* keys, const void* values, std::size_t n,
                                        equal_keys which) const {
    sorted_pairs sorted;
    if (n == 0) return sorted;
    sorted.n = n;
    pairs loaded;
    if (!are_words(keys)) loaded.words = load_words(context, keys, n);
    if (V != 0 && !are_slots(values)) loaded.values = load_values(context, values, n);
    sorted.words = are_words(keys) ? static_cast<const Word*>(keys) : loaded.words.data();
    if constexpr (V != 0) sorted.values = are_slots(values) ? static_cast<const value*>(values) : loaded.values.data();
    auto shape = shape_of_batch(context, sorted.words, n);
    if (shape.descends != 0) {
      pairs moved{buffer<Word>(dev, n, context.order()), buffer<value>(dev, V == 0 ? 0 : n, context.order())};
      context.sort_from(sorted.words, moved.words, sorted.values, moved.values, n, shape.begin_bit(), shape.end_bit());
      loaded = std::move(moved);
      sorted.words = loaded.words.data();
      sorted.values = loaded.values.data();
      shape = shape_of_batch(context, sorted.words, n);
    }
    sorted.memory = std::move(loaded);
    if (shape.repeats != 0) keep_one_of_each(context, sorted, which);
    return sorted;
  }
  void keep_one_of_each(Context& context, sorted_pairs& sorted, equal_keys which) const {
    const std::size_t n = sorted.n;
    buffer<std::uint64_t> ranks(dev, n + 1, context.order());
    context.zero(ranks.data() + n, 8);
    context.for_each(n, mark_one_of_run<Word>{sorted.words, n, which, ranks.data()});
    context.exclusive_scan(ranks.data(), ranks.data(), n + 1);
    const std::uint64_t distinct = context.read(ranks.data() + n);
    pairs kept{buffer<Word>(dev, distinct, context.order()),
               buffer<value>(dev, V == 0 ? 0 : distinct, context.order())};
    context.for_each(n, keep_marked<Word, value>{sorted.words, V == 0 ? nullptr : sorted.values, ranks.data(),
                                                 kept.words.data(), kept.values.data()});
    sorted.memory = std::move(kept);
    sorted.words = sorted.memory.words.data();
    sorted.values = sorted.memory.values.data();
    sorted.n = distinct;
  }
  /// Requires refresh_pools().
  [[nodiscard]] bool is_empty(Context& context) {
    if (leaves_at_rebuild != 1 || leaf_nodes.high_water() != 1) return false;
    node_head<Word> h;
    h.set_info(context.read(view.leaf(view_type::first_leaf).info()));
    return h.count == 0;
  }

  // ---- construction ----------------------------------------------------------------------------------------
  /// Number of elements that a build puts into a leaf.
  [[nodiscard]] std::uint32_t per_leaf() const {
    return static_cast<std::uint32_t>(std::clamp(options.fill * N + 0.5, 1.0, double{N}));
  }
  /// Replaces the contents by a tree of n sorted elements.
  void make_tree(Context& context, const Word* words, const value* values, std::size_t n) {
    const std::uint64_t count = std::max<std::uint64_t>(1, (n + per_leaf() - 1) / per_leaf());
    node_pool leaves(context, shape_type::bytes, std::max<std::uint64_t>(count + count / 16, 64),
                     static_cast<std::uint32_t>(count), allocation_hint::leaves);
    view_type t = view;
    t.leaves = leaves.view();
    leaf_list list;
    list.highs = buffer<Word>(dev, count, context.order());
    using leaf_writer = write_leaves<view_type>;
    context.for_each(
        Context::on_gpu ? count * leaf_writer::units : count,
        leaf_writer{t, words, values, n, static_cast<std::uint32_t>(count), per_leaf(), list.highs.data()});
    upper_levels made = make_upper(context, t, std::move(list));
    leaf_nodes = std::move(leaves);
    install(std::move(made), count);
    appends = false;
    append_misses = 0;
    count_is(n);
    sync_if_gpu(context);  // the caller's buffers may be released now
  }

  /// The inner levels.
  struct upper_levels {
    leaf_list list;
    lane_storage lane;
    node_pool inners;
    unsigned height = 2;
  };
  [[nodiscard]] upper_levels make_upper(Context& context, view_type t, leaf_list&& list) {
    upper_levels made;
    made.list = std::move(list);
    const std::uint64_t count = made.list.highs.size();
    if (U == inner_index::express_lane && count >= least_lane_leaves) {
      build_options none;
      made.lane = builder<Context, Word, external_keys>(context, elements, none).over(made.list.highs.data(), count);
      make_inner(context, t, made, 1);
    } else {
      make_inner(context, t, made, count);
    }
    return made;
  }
  /// Builds inner nodes over the first `count` leaves in key order; leaves to the right of the last one are reached by
  /// links.
  void make_inner(Context& context, view_type t, upper_levels& made, std::uint64_t count) {
    constexpr std::uint32_t per_node = N * 3 / 4;
    std::vector<std::uint64_t> sizes;
    std::uint64_t total = 0;
    for (std::uint64_t n = count; n != 1 || sizes.empty(); total += n)
      sizes.push_back(n = (n + per_node - 1) / per_node);
    made.inners = node_pool(context, inner_shape::bytes, std::max<std::uint64_t>(total + total / 16, 64),
                            static_cast<std::uint32_t>(total));
    t.inners = made.inners.view();
    made.height = static_cast<unsigned>(sizes.size()) + 1;
    buffer<Word> lows(dev, count, context.order());
    context.for_each(count, low_from_highs<Word>{made.list.highs.data(), lows.data()});
    std::uint64_t below = count;
    node_id first = static_cast<node_id>(total), first_below = 0;
    for (std::uint32_t level = 1; level <= sizes.size(); ++level) {
      const std::uint64_t nodes = sizes[level - 1];
      first -= static_cast<node_id>(nodes);  // the root is number 0
      buffer<Word> node_lows(dev, nodes, context.order());
      const node_id* ids = level == 1 && made.list.ids.size() != 0 ? made.list.ids.data() : nullptr;
      context.for_each(nodes, write_inner_node<view_type>{t, lows.data(), ids, first_below, below, per_node, level,
                                                          first, static_cast<std::uint32_t>(nodes), node_lows.data()});
      lows = std::move(node_lows);
      below = nodes;
      first_below = first;
    }
  }
  void install(upper_levels&& made, std::uint64_t leaves) {
    listed = std::move(made.list);
    lane = std::move(made.lane);
    inner_nodes = std::move(made.inners);
    if (lane.view.size == 0) {  // it is not needed
      listed = {};
    } else {
      ++lane_builds;
    }
    pending = {};
    leaves_at_rebuild = leaves;
    erased = 0;
    leaves_since_rebuild = 0;
    leaf_list_is_current = listed.highs.size() != 0;
    has_posted_leaves = false;
    ascending_misses = 0;  // a rebuild, of which a merge into an unknown list of leaves is one, repays further tries
    ranks_are_known = false;
    install_pools();
    view.lane = lane.view;
    view.lane_leaves = listed.ids.size() == 0 ? nullptr : listed.ids.data();
  }
  /// Called before kernels that take nodes by themselves.
  void pools_in_use() {
    if constexpr (Context::on_gpu) pools_are_known_ = false;
  }
  /// Reads how many nodes have been taken. A GPU is not queried for what is known already, because each read of its
  /// memory costs a wait. Precondition: no other operation of the owner is in progress.
  void refresh_pools(Context& context) {
    if constexpr (Context::on_gpu) {
      if (pools_are_known_ && !has_live_refs) return;
      auto leaves = context.read_async(leaf_nodes.tickets()), inners = context.read_async(inner_nodes.tickets());
      learn_pools(leaves.get(), inners.get());
    } else {
      learn_pools(context.read_word(leaf_nodes.tickets()), context.read_word(inner_nodes.tickets()));
    }
  }
  /// Stores the tickets as of the last kernel that took nodes.
  void learn_pools(std::uint64_t leaves, std::uint64_t inners) {
    leaf_nodes.learn(leaves);
    inner_nodes.learn(inners);
    if constexpr (Context::on_gpu) pools_are_known_ = !has_live_refs;  // refs take nodes at any time
  }
  void install_pools() {
    view.leaves = leaf_nodes.view();
    view.inners = inner_nodes.view();
  }

  /// Called before leaves may be added or removed other than by a merge.
  void lists_end() {
    leaf_list_is_current = false;
    pending_is_whole = false;
  }
  /// Copies all entries of `pending` into its own list.
  void gather_pending(Context& context) {
    if (pending.shared == 0) return;
    leaf_list whole{buffer<Word>(dev, pending.size, context.order()),
                    buffer<node_id>(dev, pending.size, context.order())};
    copy_entries(context, listed, 0, pending.shared, whole, 0);
    copy_entries(context, pending.list, 0, pending.size - pending.shared, whole, pending.shared);
    pending.list = std::move(whole);
    pending.shared = 0;
  }
  /// Copies entries [from, from + n) of a list to those from `to` on of another.
  void copy_entries(Context& context, const leaf_list& list, std::uint64_t from, std::uint64_t n,
                    const leaf_list& after, std::uint64_t to) {
    if (n == 0) return;
    context.copy(after.highs.data() + to, list.highs.data() + from, n * sizeof(Word));
    if (list.ids.size() != 0) {
      context.copy(after.ids.data() + to, list.ids.data() + from, n * sizeof(node_id));
    } else {
      context.for_each(n, number_leaves{static_cast<node_id>(from), after.ids.data() + to});
    }
  }
  /// Builds inner levels that name the leaves of `pending`. Without memory for them, these leaves are reached by links;
  /// with `required`, for operations that follow no links (latch_coupling protocol), it throws, and the next call tries
  /// again.
  void settle(Context& context, bool required = false) {
    if (pending.size == 0) return;
    const auto make = [&] {
      if (pending_is_whole) gather_pending(context);
      leaf_list list = !pending_is_whole                           ? list_leaves(context)
                       : pending.list.highs.size() == pending.size ? std::move(pending.list)
                                                                   : copy_of(context, pending.list, pending.size);
      const std::uint64_t leaves = list.highs.size(), erases = erased;
      install(make_upper(context, view, std::move(list)), leaves);
      erased = erases;  // dead leaves still wait for rebuild_inner()
    };
    if constexpr (U == inner_index::inner_nodes) {
      try {
        make();
      } catch (...) {
        pending.list = {};  // moved from
        pending.shared = 0;
        pending_is_whole = false;
        if (required || !is_lack_of_memory()) throw;
      }
    } else if (!with_memory(make)) {
      leaves_since_rebuild += leaves_at_rebuild - std::min<std::uint64_t>(leaves_at_rebuild, lane.view.size);
      pending = {};
    }
    sync_if_gpu(context);
  }
  /// Rebuilds the inner levels if n reads pay for it.
  void refresh_upper(Context& context, std::size_t n) {
    settle(context);
    if (is_stale_for(n)) rebuild_inner_if_memory_allows(context);
  }

  // ---- maintenance -----------------------------------------------------------------------------------------
  /// Lists live leaves in key order.
  [[nodiscard]] leaf_list list_leaves(Context& context) {
    refresh_pools(context);
    const std::uint32_t nodes = leaf_nodes.high_water();
    buffer<std::uint64_t> ranks(dev, nodes + 1, context.order());
    const std::uint64_t live = mark(context, ranks, nodes, false);
    buffer<Word> highs(dev, live, context.order());
    buffer<node_id> ids(dev, live, context.order());
    context.for_each(nodes, list_leaf<view_type>{view, ranks.data(), highs.data(), ids.data()});
    leaf_list sorted{buffer<Word>(dev, live, context.order()), buffer<node_id>(dev, live, context.order())};
    context.sort_from(highs.data(), sorted.highs, ids.data(), sorted.ids, live);
    return sorted;
  }
  /// Sets ranks[i] to the number of dead (or live) nodes among the first i; returns the total.
  [[nodiscard]] std::uint64_t mark(Context& context, buffer<std::uint64_t>& ranks, std::uint32_t nodes, bool dead) {
    context.zero(ranks.data() + nodes, 8);
    context.for_each(nodes, mark_leaf<view_type>{view, dead, ranks.data()});
    context.exclusive_scan(ranks.data(), ranks.data(), nodes + 1);
    return context.read(ranks.data() + nodes);
  }
  /// Rebuilds the inner levels and then recycles dead leaves, which nothing references any more. After erases it also
  /// drops empty leaves, and rebuilds the whole tree if it has over 1.5 times the leaves that a build would make.
  void rebuild_inner(Context& context, bool thorough) {
    settle(context);
    refresh_pools(context);
    leaf_list fresh;
    if (!leaf_list_is_current) fresh = list_leaves(context);
    const leaf_list& list = leaf_list_is_current ? listed : fresh;
    leaf_links kept;
    if (thorough || erased != 0) {
      const buffer<std::uint64_t> offsets = leaf_offsets(context, list);
      const std::uint64_t size = context.read(offsets.data() + list.highs.size());
      count_is(size);
      if (list.highs.size() > 8 && is_too_empty(list.highs.size(), size)) {
        const auto sorted = elements_of(context, list, offsets);
        make_tree(context, sorted.words.data(), sorted.values.data(), sorted.words.size());
        return;
      }
      kept = links_without_empty(context, list, offsets);
    }
    const bool drops = kept.after.highs.size() != 0;
    const std::uint64_t live = drops ? kept.after.highs.size() : list.highs.size();
    const std::uint32_t nodes = leaf_nodes.high_water();
    buffer<std::uint64_t> ranks(dev, nodes + 1, context.order());
    const std::uint64_t dead_already = mark(context, ranks, nodes, true);
    const std::uint64_t dead = dead_already + (drops ? list.highs.size() - live : 0);
    if (leaf_list_is_current && dead == leaf_nodes.reusable()) {
      erased = 0;
      return;
    }
    // What is needed to change links outlives the list that they come from.
    leaf_list named =
        drops || leaf_list_is_current ? copy_of(context, drops ? kept.after : list, live) : std::move(fresh);
    upper_levels made = make_upper(context, view, std::move(named));
    buffer<node_id> ids(dev, dead, context.order());
    leaf_nodes.gather(context);
    install_pools();
    // Nothing fails from here on: leaves must not become dead unless the new inner levels are installed.
    context.for_each(nodes, list_leaf<view_type>{view, ranks.data(), nullptr, ids.data()});
    if (drops) {
      leaf_list_is_current = false;
      context.for_each(list.highs.size(), drop_empty_leaf<view_type>{view, ids_of(list), kept.ranks.data(), live,
                                                                     kept.after.ids.data(), ids.data() + dead_already});
    }
    leaf_nodes.recycle(context, std::move(ids), static_cast<std::uint32_t>(dead));
    install(std::move(made), live);
    sync_if_gpu(context);
  }
  /// Returns whether the tree has over 1.5 times the leaves that a build would make. With what may be erased until the
  /// next check (looks_now), the factor stays below about 2.
  [[nodiscard]] bool is_too_empty(std::uint64_t leaves, std::uint64_t size) const {
    return size * 3 < leaves * per_leaf() * 2;
  }
  /// Returns whether so many elements have been erased that leaves may have become too empty.
  [[nodiscard]] bool looks_now() const { return erased > leaves_at_rebuild * per_leaf() / 6 + 1024; }

  [[nodiscard]] static const node_id* ids_of(const leaf_list& list) {
    return list.ids.size() == 0 ? nullptr : list.ids.data();
  }
  /// Copies the first `leaves` entries of a list.
  [[nodiscard]] leaf_list copy_of(Context& context, const leaf_list& list, std::uint64_t leaves) const {
    const std::uint64_t ids = list.ids.size() == 0 ? 0 : leaves;
    leaf_list copy{buffer<Word>(dev, leaves, context.order()), buffer<node_id>(dev, ids, context.order())};
    context.copy(copy.highs.data(), list.highs.data(), leaves * sizeof(Word));
    context.copy(copy.ids.data(), list.ids.data(), ids * sizeof(node_id));
    return copy;
  }
  struct leaf_links {
    buffer<std::uint64_t> ranks;  ///< number of kept leaves before each leaf
    leaf_list after;              ///< the kept leaves; empty if all are kept
  };
  /// The first and the last leaf are kept: the chain begins with the first, and the last covers all keys up to the
  /// largest.
  [[nodiscard]] leaf_links links_without_empty(Context& context, const leaf_list& list,
                                               const buffer<std::uint64_t>& offsets) {
    const std::uint64_t leaves = list.highs.size();
    leaf_links links{buffer<std::uint64_t>(dev, leaves + 1, context.order()), {}};
    context.zero(links.ranks.data() + leaves, 8);
    context.for_each(leaves, mark_not_empty{offsets.data(), leaves, links.ranks.data()});
    context.exclusive_scan(links.ranks.data(), links.ranks.data(), leaves + 1);
    const std::uint64_t stay = context.read(links.ranks.data() + leaves);
    if (stay == leaves) return links;
    links.after = {buffer<Word>(dev, stay, context.order()), buffer<node_id>(dev, stay, context.order())};
    context.for_each(leaves, keep_leaf<Word>{list.highs.data(), ids_of(list), links.ranks.data(),
                                             links.after.highs.data(), links.after.ids.data()});
    return links;
  }
  /// Counts the elements before each leaf, so that ranges of any length are found by their ends. Without a lane, or
  /// without memory, ranges are walked.
  void build_leaf_ranks(Context& context) {
    if (leaves_at_rebuild + leaves_since_rebuild < least_lane_leaves) return;
    settle(context);
    if (!leaf_list_is_current) rebuild_inner_if_memory_allows(context);
    if (!leaf_list_is_current) return;
    ranks_are_known = with_memory([&] {
      const buffer<std::uint64_t> offsets = leaf_offsets(context, listed);
      rank_bases = {};
      ranks_beyond = {};
      rank_bases = buffer<std::uint64_t>(dev, ((offsets.size() - 1) >> leaf_ranks::shift) + 1, context.order());
      ranks_beyond = buffer<std::uint32_t>(dev, offsets.size(), context.order());
      context.for_each(offsets.size(), split_rank{offsets.data(), rank_bases.data(), ranks_beyond.data()});
    });
  }
  [[nodiscard]] leaf_ranks leaf_ranks_if_valid() const {
    return ranks_are_known && !has_live_refs ? leaf_ranks{rank_bases.data(), ranks_beyond.data()} : leaf_ranks{};
  }
  /// Returns whether a substantial part of the leaves is missing in the lane.
  [[nodiscard]] bool needs_rebuild() const {
    return U == inner_index::express_lane && leaves_since_rebuild * 8 > leaves_at_rebuild && leaves_since_rebuild > 64;
  }
  /// Returns whether kernels that read consult the inner nodes where the lane is stale.
  [[nodiscard]] bool reads_ask_inner_nodes() const { return has_live_refs || has_posted_leaves; }
  /// Returns whether writes have added enough leaves for the lane to be rebuilt.
  [[nodiscard]] bool has_outgrown_lane() const {
    return U == inner_index::express_lane && leaves_since_rebuild > leaves_at_rebuild / 2 + 64;
  }
  /// Returns whether n reads pay for a rebuild of the inner levels.
  [[nodiscard]] bool is_stale_for(std::size_t n) const {
    return !has_live_refs && (pending.size != 0 || (n * 4 >= leaves_at_rebuild && needs_rebuild()));
  }

  [[nodiscard]] buffer<std::uint64_t> leaf_offsets(Context& context, const leaf_list& list) {
    const std::uint64_t live = list.highs.size();
    buffer<std::uint64_t> offsets(dev, live + 1, context.order());
    context.zero(offsets.data() + live, 8);
    context.for_each(live, leaf_count<view_type>{view, ids_of(list), offsets.data()});
    context.exclusive_scan(offsets.data(), offsets.data(), live + 1);
    return offsets;
  }
  [[nodiscard]] pairs elements_of(Context& context, const leaf_list& list) {
    return elements_of(context, list, leaf_offsets(context, list));
  }
  [[nodiscard]] pairs elements_of(Context& context, const leaf_list& list, const buffer<std::uint64_t>& offsets) {
    const std::uint64_t live = list.highs.size();
    const std::uint64_t size = context.read(offsets.data() + live);
    pairs sorted{buffer<Word>(dev, size, context.order()), buffer<value>(dev, V == 0 ? 0 : size, context.order())};
    context.for_each(live * N, copy_leaf_slot<view_type>{view, ids_of(list), offsets.data(), sorted.words.data(),
                                                         sorted.values.data()});
    return sorted;
  }

  /// Rebuilds if memory allows. A failure is not reported, because the requested operation is complete or can be
  /// completed without it.
  void rebuild_inner_if_memory_allows(Context& context) {
    static_cast<void>(with_memory([&] { rebuild_inner(context, false); }));
  }

 private:
  std::atomic<std::int64_t> count_ = 0;
  std::atomic<bool> count_is_known_ = false;
  bool pools_are_known_ = false;       ///< on a GPU: the last known state of the pools is current
  std::shared_ptr<stream_impl> tied_;  ///< stream in whose order the memory is freed
};

}  // namespace espalier::detail
