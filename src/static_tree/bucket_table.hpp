// bucket_table.hpp - maps a key to one of up to 512 buckets that hold equal numbers of groups of a tree.
//
// Invariants:
// (1) bounds[0 .. buckets - 2] ascend; bound j is the last key of the group at which bucket j ends. The bucket of a
//     key is the number of bounds below it.
// (2) Cell c covers the keys at distances [c << shift, (c + 1) << shift) from `low`; the first cell also takes all keys
//     below, and the last one all keys above. cell[c] holds the smallest and the largest bucket of the keys of the
//     cell.
// Uniform keys need one cell and at most one or two bounds; clustered keys need a binary search in one cell.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/static_tree/layout.hpp"

namespace espalier::detail {

template <class Word>
struct bucket_table {
  static constexpr unsigned most = 512;
  static constexpr unsigned cells = 1024;

  // Without initial values, because a copy lies in shared memory.
  Word low;
  std::uint32_t shift;
  std::uint32_t buckets;      ///< at least 2
  std::uint32_t ascending;    ///< not 0: the batch ascends already, and is answered in the caller's order
  std::uint32_t cell[cells];  ///< smallest bucket, and the largest one << 16
  Word bounds[most];

  /// Bytes up to the last bound.
  [[nodiscard]] static ESPALIER_HD std::size_t bytes(unsigned buckets) {
    return offsetof(bucket_table, bounds) + buckets * sizeof(Word);
  }

  // ---- steps of a build, each of which a thread can execute for one index ------------------------------------
  /// Bound j of a tree with these groups. The base of a group is the last key of the group before it.
  [[nodiscard]] static ESPALIER_HD Word bound_of(const group_header<Word>* headers, std::uint32_t groups,
                                                 unsigned buckets, unsigned j) {
    return headers[(std::uint64_t{j} + 1) * groups / buckets].base;
  }
  /// Called once after all bounds are set; buckets >= 2.
  ESPALIER_HD void set_cell_width() {
    low = bounds[0];
    shift = 0;
    for (Word distance = static_cast<Word>(bounds[buckets - 2] - low); (distance >> shift) >= cells;) ++shift;
  }
  /// The smallest bucket of the keys of cell c; for c == cells, the last bucket.
  [[nodiscard]] ESPALIER_HD std::uint32_t first_bucket(unsigned c) const {
    if (c == 0) return 0;
    const Word distance = static_cast<Word>(Word{c} << shift);
    if (c == cells || distance > static_cast<Word>(~Word{0} - low)) return buckets - 1;
    return bounds_below(static_cast<Word>(low + distance), 0, buckets - 1);
  }
  ESPALIER_HD void set_cell(unsigned c) { cell[c] = first_bucket(c) | first_bucket(c + 1) << 16; }

  // ---- search -------------------------------------------------------------------------------------------------
  [[nodiscard]] ESPALIER_INLINE std::uint32_t bucket_of(Word x) const {
    const Word distance = static_cast<Word>(x > low ? x - low : 0) >> shift;
    const std::uint32_t both = cell[distance < cells ? static_cast<unsigned>(distance) : cells - 1];
    return bounds_below(x, both & 0xffffu, both >> 16);
  }
  /// bucket_of() for a CPU: where a cell has at most one bound, which is likely, the comparison is not a branch. Reads
  /// bounds[buckets - 1], which may have any value.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t likely_bucket_of(Word x) const {
    const Word distance = static_cast<Word>(x > low ? x - low : 0) >> shift;
    const std::uint32_t both = cell[distance < cells ? static_cast<unsigned>(distance) : cells - 1];
    const std::uint32_t from = both & 0xffffu, to = both >> 16;
    if (to - from > 1) return bounds_below(x, from, to);
    return from + (static_cast<std::uint32_t>(bounds[from] < x) & (to - from));
  }

 private:
  /// The number of bounds below x, which is one of [from, to].
  [[nodiscard]] ESPALIER_INLINE std::uint32_t bounds_below(Word x, std::uint32_t from, std::uint32_t to) const {
    while (from < to) {
      const std::uint32_t middle = (from + to) / 2;
      if (bounds[middle] < x) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
};

}  // namespace espalier::detail
