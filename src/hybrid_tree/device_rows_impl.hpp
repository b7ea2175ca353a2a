// device_rows_impl.hpp - rows of ranges by a device that reads leaves in host memory: the steps after the window's
// lower ends were searched and sorted by line.
//
// A row needs up to `most` lines from the line of its lower end on. Lines of neighbours overlap, and each is fetched
// once: the lines of a part are numbered in order, and element i brings those that its left neighbour has not brought.
// If a window has so many rows that most lines are needed, all lines are copied, chunk by chunk, because copies get
// more of the bus bandwidth than reads.
#pragma once

#include "espalier/core/config.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "hybrid_tree/leaf_cache.hpp"

namespace espalier::detail {

/// Number of GPU threads that read host memory concurrently. This saturates the bus; with twice as many, downloads get
/// less than half of its bandwidth, with more a tenth (docs/design/hybrid-tree.md, what limits it).
inline constexpr std::size_t bus_readers = 96 * 256;

/// Lines of a part of a window.
struct row_lines {
  const std::uint32_t* first;   ///< first line of each element, ascending
  const std::uint64_t* placed;  ///< number of lines that the previous elements have brought
  std::uint32_t* places;        ///< place of the copy of each brought line
  std::uint64_t most;           ///< maximum number of lines for one element
  std::uint64_t lines;          ///< lines of the tree

  [[nodiscard]] ESPALIER_INLINE std::uint64_t end(std::size_t i) const {
    const std::uint64_t e = first[i] + most;
    return e < lines ? e : lines;
  }
  /// Returns the first line that element i brings, if it is before its end.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t brought(std::size_t i) const {
    const std::uint64_t known = i == 0 ? 0 : end(i - 1);
    return known > first[i] ? known : first[i];
  }
  /// Returns the number of the element's first line among those that were brought.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t number(std::size_t i) const {
    return placed[i] - (brought(i) - first[i]);
  }
  /// Returns the place of the copy of line `number`.
  [[nodiscard]] ESPALIER_INLINE std::uint64_t place(std::uint64_t number) const {
    return places[number] & ~leaf_cache::to_fetch;
  }
};

struct count_row_lines {
  row_lines of;
  std::uint64_t* counts;
  ESPALIER_HD void operator()(std::size_t i) const { counts[i] = of.end(i) - of.brought(i); }
};

/// One step per line that an element may need.
struct place_row_lines {
  row_lines of;
  leaf_cache cache;
  std::uint32_t now;     ///< number of the window
  std::uint32_t staged;  ///< first place that belongs to this part alone
  ESPALIER_HD void operator()(std::size_t t) const {
    const std::size_t i = t / of.most;
    const std::uint64_t line = of.first[i] + t % of.most;
    if (line < of.brought(i) || line >= of.end(i)) return;
    const std::uint64_t number = of.number(i) + t % of.most;
    of.places[number] =
        cache.place_or(staged + static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(line), now);
  }
};

/// One step per piece of each line that an element may need.
template <class Piece, unsigned pieces>
struct fetch_row_lines {
  static constexpr std::size_t most_at_once = bus_readers;
  row_lines of;
  const Piece* leaves;
  Piece* copies;
  ESPALIER_HD void operator()(std::size_t t) const {
    const std::size_t i = t / (pieces * of.most), k = t / pieces % of.most, piece = t % pieces;
    const std::uint64_t line = of.first[i] + k;
    if (line < of.brought(i) || line >= of.end(i)) return;
    const std::uint32_t place = of.places[of.number(i) + k];
    if ((place & leaf_cache::to_fetch) == 0) return;
    copies[std::size_t{place & ~leaf_cache::to_fetch} * pieces + piece] = leaves[line * pieces + piece];
  }
};

/// A run of lines that is copied as a whole, for the rows that begin in it. The last lines of a row may be after it, so
/// its copy has most - 1 more lines.
struct line_chunk {
  const std::uint32_t* first;  ///< line of each element of the window, ascending
  std::uint64_t begin;         ///< its first line
  std::uint64_t most;          ///< lines for one element
  std::uint64_t lines;         ///< lines of the tree

  [[nodiscard]] ESPALIER_INLINE std::uint64_t end(std::size_t i) const {
    const std::uint64_t e = first[i] + most;
    return e < lines ? e : lines;
  }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t number(std::size_t i) const { return first[i] - begin; }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t place(std::uint64_t number) const { return number; }
};

/// Computes the first element of each chunk.
struct cut_into_chunks {
  const std::uint32_t* lines;  ///< lines of n elements, ascending
  std::size_t n;
  std::uint64_t chunk;  ///< lines per chunk
  std::uint32_t* cuts;
  ESPALIER_HD void operator()(std::size_t c) const {
    const std::uint64_t begin = c * chunk;
    std::size_t low = 0, high = n;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (lines[middle] < begin) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    cuts[c] = static_cast<std::uint32_t>(low);
  }
};

/// `Lines` is row_lines or line_chunk.
template <class Word, unsigned V, class Lines>
struct list_rows {
  using view = tree_view<Word, V>;
  static constexpr unsigned per_line = view::shape::keys_per_line;

  range_head_job<Word, V> job;  ///< its tree's lines are in host memory, all else is in the device's memory
  Lines of;
  const std::uint32_t* order;  ///< position of each element in the window
  const std::byte* copies;

  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t element = order[i];
    const bool above = job.ends == interval::left_open || job.ends == interval::open;
    const bool below = job.ends == interval::right_open || job.ends == interval::open;
    const Word lo = encode_bits(job.tree.key, load_bits<Word>(job.tree.key, job.keys, element));
    const Word hi = encode_bits(job.tree.key, load_bits<Word>(job.tree.key, job.hi, element));
    const std::uint64_t number = of.number(i), copied = of.end(i);
    std::uint64_t count = 0;
    bool more = true;
    for (std::uint64_t line = of.first[i]; more && line < of.lines; ++line) {
      // A line beyond its copies is read only if truncated separators did not distinguish lines.
      const std::byte* at = line < copied ? copies + of.place(number + (line - of.first[i])) * view::shape::line_bytes
                                          : job.tree.lines + line * view::shape::line_bytes;
      for (unsigned s = 0; s < per_line && more; ++s) {
        const Word key = reinterpret_cast<const Word*>(at)[s];
        if (key < lo || (above && key == lo)) continue;
        more = count < job.limit && line * per_line + s < job.tree.size && (below ? key < hi : key <= hi);
        if (more) store(at, s, key, element * job.limit + count++);
      }
    }
    job.tell(element, count);
  }

 private:
  ESPALIER_HD void store(const std::byte* line, unsigned s, Word key, std::size_t to) const {
    if (job.out_keys != nullptr) store_bits(job.tree.key, job.out_keys, to, decode_bits(job.tree.key, key));
    if constexpr (V != 0) {
      if (job.out_values == nullptr) return;
      using raw = typename value_raw<V>::type;
      const raw v = reinterpret_cast<const raw*>(line + 32)[s];
      if (job.tree.value_bytes == V) {
        static_cast<raw*>(job.out_values)[to] = v;
      } else {
        memcpy(static_cast<std::byte*>(job.out_values) + to * job.tree.value_bytes, &v, job.tree.value_bytes);
      }
    }
  }
};

/// Lists rows of elements [cuts[0], cuts[1]), some per step.
template <class Word, unsigned V>
struct list_chunk {
  list_rows<Word, V, line_chunk> rows;
  const std::uint32_t* cuts;
  std::size_t steps;
  ESPALIER_HD void operator()(std::size_t step) const {
    for (std::size_t i = cuts[0] + step; i < cuts[1]; i += steps) rows(i);
  }
};

}  // namespace espalier::detail
