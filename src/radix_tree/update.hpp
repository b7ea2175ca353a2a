// update.hpp - batches of new values for keys that are present.
//
// Values are written in place, in the pass that finds the leaves. A stamp per leaf decides which of several elements
// with the same key wins: it holds the number of the batch and the highest element so far. A value of four bytes forms
// one word with its stamp, so that the highest word wins at once; for other values the few elements that conflict are
// listed, and a second pass over the lists corrects what was written out of order. Batch numbers increase, so that
// stamps are hardly ever cleared, and there is no table that could overflow. Most leaves have room for their stamp
// (leaf.hpp), in the sector that holds the value; an array holds those of the others.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "espalier/radix_tree/jobs.hpp"
#include "espalier/sync/concurrent_access.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/storage.hpp"

namespace espalier::detail {

/// Number of elements of a batch whose numbers fit into a stamp; longer batches are executed in pieces, in sequence.
inline constexpr unsigned stamp_bits = 22;
inline constexpr std::size_t stamped_piece = std::size_t{1} << stamp_bits;
inline constexpr std::uint32_t most_stamped_pieces = (1u << (32 - stamp_bits)) - 1;

/// Whether values and stamps are written together.
template <unsigned V>
inline constexpr bool stamped_value = V == 4;
static_assert(leaf_stamp_at(0, 4) == leaf_value_at(0, 4) + 4 && leaf_stamp_at(1, 4) == leaf_value_at(1, 4) + 4 &&
              leaf_stamp_at(2, 4) == leaf_value_at(2, 4) + 4 && leaf_stamp_at(3, 4) == leaf_value_at(3, 4) + 4 &&
              std::endian::native == std::endian::little);

/// An element that reached a leaf after another one of its piece.
struct alignas(8) update_conflict {
  radix_link leaf;
  std::uint32_t element;
};
/// The conflicts of a piece, in no particular order. Of 2^22 random elements in 2^24 leaves a tenth conflict, nearly
/// every warp has one, and a single counter would be contended; so there are several lists, and runs of elements use
/// them in turn. The k-th conflict takes the position of the k-th element of its list: it exists, so no list can
/// overflow, and all lists together have as many positions as the piece has elements.
struct conflict_lists {
  static constexpr std::uint32_t lists = 8;
  /// Elements per run. Threads that increment together (fetch_increment_aggregated()) must use the same counter: the
  /// elements of a warp are in one run, because all launches map neighbours to neighbours and a run is a block of
  /// threads.
  static constexpr std::uint32_t run = 256;
  static_assert(run % 32 == 0);  // no warp of 32 neighbours has elements of two runs
  /// Number of counters per list: each piece has its own, which is zero before, so that no batch has to clear any.
  static constexpr std::size_t counters = most_stamped_pieces + 1;

  update_conflict* places;
  /// This piece's counter of the first list; those of other lists follow at distances of `counters`.
  std::uint32_t* counts;

  [[nodiscard]] static ESPALIER_INLINE std::uint32_t list_of(std::uint32_t i) { return i / run % lists; }
  /// Number of elements of the same list before i.
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t rank_of(std::uint32_t i) {
    return i / (run * lists) * run + i % run;
  }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t element(std::uint32_t list, std::uint32_t rank) {
    return (rank / run * lists + list) * run + rank % run;
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* count(std::uint32_t list) const { return counts + list * counters; }
  ESPALIER_INLINE void add(std::uint32_t i, radix_link l) const {
    const std::uint32_t list = list_of(i);
    places[element(list, atomic_word_ref{count(list)}.fetch_increment_aggregated())] = {l, i};
  }
};

/// Element i writes unless a higher one was first. Of several elements that write to one leaf the highest must be the
/// last: all but the first one detect a conflict and are listed. If the highest was first, no element wrote after it.
/// (docs/design/radix-tree.md describes the alternatives that were tried.)
template <unsigned V>
struct update_leaf {
  radix_view<V> tree;
  std::uint32_t piece;                  ///< number of the piece, in the upper bits
  std::uint32_t* stamps[leaf_classes];  ///< stamps of leaves without room for one
  const void* values;
  std::uint8_t* done;
  conflict_lists disputed;
  ESPALIER_HD void operator()(std::size_t i, radix_link l) const {
    if (done != nullptr) done[i] = l.is_nothing() ? 0 : 1;
    if constexpr (stamped_value<V>) {
      if (!l.is_nothing())
        atomic_word_ref{reinterpret_cast<std::uint64_t*>(tree.value_of(l))}.fetch_max(
            std::uint64_t{own(i)} << 32 | load_value<V>(tree.value_bytes, values, i));
    } else if constexpr (V != 0) {
      if (!l.is_nothing() && writes(i, l)) disputed.add(static_cast<std::uint32_t>(i), l);
    }
  }
  /// Writes the element unless a higher one was first; returns whether it wrote after another element.
  ESPALIER_INLINE bool writes(std::size_t i, radix_link l) const {
    const std::uint32_t seen = atomic_word_ref{place(l)}.fetch_max(own(i));
    if (seen > own(i)) return false;
    put(i, l);
    return seen >= piece;
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t own(std::size_t i) const { return piece | static_cast<std::uint32_t>(i); }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* place(radix_link l) const {
    std::uint32_t* const in_leaf = tree.stamp_of(l);
    return in_leaf != nullptr ? in_leaf : stamps[leaf_class(l.kind())] + l.index();
  }
  ESPALIER_INLINE void put(std::size_t i, radix_link l) const {
    store_relaxed(tree.value_of(l), load_value<V>(tree.value_bytes, values, i));
  }
};
template <unsigned V>
struct update_listed {
  update_leaf<V> update;
  const radix_link* links;
  ESPALIER_HD void operator()(std::size_t i) const { update(i, links[i]); }
};
/// Runs for t below `most` and below the number of elements: the host need not know how many are listed. It handles
/// position t, and those at multiples of `most` after it, which belong to the same list.
template <unsigned V>
struct resolve_conflicts {
  /// Half of the concurrent threads of an H200: 2^20 elements in 2^24 leaves are settled in one step, 2^22 in four.
  static constexpr std::uint32_t most = 1u << 17;
  static_assert(most % (conflict_lists::run * conflict_lists::lists) == 0);
  update_leaf<V> update;
  ESPALIER_HD void operator()(std::size_t t) const {
    const conflict_lists& disputed = update.disputed;
    const auto first = static_cast<std::uint32_t>(t);
    const std::uint32_t n = *disputed.count(conflict_lists::list_of(first));
    for (std::uint32_t p = first; conflict_lists::rank_of(p) < n; p += most) {
      const update_conflict d = disputed.places[p];
      if (*update.place(d.leaf) == update.own(d.element)) update.put(d.element, d.leaf);
    }
  }
};

template <unsigned V>
struct clear_stamp {
  radix_view<V> tree;
  unsigned c;
  ESPALIER_HD void operator()(std::size_t i) const {
    *reinterpret_cast<std::uint32_t*>(tree.leaf(c, static_cast<std::uint32_t>(i)) + leaf_stamp_at(c, V)) = 0;
  }
};

template <class Context, unsigned V>
class radix_updater {
 public:
  radix_updater(Context& context, radix_storage<V>& tree, unsigned value_bytes)
      : context_(context), tree_(tree), value_bytes_(value_bytes) {}

  /// Allocates stamps for all leaves without room for one, counters, and all memory that n updates need: what follows
  /// cannot fail.
  void prepare(std::size_t n) {
    if constexpr (V != 0 && !stamped_value<V>) {
      disputed_ = room<update_conflict>(context_, std::min(n, std::size_t{stamped_piece}));
      if (tree_.disputes.size() == 0) {
        buffer<std::uint32_t> counts = room<std::uint32_t>(context_, conflict_lists::lists * conflict_lists::counters);
        context_.zero(counts.data(), counts.bytes());
        tree_.disputes = std::move(counts);
      }
      for (unsigned c = 0; c < leaf_classes; ++c) {
        const std::size_t leaves = leaf_stamp_at(c, V) == 0 ? tree_.leaf_counts[c] : 0;
        if (leaves <= tree_.stamps[c].size()) continue;
        tree_.stamps[c] = room<std::uint32_t>(context_, leaves + leaves / 4);
        context_.zero(tree_.stamps[c].data(), tree_.stamps[c].bytes());  // below all future batches
      }
    }
  }
  void operator()(const byte_batch& keys, std::size_t n, const void* values, std::uint8_t* done) {
    in_pieces(n, values, done, [&](const update_leaf<V>& job, std::size_t first, std::size_t m) {
      context_.ask(radix_each_job<V, update_leaf<V>>{tree_.view, keys.from(first), job}, m);
    });
  }
  /// Elements whose link is nothing are skipped.
  void operator()(const radix_link* links, std::size_t n, const void* values) {
    in_pieces(n, values, nullptr, [&](const update_leaf<V>& job, std::size_t first, std::size_t m) {
      context_.for_each(m, update_listed<V>{job, links + first});
    });
  }

 private:
  /// Calls work(update, first, n) for each piece of a batch; elements of the update are numbered from its first one.
  template <class Work>
  void in_pieces(std::size_t n, const void* values, std::uint8_t* done, const Work& work) {
    for (std::size_t first = 0; first < n; first += stamped_piece) {
      const std::size_t m = std::min(n - first, std::size_t{stamped_piece});
      if (tree_.stamped_pieces == most_stamped_pieces) clear_stamps();
      const std::uint32_t number = ++tree_.stamped_pieces;
      const update_leaf<V> job{
          tree_.view,
          number << stamp_bits,
          {tree_.stamps[0].data(), tree_.stamps[1].data(), tree_.stamps[2].data(), tree_.stamps[3].data()},
          static_cast<const std::uint8_t*>(values) + (V == 0 ? 0 : first * value_bytes_),
          done == nullptr ? nullptr : done + first,
          {disputed_.data(), tree_.disputes.size() == 0 ? nullptr : tree_.disputes.data() + number}};
      work(job, first, m);
      if constexpr (V != 0 && !stamped_value<V>)
        context_.for_each(std::min(m, std::size_t{resolve_conflicts<V>::most}), resolve_conflicts<V>{job});
    }
  }
  /// Clears stamps and counters: pieces are numbered from the first one again.
  void clear_stamps() {
    if (tree_.disputes.size() != 0) context_.zero(tree_.disputes.data(), tree_.disputes.bytes());
    for (unsigned c = 0; c < leaf_classes; ++c) {
      if (tree_.stamps[c].size() != 0) context_.zero(tree_.stamps[c].data(), tree_.stamps[c].bytes());
      if (leaf_stamp_at(c, V) != 0 && tree_.leaf_counts[c] != 0)
        context_.for_each(tree_.leaf_counts[c], clear_stamp<V>{tree_.view, c});
    }
    tree_.stamped_pieces = 0;
  }

  Context& context_;
  radix_storage<V>& tree_;
  unsigned value_bytes_;
  buffer<update_conflict> disputed_;
};

}  // namespace espalier::detail
