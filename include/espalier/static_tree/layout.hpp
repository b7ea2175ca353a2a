// layout.hpp - memory layout of the static tree.
//
//   cells    one u32 per slice of the key range: the first group that can hold a key of the slice, or a
//            reference to a sub-table where more than `crowded` groups end in one slice
//   headers  one 32-byte sector per group of lines: 8-bit truncated separators choose the line
//   lines    a 32-byte sector of keys, then their values: the elements in key order without gaps
//
// A point query reads one cell, one header and one line. Of these three dependent accesses only the line comes from an
// array that does not fit into a GPU's L2. Everything is addressed by rank: line = rank / keys_per_line.
//
// Invariants:
// (1) Keys ascend over all lines; equal keys are in input order. Slots after the last element repeat the last key.
// (2) Group g covers lines [g * lines_per_group, ...). Its base is the last key of group g - 1 (for group 0: the
//     first key), so a query whose lower bound lies in g is never below base.
// (3) separators[j] = (last key of line j - base) >> shift, which is at most 255; 255 where the line is missing.
//     Routing rule: a line whose separator is below the query's truncated key holds only smaller keys. Separators
//     equal to it are undecided: the search reads the lines themselves, from the first undecided one on.
// (4) A cell names the first group whose last key is not below the lowest key of the cell, so that the group of
//     any query of the cell is that one or one of the next `crowded` ones. Where more groups end in a cell that is
//     wider than one key, it names a sub-table instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/index/value_slot.hpp"

namespace espalier {

/// Used in place of ValueBytes for an index over keys that are stored elsewhere, one per line, and that only returns
/// lines. The express lane of blink_tree is one: its lines are leaves.
inline constexpr unsigned external_keys = ~0u;
template <>
struct value_raw<external_keys> {
  struct type {};
};

template <class Word, unsigned ValueBytes>
struct tree_shape {
  using word = Word;
  using value = typename value_raw<ValueBytes>::type;
  static constexpr unsigned value_bytes = ValueBytes;
  static constexpr unsigned keys_per_line = ValueBytes == external_keys ? 1 : 32 / sizeof(Word);
  static constexpr unsigned first_separator = sizeof(Word) + 1;  // bytes of base and shift
  static constexpr unsigned lines_per_group = 32 - first_separator;
  static constexpr unsigned keys_per_group = keys_per_line * lines_per_group;
  static constexpr unsigned line_bytes =
      keys_per_line * (sizeof(Word) + (ValueBytes == external_keys ? 0 : ValueBytes));
};

/// The header sector, which selects a line of a group. It is read as 32 bytes; separators start at byte
/// `first_separator`.
template <class Word>
struct alignas(32) group_header {
  Word base;
  std::uint8_t shift;
  std::uint8_t separators[31 - sizeof(Word)];
};
static_assert(sizeof(group_header<std::uint32_t>) == 32 && sizeof(group_header<std::uint64_t>) == 32);

/// A cell in which more groups than this end gets a sub-table.
inline constexpr unsigned crowded = 4;
/// Up to this number of groups are searched by bisection rather than by a table: bisection takes four steps, two tables
/// take four accesses. Not tuned.
inline constexpr unsigned halved = 16;
/// Data that cluster at every scale (log-uniform keys, for example) get this number of table levels, then bisection.
inline constexpr unsigned max_table_levels = 3;
/// A cell with this bit names a sub-table; otherwise it names a group.
inline constexpr std::uint32_t subtable_flag = 0x80000000u;

/// Keys [base, high] divided into cells of width 2^shift: cell i begins at base + (i << shift), the first cell also
/// takes all keys below base, and the last one all keys above. A sub-table spans only the groups that end in its cell,
/// so a cluster is resolved in one step, however small it is compared to the slice that contains it. Few groups, and
/// clusters that remain on the last level, are searched by bisection: `shift` is search_only, and the group is one of
/// [group, group + last].
template <class Word>
struct subtable {
  static constexpr std::uint32_t search_only = 255;
  Word base = 0;
  Word high = 0;
  std::uint32_t offset = 0;  ///< index of its first cell
  std::uint32_t last = 0;    ///< number of its last cell
  std::uint32_t shift = 0;
  std::uint32_t group = 0;

  [[nodiscard]] ESPALIER_INLINE std::size_t cell_of(Word x) const {
    const Word distance = static_cast<Word>((x > base ? x - base : 0)) >> shift;
    return offset + static_cast<std::size_t>(distance < last ? distance : last);
  }
};

/// Block aggregates (aggregate.hpp). A null pointer means that the aggregate is not kept. Trees of blocks are stored
/// level by level, leaves first.
struct aggregate_view {
  const void* prefix = nullptr;  ///< integers: exact sum before each block, then the total
  const double* sums = nullptr;  ///< floats: tree of block sums
  const void* minima = nullptr;  ///< trees of order-preserving words
  const void* maxima = nullptr;
  std::uint64_t sum_blocks = 0;  ///< number of leaves of the trees
  std::uint64_t bound_blocks = 0;
};

/// Everything that a search needs. Trivially copyable, passed to kernels by value.
template <class Word, unsigned ValueBytes>
struct tree_view {
  const std::byte* lines = nullptr;
  const group_header<Word>* headers = nullptr;
  const std::uint32_t* cells = nullptr;
  const subtable<Word>* subtables = nullptr;
  subtable<Word> root;
  Word first = 0;  ///< smallest and largest key; meaningless if size is 0
  Word last = 0;
  std::uint64_t size = 0;
  std::uint32_t groups = 0;
  scalar_kind key = scalar_kind::u32;
  scalar_kind value = scalar_kind::opaque;
  unsigned value_bytes = 0;  ///< size of the caller's type, at most ValueBytes
  aggregate_view aggregate;

  using word = Word;
  using shape = tree_shape<Word, ValueBytes>;
  static constexpr unsigned slot_bytes = ValueBytes;

  [[nodiscard]] ESPALIER_HD const Word* line_keys(std::uint64_t line) const {
    return reinterpret_cast<const Word*>(lines + line * shape::line_bytes);
  }
  [[nodiscard]] ESPALIER_HD const typename shape::value* line_values(std::uint64_t line) const {
    return reinterpret_cast<const typename shape::value*>(lines + line * shape::line_bytes + 32);
  }
  [[nodiscard]] ESPALIER_HD Word key_at(std::uint64_t rank) const {
    return line_keys(rank / shape::keys_per_line)[rank % shape::keys_per_line];
  }
  [[nodiscard]] ESPALIER_HD typename shape::value value_at(std::uint64_t rank) const {
    return line_values(rank / shape::keys_per_line)[rank % shape::keys_per_line];
  }
};

/// Truncated distance of a key from its group's base. The separators are made by the same function.
template <class Word>
[[nodiscard]] ESPALIER_INLINE std::uint8_t truncate(Word key, Word base, unsigned shift) {
  const Word distance = static_cast<Word>(key - base) >> shift;
  return distance > 255 ? std::uint8_t{255} : static_cast<std::uint8_t>(distance);
}

}  // namespace espalier
