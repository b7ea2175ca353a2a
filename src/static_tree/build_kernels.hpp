// build_kernels.hpp - kernels that compute the parts of a static tree from the sorted words: one function object per
// part, for one element of it, run by for_each on any device. layout.hpp states the invariants.
#pragma once

#include <bit>
#include <cstdint>

#include "espalier/static_tree/aggregate.hpp"
#include "espalier/static_tree/layout.hpp"

namespace espalier::detail {

/// Converts the caller's keys to words.
template <class Word>
struct encode_key {
  scalar_kind kind;
  const void* keys;
  Word* words;
  ESPALIER_HD void operator()(std::size_t i) const { words[i] = encode_bits(kind, load_bits<Word>(kind, keys, i)); }
};

/// Converts the caller's values, which may be narrower, to zero-extended slots.
template <unsigned ValueBytes>
struct widen_value {
  const unsigned char* values;
  unsigned bytes;
  typename value_raw<ValueBytes>::type* slots;
  ESPALIER_HD void operator()(std::size_t i) const { slots[i] = load_value<ValueBytes>(bytes, values, i); }
};

/// place[i] = i: the original position of a query, before a batch is sorted.
struct number_places {
  std::uint32_t* place;
  ESPALIER_HD void operator()(std::size_t i) const { place[i] = static_cast<std::uint32_t>(i); }
};

/// Marks keys that are below their predecessor; a scan of the marks tells whether keys ascend.
template <class Word>
struct mark_descent {
  const Word* words;
  std::uint64_t* marks;
  std::size_t n, stride;  // mark i covers words [i * stride, (i + 1) * stride]
  ESPALIER_HD void operator()(std::size_t i) const {
    std::size_t end = (i + 1) * stride < n - 1 ? (i + 1) * stride : n - 1;
    std::uint64_t found = 0;
    for (std::size_t j = i * stride; j < end; ++j) found |= words[j + 1] < words[j] ? 1 : 0;
    marks[i] = found;
  }
};

/// Writes 16 bytes of the lines: whole units are read and written at once, so that neighbouring GPU threads write
/// neighbouring units.
template <class Word, unsigned ValueBytes>
struct write_unit {
  using shape = tree_shape<Word, ValueBytes>;
  struct alignas(16) unit {
    std::uint64_t low, high;
  };
  static constexpr unsigned units_per_line = shape::line_bytes / 16;
  const Word* words;
  const typename shape::value* values;
  std::byte* lines;
  std::size_t n;

  template <class T>
  static ESPALIER_INLINE unit slice(const T* elements, std::size_t first, std::size_t n, T padding) {
    constexpr unsigned count = 16 / sizeof(T);
    unit u;
    if (first + count <= n) {
      u = *reinterpret_cast<const unit*>(elements + first);
    } else {
      T tail[count];
      for (unsigned j = 0; j < count; ++j) tail[j] = first + j < n ? elements[first + j] : padding;
      memcpy(&u, tail, 16);
    }
    return u;
  }
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t line = i / units_per_line;
    const unsigned part = static_cast<unsigned>(i % units_per_line);
    const std::size_t first = line * shape::keys_per_line;
    unit u{};
    if (part < 2) {
      u = slice(words, first + part * (16 / sizeof(Word)), n, words[n - 1]);
    } else if constexpr (ValueBytes != 0) {
      u = slice(values, first + (part - 2) * (16 / ValueBytes), n, typename shape::value{});
    }
    reinterpret_cast<unit*>(lines)[i] = u;
  }
};

/// Returns the last key of a group.
template <class Word, unsigned ValueBytes>
ESPALIER_INLINE Word group_high(const Word* words, std::size_t n, std::size_t group) {
  const std::size_t end = (group + 1) * tree_shape<Word, ValueBytes>::keys_per_group;
  return words[(end < n ? end : n) - 1];
}

/// Writes byte i % 32 of header i / 32: 32 neighbouring GPU threads write one sector.
template <class Word, unsigned ValueBytes>
struct write_header_byte {
  using shape = tree_shape<Word, ValueBytes>;
  const Word* words;
  std::uint8_t* headers;
  std::size_t n;
  ESPALIER_HD void operator()(std::size_t i) const {
    const std::size_t group = i / 32;
    const unsigned byte = static_cast<unsigned>(i % 32);
    const Word base = group == 0 ? words[0] : words[group * shape::keys_per_group - 1];
    if (byte < sizeof(Word)) {
      headers[i] = static_cast<std::uint8_t>(base >> (8 * byte));
      return;
    }
    Word width = group_high<Word, ValueBytes>(words, n, group) - base;
    unsigned bits = 0;
    for (; width != 0; width >>= 1) ++bits;
    const unsigned shift = bits > 8 ? bits - 8 : 0;
    if (byte == sizeof(Word)) {
      headers[i] = static_cast<std::uint8_t>(shift);
      return;
    }
    const std::size_t first = group * shape::keys_per_group + (byte - shape::first_separator) * shape::keys_per_line;
    const std::size_t end = first + shape::keys_per_line;
    headers[i] = first < n ? truncate(words[(end < n ? end : n) - 1], base, shift) : std::uint8_t{255};
  }
};

/// The same for a whole header, on a CPU.
template <class Word, unsigned ValueBytes>
struct write_header {
  using shape = tree_shape<Word, ValueBytes>;
  const Word* words;
  group_header<Word>* headers;
  std::size_t n;
  void operator()(std::size_t group) const {
    const std::size_t first = group * shape::keys_per_group;
    group_header<Word>& h = headers[group];
    h.base = words[group == 0 ? 0 : first - 1];
    const Word width = group_high<Word, ValueBytes>(words, n, group) - h.base;
    const auto bits = static_cast<unsigned>(std::bit_width(width));
    h.shift = static_cast<std::uint8_t>(bits > 8 ? bits - 8 : 0);
    for (unsigned line = 0; line < shape::lines_per_group; ++line) {
      const std::size_t begin = first + std::size_t{line} * shape::keys_per_line, end = begin + shape::keys_per_line;
      h.separators[line] = begin < n ? truncate(words[(end < n ? end : n) - 1], h.base, h.shift) : std::uint8_t{255};
    }
  }
};

// ---- the top table -------------------------------------------------------------------------------------------

/// Returns a table over [base, high] with about `cells` cells; the caller sets its offset.
template <class Word>
[[nodiscard]] ESPALIER_INLINE subtable<Word> fit_table(Word base, Word high, std::uint64_t cells) {
  subtable<Word> s;
  s.base = base;
  s.high = high;
  Word range = high - base;
  if (static_cast<Word>(range + 1) != 0) ++range;  // one cell past `high`, so that queries above it skip its groups
  while ((range >> s.shift) >= cells) ++s.shift;
  s.last = static_cast<std::uint32_t>(range >> s.shift);
  return s;
}

/// Computes the cells of one level.
template <class Word, unsigned ValueBytes>
struct cell_rule {
  const Word* words;
  std::size_t n;
  std::uint32_t groups;
  const subtable<Word>* tables;  ///< tables of this level, with ascending offsets
  std::uint64_t table_count;
  std::uint64_t level_offset;  ///< index of the level's first cell among all cells
  bool last_level;             ///< there are no tables below this level

  struct content {
    std::uint32_t group;  ///< first group with a last key in the cell
    std::uint32_t end;    ///< one past the last
    bool is_crowded;
  };

  /// Returns the first group whose last key is not below `key`; it is not before `low`.
  ESPALIER_INLINE std::uint32_t first_group(Word key, std::uint32_t low = 0) const {
    std::uint32_t high = groups;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (group_high<Word, ValueBytes>(words, n, middle) < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  ESPALIER_INLINE std::uint32_t first_group_near(Word key, std::uint32_t low) const {
    for (unsigned steps = 0; steps < 8; ++steps, ++low) {
      if (low == groups || group_high<Word, ValueBytes>(words, n, low) >= key) return low;
    }
    return first_group(key, low);
  }
  ESPALIER_INLINE const subtable<Word>& table_of(std::size_t cell) const {
    std::uint64_t low = 0, high = table_count;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (tables[middle].offset - level_offset <= cell) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return tables[low];
  }
  ESPALIER_INLINE content operator()(std::size_t cell) const { return content_of(cell, nullptr); }
  /// Uses the content of the previous cell: the groups of cells of one table are contiguous.
  ESPALIER_INLINE content content_of(std::size_t cell, const content* before) const {
    const subtable<Word>& s = table_of(cell);
    const auto local = static_cast<std::uint32_t>(cell - (s.offset - level_offset));
    const Word key = static_cast<Word>(s.base + (static_cast<Word>(local) << s.shift));
    const Word next = local < s.last ? static_cast<Word>(key + (Word{1} << s.shift)) : static_cast<Word>(s.high + 1);
    content c;
    if (before != nullptr && key > s.base) {  // neither the first cell nor one beyond the largest key
      c.group = before->end;
      c.end = next == 0 ? groups : first_group_near(next, c.group);
    } else {
      c.group = first_group(key);
      c.end = next == 0 ? groups : first_group(next);
    }
    c.is_crowded = c.end > c.group + crowded && s.shift > 0;
    return c;
  }
  /// The sub-table of a crowded cell: about two cells per group, but at least six bits of the key.
  ESPALIER_INLINE subtable<Word> child(const content& c) const {
    const std::uint64_t inside = c.end - c.group;
    const Word base = group_high<Word, ValueBytes>(words, n, c.group);
    const Word high = group_high<Word, ValueBytes>(words, n, c.end - 1);
    if (!last_level && inside > halved) return fit_table(base, high, inside < 32 ? 64 : 2 * inside);
    subtable<Word> s;
    s.base = base;
    s.high = high;
    s.shift = subtable<Word>::search_only;
    s.group = c.group;
    s.last = (c.end < groups ? c.end : groups - 1) - c.group;
    return s;
  }
  /// Number of cells of a sub-table.
  static ESPALIER_INLINE std::uint64_t room_of(const subtable<Word>& s) {
    return s.shift == subtable<Word>::search_only ? 0 : std::uint64_t{s.last} + 1;
  }
};

template <class Word, unsigned ValueBytes>
struct write_cell {
  cell_rule<Word, ValueBytes> rule;
  std::uint32_t* cells;  ///< cells of this level
  std::uint64_t* flags;  ///< 1 where a sub-table is needed
  std::uint64_t* rooms;  ///< cells of that sub-table
  ESPALIER_HD void operator()(std::size_t i) const { write(i, rule(i)); }
  /// Computes cells in sequence on a CPU, so that no cell searches all groups.
  void operator()(std::size_t first, std::size_t last) const {
    auto c = rule(first);
    for (std::size_t i = first;;) {
      write(i, c);
      if (++i == last) return;
      c = rule.content_of(i, &c);
    }
  }

 private:
  ESPALIER_INLINE void write(std::size_t i, const typename cell_rule<Word, ValueBytes>::content& c) const {
    cells[i] = c.group < rule.groups ? c.group : rule.groups - 1;
    flags[i] = c.is_crowded ? 1 : 0;
    rooms[i] = c.is_crowded ? rule.room_of(rule.child(c)) : 0;
  }
};

/// Writes the sub-tables of crowded cells; flags and rooms are already scanned and one longer than the cells.
template <class Word, unsigned ValueBytes>
struct write_subtable {
  cell_rule<Word, ValueBytes> rule;
  std::uint64_t next_level_offset;  ///< index of the first cell of the new tables
  std::uint32_t first_id;           ///< number of the first new table
  const std::uint64_t* flags;
  const std::uint64_t* rooms;
  std::uint32_t* cells;
  subtable<Word>* tables;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (flags[i + 1] == flags[i]) return;
    subtable<Word> s = rule.child(rule(i));
    s.offset = static_cast<std::uint32_t>(next_level_offset + rooms[i]);
    tables[flags[i]] = s;
    cells[i] = subtable_flag | (first_id + static_cast<std::uint32_t>(flags[i]));
  }
};

// ---- aggregates ------------------------------------------------------------------------------------------------

template <class Word, unsigned ValueBytes>
struct sum_block_exact {
  using agg = aggregator<Word, ValueBytes>;
  tree_view<Word, ValueBytes> tree;
  typename agg::sum_type* sums;
  ESPALIER_HD void operator()(std::size_t block) const {
    const std::uint64_t first = block * agg::shape::sum_block;
    const std::uint64_t end = first + agg::shape::sum_block < tree.size ? first + agg::shape::sum_block : tree.size;
    typename agg::sum_type sum = 0;
    for (std::uint64_t r = first; r < end; ++r) sum += agg::integer_at(tree, r);
    sums[block] = sum;
  }
};

/// Computes a leaf of a block tree.
template <class Word, unsigned ValueBytes, class Op>
struct aggregate_leaf {
  using agg = aggregator<Word, ValueBytes>;
  static constexpr bool doubles = std::is_same_v<Op, add_doubles>;
  static constexpr unsigned block_size = doubles ? agg::shape::sum_block : agg::shape::bound_block;
  tree_view<Word, ValueBytes> tree;
  typename Op::type* level;
  ESPALIER_HD void operator()(std::size_t block) const {
    const std::uint64_t first = block * block_size;
    const std::uint64_t end = first + block_size < tree.size ? first + block_size : tree.size;
    auto total = Op::identity();
    for (std::uint64_t r = first; r < end; ++r) {
      if constexpr (doubles) {
        total = Op::combine(total, agg::double_at(tree, r));
      } else {
        total = Op::combine(total, agg::word_at(tree, r));
      }
    }
    level[block] = total;
  }
};

/// Computes a node of a block tree from the level below.
template <class Op, unsigned Fanout>
struct aggregate_node {
  const typename Op::type* below;
  std::uint64_t size_below;
  typename Op::type* level;
  ESPALIER_HD void operator()(std::size_t node) const {
    const std::uint64_t first = node * Fanout;
    const std::uint64_t end = first + Fanout < size_below ? first + Fanout : size_below;
    auto total = Op::identity();
    for (std::uint64_t i = first; i < end; ++i) total = Op::combine(total, below[i]);
    level[node] = total;
  }
};

}  // namespace espalier::detail
