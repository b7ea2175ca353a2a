// write.hpp - batches of writes.
//
// Inserts and erases change the affected nodes (in_place.hpp), or rebuild the tree from its elements and those of the
// batch, in one streaming pass in addition to the sort: this is better for batches that are not much smaller than the
// tree, and if half of the memory is dead. Updates are in update.hpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "espalier/sync/concurrent_access.hpp"
#include "radix_tree/build.hpp"
#include "radix_tree/gather_elements.hpp"
#include "radix_tree/in_place.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/update.hpp"

namespace espalier::detail {

/// Marks, in key order, each element that inserts a missing key (or erases a present one): the first, or the last, of
/// equal ones.
struct mark_changing {
  ordered_keys keys;
  const radix_link* links;
  bool first, there;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint32_t e = keys.places[i];
    const bool at_end = first ? i == 0 : i + 1 == keys.n;
    const bool one = at_end || first_difference(keys[i], keys[first ? i - 1 : i + 1]) != same_key;
    marks[i] = one && links[e].is_nothing() != there ? 1 : 0;
  }
};

struct keep_numbers {
  const std::uint64_t* marks;  ///< scanned
  std::uint32_t* numbers;
  ESPALIER_HD void operator()(std::size_t e) const {
    if (marks[e + 1] != marks[e]) numbers[marks[e]] = static_cast<std::uint32_t>(e);
  }
};

/// Sets stays[rank] to 0 for the elements whose keys are in the batch.
template <unsigned V>
struct mark_erased {
  radix_view<V> tree;
  const radix_link* links;
  std::uint64_t* stays;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (!links[i].is_nothing()) atomic_word_ref{stays + tree.rank_of(links[i])}.store_relaxed(0);
  }
};
struct mark_all {
  std::uint64_t* stays;
  ESPALIER_HD void operator()(std::size_t i) const { stays[i] = 1; }
};
struct keep_ranks {
  const std::uint64_t* stays;  ///< scanned
  std::uint64_t* ranks;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (stays[i + 1] != stays[i]) ranks[stays[i]] = i;
  }
};

/// The tree's elements and the batch's as one batch: key i is the tree's i-th for i < old, then the batch's.
struct join_offsets {
  const std::uint64_t* old_offsets;
  std::uint64_t old, old_bytes;
  byte_batch added;
  std::uint64_t skipped;  ///< bytes before the first key of the batch
  std::uint64_t* offsets;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (i < old) {
      offsets[i] = old_offsets[i];
    } else {
      const std::size_t j = i - old;
      offsets[i] = old_bytes + (added.offsets == nullptr ? j * added.stride : added.offsets[j] - skipped);
    }
  }
};
/// Sets done[e] to 1 for the first of each key's elements, if the key is present, or absent, as `there` requests.
struct mark_first {
  ordered_keys keys;  ///< keys of the batch
  const radix_link* links;
  bool there;
  std::uint8_t* done;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint32_t e = keys.places[i];
    const bool first = i == 0 || first_difference(keys[i - 1], keys[i]) != same_key;
    done[e] = first && links[e].is_nothing() != there ? 1 : 0;
  }
};

template <class Context, unsigned V>
class radix_writer {
  using storage = radix_storage<V>;

 public:
  radix_writer(Context& context, storage& tree, element_type elements, const radix_options& options)
      : context_(context), tree_(tree), elements_(elements), options_(options) {}

  /// All pointers refer to the device's memory; `done` may be null. Strong exception guarantee: memory runs out before
  /// anything is changed, or not at all.
  void operator()(write_op op, const byte_batch& keys, std::size_t n, const void* values, std::uint8_t* done,
                  radix_path path) {
    if (op == write_op::update) {
      radix_updater<Context, V> update(context_, tree_, elements_.value_bytes);
      update.prepare(n);
      return update(keys, n, values, done);
    }
    const buffer<radix_link> links = room<radix_link>(context_, n);
    context_.ask(radix_locate_job<V>{tree_.view, keys, links.data()}, n);
    const bool erases = op == write_op::erase;
    const of_equal_keys which = op == write_op::insert ? of_equal_keys::first : of_equal_keys::last;
    const bool in_place = path == radix_path::in_place ||
                          (path == radix_path::automatic && n < tree_.view.size / 2 && !is_worn() && can_number(n));
    const bool builds = !in_place && !erases && tree_.view.size == 0;  // from the batch alone
    buffer<std::uint32_t> places;
    if (in_place || builds || done != nullptr) places = key_sorter<Context>(context_)(keys, n);
    const ordered_keys sorted{keys, places.data(), n};
    const auto say = [&] {
      if (done != nullptr) context_.for_each(n, mark_first{sorted, links.data(), erases, done});
    };
    if (builds) {
      say();
      return replace(keys, values, n, which, std::move(places));
    }
    if (in_place) {
      change_in_place(op, sorted, links.data(), values);
    } else if (erases) {
      erase(links.data(), n);
    } else {
      insert(keys, n, values, which);
    }
    say();
  }

 private:
  /// Returns whether half of the leaves are dead, or half of the bytes of leaves and long keys.
  [[nodiscard]] bool is_worn() const {
    std::size_t leaves = 0, dead = 0, bytes = 8 * tree_.heap_used, dead_bytes = 8 * tree_.heap_dead;
    for (unsigned c = 0; c < leaf_classes; ++c) {
      leaves += tree_.leaf_counts[c];
      dead += tree_.leaf_dead[c];
      bytes += tree_.leaf_counts[c] * leaf_bytes(c, V);
      dead_bytes += tree_.leaf_dead[c] * leaf_bytes(c, V);
    }
    return 2 * dead > leaves || 2 * dead_bytes > bytes;
  }
  /// Returns whether links can number n more leaves of any class; a rebuild frees the numbers of dead ones.
  [[nodiscard]] bool can_number(std::size_t n) const {
    return std::all_of(std::begin(tree_.leaf_counts), std::end(tree_.leaf_counts),
                       [n](std::size_t count) { return count + n <= radix_link::most; });
  }

  void change_in_place(write_op op, const ordered_keys& sorted, const radix_link* links, const void* values) {
    const std::size_t n = sorted.n;
    const bool erases = op == write_op::erase, assigns = op == write_op::insert_or_assign;
    const buffer<std::uint64_t> marks = room<std::uint64_t>(context_, n + 1);
    context_.for_each(n, mark_changing{sorted, links, !assigns, erases, marks.data()});
    const std::uint64_t m = number_marks(context_, marks, n);
    const buffer<std::uint32_t> numbers = room<std::uint32_t>(context_, m);
    context_.for_each(n, keep_one_of_keys{sorted.places, marks.data(), numbers.data()});
    radix_updater<Context, V> update(context_, tree_, elements_.value_bytes);
    if (assigns) update.prepare(n);  // while it may still fail
    in_place_writer<Context, V> writer(context_, tree_, options_.table_bits);
    if (erases && m != 0) {
      std::size_t gone[leaf_classes];
      for (unsigned c = 0; c < leaf_classes; ++c) gone[c] = count_class(sorted.batch, numbers.data(), m, c);
      const std::uint64_t words = gone[long_class] == 0 ? 0 : count_words(sorted.batch, numbers.data(), m);
      writer.erase(sorted.batch, numbers.data(), m, gone);
      tree_.heap_dead += words;
    } else if (m != 0) {
      writer.insert(sorted.batch, numbers.data(), m, values);
    }
    if (assigns) update(links, n, values);
  }
  [[nodiscard]] std::uint64_t count_class(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m,
                                          unsigned c) {
    if (keys.offsets == nullptr) return leaf_class(static_cast<std::uint32_t>(keys.stride)) == c ? m : 0;
    const buffer<std::uint64_t> marks = room<std::uint64_t>(context_, m + 1);
    context_.for_each(m, mark_class{{keys, numbers, m}, c, marks.data()});
    return number_marks(context_, marks, m);
  }

  /// Counts words of the heap.
  [[nodiscard]] std::uint64_t count_words(const byte_batch& keys, const std::uint32_t* numbers, std::size_t m) {
    const buffer<std::uint64_t> words = room<std::uint64_t>(context_, m + 1);
    context_.for_each(m, count_heap{{keys, numbers, m}, words.data()});
    return number_marks(context_, words, m);
  }

  void erase(const radix_link* links, std::size_t n) {
    build_leaf_order(context_, tree_);
    const std::size_t size = tree_.view.size;
    const buffer<std::uint64_t> stays = room<std::uint64_t>(context_, size + 1);
    context_.for_each(size, mark_all{stays.data()});
    context_.for_each(n, mark_erased<V>{tree_.view, links, stays.data()});
    const std::uint64_t left = number_marks(context_, stays, size);
    if (left == size) return;
    const buffer<std::uint64_t> ranks = room<std::uint64_t>(context_, left);
    context_.for_each(size, keep_ranks{stays.data(), ranks.data()});
    const byte_range_buffers kept = element_gather<Context, V>{tree_.view, context_}.elements(ranks.data(), left);
    replace({static_cast<const std::uint8_t*>(kept.key_bytes.data()), kept.key_offsets.data(), 0}, kept.values.data(),
            left, of_equal_keys::last);
  }

  void insert(const byte_batch& keys, std::size_t n, const void* values, of_equal_keys which) {
    const std::uint64_t skipped = keys.offsets == nullptr ? 0 : context_.read(keys.offsets);
    const std::uint64_t bytes = keys.offsets == nullptr ? n * keys.stride : context_.read(keys.offsets + n) - skipped;
    const std::uint64_t old = tree_.view.size, all = old + n;
    if (all >= 0xffffffffu)
      throw error("radix_tree: a tree takes fewer than 2^32 - 1 keys; split them over several trees.");
    build_leaf_order(context_, tree_);
    const byte_range_buffers held = element_gather<Context, V>{tree_.view, context_}.elements(nullptr, old);
    const buffer<std::uint64_t> offsets = room<std::uint64_t>(context_, all + 1);
    const raw_buffer joined(context_.get_device(), held.total_bytes + bytes, context_.order());
    const raw_buffer joined_values(context_.get_device(), all * elements_.value_bytes, context_.order());
    context_.for_each(all + 1,
                      join_offsets{held.key_offsets.data(), old, held.total_bytes, keys, skipped, offsets.data()});
    join(joined, held.key_bytes.data(), held.total_bytes, keys.bytes + skipped, bytes);
    join(joined_values, held.values.data(), old * elements_.value_bytes, values, n * elements_.value_bytes);
    replace({static_cast<const std::uint8_t*>(joined.data()), offsets.data(), 0}, joined_values.data(), all, which);
  }
  void join(const raw_buffer& to, const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    auto* const p = static_cast<std::byte*>(to.data());
    if (a_bytes != 0) context_.copy(p, a, a_bytes);
    if (b_bytes != 0) context_.copy(p + a_bytes, b, b_bytes);
  }
  void replace(const byte_batch& keys, const void* values, std::size_t n, of_equal_keys which,
               buffer<std::uint32_t>&& places = {}) {
    storage made = radix_builder<Context, V>(context_, elements_, options_)(keys, values, n, which, std::move(places));
    tree_ = std::move(made);
  }

  Context& context_;
  storage& tree_;
  element_type elements_;
  radix_options options_;
};

}  // namespace espalier::detail
