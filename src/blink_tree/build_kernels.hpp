// build_kernels.hpp - kernels that compute leaves, inner nodes and lists of leaves from sorted elements or from each
// other: one function object per part, for one element of it, run by for_each on any device.
#pragma once

#include <cstdint>
#include <cstring>

#include "espalier/blink_tree/node.hpp"

namespace espalier::detail {

/// Returns the first i of [begin, end) with words[i] >= x.
template <class Word>
ESPALIER_INLINE std::uint64_t first_not_below(const Word* words, std::uint64_t begin, std::uint64_t end, Word x) {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (words[middle] < x) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Converts keys of listed elements to words; all elements if list is null.
template <class Word>
struct encode_listed {
  scalar_kind kind;
  const void* keys;
  const std::uint32_t* list;
  Word* words;
  ESPALIER_HD void operator()(std::size_t i) const {
    words[i] = encode_bits(kind, load_bits<Word>(kind, keys, list == nullptr ? i : list[i]));
  }
};

/// Which of equal keys is kept.
enum class equal_keys : std::uint8_t { keep_first, keep_last };
/// Marks with 1 the element that is kept of equal neighbours.
template <class Word>
struct mark_one_of_run {
  const Word* words;
  std::size_t n;
  equal_keys which;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (which == equal_keys::keep_first) {
      marks[i] = i == 0 || words[i - 1] != words[i] ? 1 : 0;
    } else {
      marks[i] = i + 1 == n || words[i + 1] != words[i] ? 1 : 0;
    }
  }
};
/// ids[i] = first + i.
struct number_leaves {
  node_id first;
  node_id* ids;
  ESPALIER_HD void operator()(std::size_t i) const { ids[i] = static_cast<node_id>(first + i); }
};

/// Copies the marked elements; `ranks` are the scanned marks, one longer than the elements.
template <class Word, class Value>
struct keep_marked {
  const Word* words;
  const Value* values;  ///< may be null
  const std::uint64_t* ranks;
  Word* kept_words;
  Value* kept_values;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (ranks[i + 1] == ranks[i]) return;
    kept_words[ranks[i]] = words[i];
    if (values != nullptr) kept_values[ranks[i]] = values[i];
  }
};

/// Writes the leaves of a build: `per_leaf` elements each, leaves in order of their numbers.
template <class View>
struct write_leaves {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;
  View tree;
  const word* words;
  const value* values;
  std::uint64_t n;
  std::uint32_t leaves;
  std::uint32_t per_leaf;
  word* highs;

  /// A GPU thread writes 16 bytes of a leaf, so that neighbouring threads write whole lines.
  static constexpr unsigned unit_bytes = 16, units = shape::bytes / unit_bytes;
  static_assert(shape::values_at % unit_bytes == 0 && shape::keys_at % unit_bytes == 0);
  struct alignas(unit_bytes) unit {
    std::uint64_t low, high;
  };

  [[nodiscard]] ESPALIER_INLINE node_head<word> head(std::uint64_t id, std::uint64_t begin, std::uint64_t end) const {
    node_head<word> h;
    h.count = static_cast<std::uint32_t>(end - begin);
    h.right = id + 1 < leaves ? static_cast<node_id>(id + 1) : no_node;
    if (id + 1 < leaves) h.high = words[end - 1];
    return h;
  }
  /// Writes unit i % units of leaf i / units.
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::uint64_t id = i / units;
    const unsigned first = static_cast<unsigned>(i % units) * unit_bytes;
    const std::uint64_t begin = id * per_leaf, end = begin + per_leaf < n ? begin + per_leaf : (begin < n ? n : begin);
    const auto count = static_cast<unsigned>(end - begin);
    unsigned char bytes[unit_bytes] = {};
    if (first < shape::keys_at) {
      const node_head<word> h = head(id, begin, end);
      if (first == 0) {
        const std::uint32_t start[3] = {0, h.info(), h.right};
        memcpy(bytes, start, sizeof(start));
        if constexpr (sizeof(word) == 4) memcpy(bytes + 12, &h.high, 4);
        highs[id] = h.high;
      } else if constexpr (sizeof(word) == 8) {
        memcpy(bytes, &h.high, 8);
      }
    } else if (first < shape::values_at) {
      fill(bytes, words + begin, first - shape::keys_at, count, static_cast<word>(~word{0}));
    } else if constexpr (shape::value_bytes != 0) {
      fill(bytes, values + begin, first - shape::values_at, count, value{});
    }
    unit u;
    memcpy(&u, bytes, unit_bytes);
    *reinterpret_cast<unit*>(tree.leaf(static_cast<node_id>(id)).p + first) = u;
  }
  /// On a CPU: writes leaf after leaf.
  void operator()(std::size_t first, std::size_t last) const {
    for (std::size_t id = first; id < last; ++id) {
      const std::uint64_t begin = std::uint64_t{id} * per_leaf, end = begin + per_leaf < n ? begin + per_leaf : n;
      const auto count = static_cast<unsigned>(end > begin ? end - begin : 0);
      const node_head<word> h = head(id, begin, begin + count);
      const auto node = tree.leaf(static_cast<node_id>(id));
      for (unsigned s = 0; s < count; ++s) node.keys()[s] = words[begin + s];
      for (unsigned s = count; s < shape::slots; ++s) node.keys()[s] = static_cast<word>(~word{0});
      if constexpr (shape::value_bytes != 0) {
        for (unsigned s = 0; s < count; ++s) node.values()[s] = values[begin + s];
        for (unsigned s = count; s < shape::slots; ++s) node.values()[s] = value{};
      }
      *node.version() = 0;
      *node.info() = h.info();
      *node.right() = h.right;
      *node.high() = h.high;
      highs[id] = h.high;
    }
  }

 private:
  /// Fills the unit that starts `at` bytes into an array of slots, of which `count` have elements.
  template <class X>
  static ESPALIER_INLINE void fill(unsigned char* bytes, const X* elements, unsigned at, unsigned count, X unused) {
    constexpr unsigned each = unit_bytes / sizeof(X);
    for (unsigned k = 0; k < each; ++k) {
      const unsigned s = at / sizeof(X) + k;
      const X x = s < count ? elements[s] : unused;
      memcpy(bytes + k * sizeof(X), &x, sizeof(X));
    }
  }
};

/// Writes one level of inner nodes over the level below, whose nodes are given by lowest key and number. Node i has the
/// number first + i.
template <class View>
struct write_inner_node {
  using shape = typename View::inner_shape;
  using word = typename shape::word;
  View tree;
  const word* lows;    ///< lowest keys of the level below
  const node_id* ids;  ///< if null, numbered from ids_from on
  node_id ids_from;
  std::uint64_t below;
  std::uint32_t per_node;
  std::uint32_t level;
  node_id first;
  std::uint32_t nodes;
  word* node_lows;  ///< lowest keys of this level
  ESPALIER_HD void operator()(std::size_t i) const {
    const auto node = tree.inner(static_cast<node_id>(first + i));
    const std::uint64_t begin = i * per_node;
    const std::uint64_t end = begin + per_node < below ? begin + per_node : below;
    for (unsigned s = 0; s < shape::slots; ++s) {
      const bool used = begin + s < end;
      node.keys()[s] = used ? lows[begin + s] : static_cast<word>(~word{0});
      node.values()[s] = !used ? 0 : ids != nullptr ? ids[begin + s] : ids_from + static_cast<node_id>(begin + s);
    }
    node_head<word> h;
    h.count = static_cast<std::uint32_t>(end - begin);
    h.level = level;
    if (i + 1 < nodes) {
      h.right = static_cast<node_id>(first + i + 1);
      h.high = static_cast<word>(lows[end] - 1);
    }
    *node.version() = 0;
    *node.info() = h.info();
    *node.right() = h.right;
    *node.high() = h.high;
    node_lows[i] = lows[begin];
  }
};

/// Computes lowest keys of leaves from the high keys of their left neighbours.
template <class Word>
struct low_from_highs {
  const Word* highs;
  Word* lows;
  ESPALIER_HD void operator()(std::size_t i) const { lows[i] = i == 0 ? Word{0} : static_cast<Word>(highs[i - 1] + 1); }
};

/// Marks with 1 the live leaves, or with `dead` the dead ones.
template <class View>
struct mark_leaf {
  View tree;
  bool dead;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const {
    node_head<typename View::leaf_shape::word> h;
    h.set_info(*tree.leaf(static_cast<node_id>(i)).info());
    marks[i] = h.dead == dead ? 1 : 0;
  }
};
template <class View>
struct list_leaf {
  using word = typename View::leaf_shape::word;
  View tree;
  const std::uint64_t* ranks;
  word* highs;  ///< may be null
  node_id* ids;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (ranks[i + 1] == ranks[i]) return;
    ids[ranks[i]] = static_cast<node_id>(i);
    if (highs != nullptr) highs[ranks[i]] = *tree.leaf(static_cast<node_id>(i)).high();
  }
};

/// Computes sizes of leaves in key order, to be scanned.
template <class View>
struct leaf_count {
  View tree;
  const node_id* ids;  ///< if null, in order of their numbers
  std::uint64_t* counts;
  ESPALIER_HD void operator()(std::size_t i) const {
    node_head<typename View::leaf_shape::word> h;
    h.set_info(*tree.leaf(ids == nullptr ? static_cast<node_id>(i) : ids[i]).info());
    counts[i] = h.count;
  }
};
/// Marks with 1 the leaves that are kept when empty leaves are dropped.
struct mark_not_empty {
  const std::uint64_t* offsets;  ///< elements before each leaf
  std::uint64_t leaves;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const {
    marks[i] = offsets[i + 1] != offsets[i] || i == 0 || i + 1 == leaves ? 1 : 0;
  }
};
template <class Word>
struct keep_leaf {
  const Word* highs;
  const node_id* ids;  ///< if null, in order of their numbers
  const std::uint64_t* ranks;
  Word* kept_highs;
  node_id* kept_ids;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (ranks[i + 1] == ranks[i]) return;
    kept_highs[ranks[i]] = highs[i];
    kept_ids[ranks[i]] = ids == nullptr ? static_cast<node_id>(i) : ids[i];
  }
};
/// Processes leaf i in key order: links skip empty leaves, whose key ranges are merged into the next leaf that is kept;
/// empty leaves become dead and link to that leaf.
template <class View>
struct drop_empty_leaf {
  View tree;
  const node_id* ids;  ///< if null, in order of their numbers
  const std::uint64_t* ranks;
  std::uint64_t stay;
  const node_id* kept_ids;
  node_id* dropped;  ///< numbers of the dropped leaves
  ESPALIER_HD void operator()(std::size_t i) const {
    const node_id id = ids == nullptr ? static_cast<node_id>(i) : ids[i];
    const auto node = tree.leaf(id);
    if (ranks[i + 1] != ranks[i]) {
      // The last leaf is kept, so there is always a next one.
      if (ranks[i] + 1 < stay && ranks[i + 2] == ranks[i + 1]) *node.right() = kept_ids[ranks[i] + 1];
      return;
    }
    node_head<typename View::leaf_shape::word> h;
    h.set_info(*node.info());
    h.dead = true;
    *node.info() = h.info();
    *node.right() = kept_ids[ranks[i]];
    dropped[i - ranks[i]] = id;
  }
};
/// Computes leaf_ranks (node.hpp) from the scanned counts.
struct split_rank {
  const std::uint64_t* ranks;
  std::uint64_t* bases;
  std::uint32_t* beyond;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t group = i >> leaf_ranks::shift;
    const std::uint64_t base = ranks[group << leaf_ranks::shift];
    if (i == group << leaf_ranks::shift) bases[group] = base;
    beyond[i] = static_cast<std::uint32_t>(ranks[i] - base);
  }
};
/// Copies slot i % slots of leaf i / slots in key order to the position given by the scanned counts.
template <class View>
struct copy_leaf_slot {
  using shape = typename View::leaf_shape;
  using word = typename shape::word;
  using value = typename shape::value;
  View tree;
  const node_id* ids;
  const std::uint64_t* offsets;
  word* words;
  value* values;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t place = i / shape::slots;
    const std::uint64_t at = offsets[place] + i % shape::slots;
    if (at >= offsets[place + 1]) return;
    const auto node = tree.leaf(ids == nullptr ? static_cast<node_id>(place) : ids[place]);
    words[at] = node.keys()[i % shape::slots];
    if constexpr (shape::value_bytes != 0) values[at] = node.values()[i % shape::slots];
  }
};

/// Converts words to the caller's keys, and slots to the caller's values.
template <class Word>
struct decode_key {
  scalar_kind kind;
  const Word* words;
  void* keys;
  ESPALIER_HD void operator()(std::size_t i) const { store_bits(kind, keys, i, decode_bits(kind, words[i])); }
};
template <class Value>
struct narrow_value {
  const Value* slots;
  unsigned bytes;
  unsigned char* values;
  ESPALIER_HD void operator()(std::size_t i) const {
    const auto* from = reinterpret_cast<const unsigned char*>(slots + i);
    for (unsigned b = 0; b < bytes; ++b) values[i * bytes + b] = from[b];
  }
};

}  // namespace espalier::detail
