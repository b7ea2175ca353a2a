// update.hpp - batches of new values for keys that are there.
//
// They are written in place, in the pass that finds the leaves. Who of several elements with the same key wins is
// settled by a stamp per leaf: the number of the batch and the highest element that came. A value of four bytes is one
// word with its stamp, so that the highest word wins at once; for others a second pass puts right what was written out
// of order. Batches count up, so that stamps are hardly ever cleared, and no table of them can be full. Most leaves
// have room for their stamp (leaf.hpp), in the sector that holds the value; an array has those of the others.
#pragma once

#include <algorithm>
#include <bit>

#include "espalier/radix_tree/jobs.hpp"
#include "espalier/sync/shared_memory.hpp"
#include "radix_tree/storage.hpp"
#include "radix_tree/workshop.hpp"

namespace espalier::detail {

/// So many elements of a batch have numbers that fit into a stamp; longer batches go in pieces, one after the other.
inline constexpr unsigned stamp_bits = 22;
inline constexpr std::size_t stamped_piece = std::size_t{1} << stamp_bits;
inline constexpr std::uint32_t most_stamped_pieces = (1u << (32 - stamp_bits)) - 1;

/// Are values and stamps written together?
template <unsigned V>
inline constexpr bool stamped_value = V == 4;
static_assert(leaf_stamp_at(0, 4) == leaf_value_at(0, 4) + 4 && leaf_stamp_at(1, 4) == leaf_value_at(1, 4) + 4 &&
              leaf_stamp_at(2, 4) == leaf_value_at(2, 4) + 4 && leaf_stamp_at(3, 4) == leaf_value_at(3, 4) + 4 &&
              std::endian::native == std::endian::little);

/// Element i writes if no higher one came before it. Of several that wrote to one leaf the highest must be the last:
/// all but the one that came first know that they are not alone, and remember the leaf. If the highest came first,
/// nobody wrote after it. (docs/design/figures.md has what else was tried.)
template <unsigned V>
struct update_leaf {
  radix_view<V> tree;
  std::uint32_t piece;                  ///< in the upper bits
  std::uint32_t* stamps[leaf_classes];  ///< of leaves without one
  const void* values;
  std::uint8_t* done;
  radix_link* disputed;  ///< the leaf of each element that came after another
  ESPALIER_HD void operator()(std::size_t i, radix_link l) const {
    if (done != nullptr) done[i] = l.is_nothing() ? 0 : 1;
    if constexpr (stamped_value<V>) {
      if (!l.is_nothing())
        shared_word{reinterpret_cast<std::uint64_t*>(tree.value_of(l))}.fetch_max(
            std::uint64_t{own(i)} << 32 | load_value<V>(tree.value_bytes, values, i));
    } else if constexpr (V != 0) {
      radix_link again{};
      if (!l.is_nothing() && writes(i, l)) again = l;
      disputed[i] = again;
    }
  }
  /// Was it written, and somebody before it?
  ESPALIER_INLINE bool writes(std::size_t i, radix_link l) const {
    const std::uint32_t seen = shared_word{place(l)}.fetch_max(own(i));
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
    store_shared(tree.value_of(l), load_value<V>(tree.value_bytes, values, i));
  }
};
template <unsigned V>
struct update_listed {
  update_leaf<V> update;
  const radix_link* links;
  ESPALIER_HD void operator()(std::size_t i) const { update(i, links[i]); }
};
template <unsigned V>
struct settle_dispute {
  update_leaf<V> update;
  ESPALIER_HD void operator()(std::size_t i) const {
    const radix_link l = update.disputed[i];
    if (!l.is_nothing() && *update.place(l) == update.own(i)) update.put(i, l);
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

  /// Stamps for all leaves that have none, and all memory that n updates take: what follows cannot fail.
  void prepare(std::size_t n) {
    if constexpr (V != 0 && !stamped_value<V>) {
      disputed_ = room<radix_link>(context_, std::min(n, std::size_t{stamped_piece}));
      for (unsigned c = 0; c < leaf_classes; ++c) {
        const std::size_t leaves = leaf_stamp_at(c, V) == 0 ? tree_.leaf_counts[c] : 0;
        if (leaves <= tree_.stamps[c].size()) continue;
        tree_.stamps[c] = room<std::uint32_t>(context_, leaves + leaves / 4);
        context_.zero(tree_.stamps[c].data(), tree_.stamps[c].bytes());  // below all batches to come
      }
    }
  }
  void operator()(const byte_batch& keys, std::size_t n, const void* values, std::uint8_t* done) {
    in_pieces(n, values, done, [&](const update_leaf<V>& job, std::size_t first, std::size_t m) {
      context_.ask(radix_each_job<V, update_leaf<V>>{tree_.view, keys.from(first), job}, m);
    });
  }
  /// Elements whose links are nothing are left out.
  void operator()(const radix_link* links, std::size_t n, const void* values) {
    in_pieces(n, values, nullptr, [&](const update_leaf<V>& job, std::size_t first, std::size_t m) {
      context_.for_each(m, update_listed<V>{job, links + first});
    });
  }

 private:
  /// work(update, first, n) for each piece of a batch; elements of the update are numbered from its first on.
  template <class Work>
  void in_pieces(std::size_t n, const void* values, std::uint8_t* done, const Work& work) {
    for (std::size_t first = 0; first < n; first += stamped_piece) {
      const std::size_t m = std::min(n - first, std::size_t{stamped_piece});
      if (tree_.stamped_pieces == most_stamped_pieces) clear_stamps();
      const update_leaf<V> job{
          tree_.view,
          ++tree_.stamped_pieces << stamp_bits,
          {tree_.stamps[0].data(), tree_.stamps[1].data(), tree_.stamps[2].data(), tree_.stamps[3].data()},
          static_cast<const std::uint8_t*>(values) + (V == 0 ? 0 : first * value_bytes_),
          done == nullptr ? nullptr : done + first,
          disputed_.data()};
      work(job, first, m);
      if constexpr (V != 0 && !stamped_value<V>) context_.for_each(m, settle_dispute<V>{job});
    }
  }
  void clear_stamps() {
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
  buffer<radix_link> disputed_;
};

}  // namespace espalier::detail
