// storage.hpp - the memory of one static tree and the view of it that searches use.
#pragma once

#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/index.hpp"  // inner_levels_view
#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

template <class Word, unsigned ValueBytes>
struct tree_storage {
  raw_buffer lines;
  raw_buffer headers;
  raw_buffer cells;
  raw_buffer subtables;
  raw_buffer prefix;  // aggregates (aggregate_view)
  raw_buffer sums;
  raw_buffer minima;
  raw_buffer maxima;
  std::uint64_t cell_count = 0;
  std::uint64_t subtable_count = 0;
  unsigned table_levels = 0;
  aggregates kept = aggregates::none;
  tree_view<Word, ValueBytes> view;

  /// From now on the memory is freed in the order of this stream, which must follow all other uses of the memory.
  void set_stream(const stream& s) {
    for (raw_buffer* const part : {&lines, &headers, &cells, &subtables, &prefix, &sums, &minima, &maxima})
      part->set_stream(s);
  }
  [[nodiscard]] tree_stats stats() const {
    using shape = tree_shape<Word, ValueBytes>;
    tree_stats s;
    s.size = view.size;
    s.leaf_bytes = lines.bytes();
    s.inner_bytes = headers.bytes() + cells.bytes() + subtables.bytes();
    s.aggregate_bytes = prefix.bytes() + sums.bytes() + minima.bytes() + maxima.bytes();
    s.bytes = s.leaf_bytes + s.inner_bytes + s.aggregate_bytes;
    s.groups = view.groups;
    s.table_levels = table_levels;
    s.height =
        view.size == 0 ? 0 : table_levels * 2 - 1 + 2;  // a sub-table costs its entry and its cell; then header, line
    const std::uint64_t slots = (view.size + shape::keys_per_line - 1) / shape::keys_per_line * shape::keys_per_line;
    s.fill = slots == 0 ? 0 : static_cast<double>(view.size) / static_cast<double>(slots);
    return s;
  }
};

[[nodiscard]] constexpr bool keeps(aggregates kept, aggregates wanted) {
  return (static_cast<unsigned>(kept) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

template <class Word, unsigned ValueBytes>
[[nodiscard]] inner_levels_view<Word> inner_levels_view_of(const tree_storage<Word, ValueBytes>& tree) {
  const auto& t = tree.view;
  inner_levels_view<Word> image;
  image.view.headers = t.headers;
  image.view.cells = t.cells;
  image.view.subtables = t.subtables;
  image.view.root = t.root;
  image.view.first = t.first;
  image.view.last = t.last;
  image.view.size = t.size;
  image.view.groups = t.groups;
  image.view.key = t.key;
  image.header_bytes = tree.headers.bytes();
  image.cell_bytes = tree.cells.bytes();
  image.subtable_bytes = tree.subtables.bytes();
  return image;
}

}  // namespace espalier::detail
