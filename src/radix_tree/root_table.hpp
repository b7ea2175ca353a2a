// root_table.hpp - builds the table over the first bits in which keys differ (view.hpp): from the sorted keys of a
// build, or from the nodes of a tree that has outgrown its table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/with_memory.hpp"
#include "radix_tree/build_kernels.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/storage.hpp"

namespace espalier::detail {

/// For a part of the keys: counts how many start a cell that the previous key is not in, for tables of 1, 2, ... bits.
struct count_cells {
  static constexpr unsigned most_bits = 26;
  ordered_keys keys;
  std::uint32_t at;  ///< start of the table
  std::size_t part;
  std::uint32_t* counts;  ///< most_bits counters per part
  ESPALIER_HD void operator()(std::size_t p) const {
    std::uint32_t* const own = counts + p * most_bits;
    for (unsigned b = 0; b < most_bits; ++b) own[b] = 0;
    for (std::size_t i = p * part; i < (p + 1) * part && i < keys.n; ++i) {
      const std::uint64_t bits = leading(keys[i]);
      const std::uint64_t differ = i == 0 ? ~std::uint64_t{0} : bits ^ leading(keys[i - 1]);
      if (differ == 0) continue;
      const unsigned same = leading_zeros(differ);
      for (unsigned b = same; b < most_bits; ++b) ++own[b];
    }
  }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t leading(const byte_key_view& key) const {
    const std::uint32_t word = at / 8 * 8, shift = 8 * (at % 8);
    return shift == 0 ? key.word(word) : key.word(word) << shift | key.word(word + 8) >> (64 - shift);
  }
};
/// A step from a node towards a cell.
struct cell_step {
  radix_link next;         ///< the child on the path to the keys of the cell; nothing if there are none
  bool is_lowest = false;  ///< no child is above all keys of the cell; `next` is above some of them, or nothing
};
/// symbol(at) returns a symbol of the keys of the cell; bits after the cell are ignored.
template <unsigned V, class Symbol>
ESPALIER_INLINE cell_step step_to_cell(const radix_view<V>& t, radix_link node, Symbol symbol) {
  const std::uint32_t end = 8 * t.table_at + t.table_bits;
  cell_step step;
  t.with_node(node, [&](const auto& n) {
    const std::uint32_t at = n.head.at;
    if (8 * at >= end) {
      step.is_lowest = true;
      return;
    }
    if (8 * at + 8 <= end) {
      step.next = child_of(scalar_team{}, n, symbol(at));
      return;
    }
    // Part of this byte belongs to the cell: the descent continues only if exactly one child has these bits.
    const unsigned rest = 8 * at + 8 - end, low = ((symbol(at) - 1) >> rest) << rest;
    unsigned children = 0;
    each_child(n, low + 1, [&](unsigned s, radix_link child) {
      if (s > low + (1u << rest)) return false;
      step.next = child;
      return ++children < 2;
    });
    step.is_lowest = children == 2;
  });
  return step;
}
/// Writes the cells of all keys that are the first of their cell.
template <unsigned V>
struct write_root_cell {
  radix_view<V> tree;
  ordered_keys keys;
  radix_link* cells;
  ESPALIER_HD void operator()(std::size_t i) const {
    const byte_key_view key = keys[i];
    if (!tree.in_table(key)) return;
    const std::uint32_t cell = tree.cell_of(key);
    if (i != 0 && tree.in_table(keys[i - 1]) && tree.cell_of(keys[i - 1]) == cell) return;
    cells[cell] = lowest_above(tree, key);
  }
  /// Returns the lowest link above all keys of the cell of this key, which is in the tree.
  static ESPALIER_INLINE radix_link lowest_above(const radix_view<V>& t, const byte_key_view& key) {
    radix_link l = t.root;
    while (l.is_node()) {
      const cell_step step = step_to_cell(t, l, [&](std::uint32_t at) { return symbol_at(key, at); });
      if (step.is_lowest || step.next.is_nothing()) return l;
      l = step.next;
    }
    return l;
  }
};

/// Writes cell v by a descent: it reads no key except for one that shows whether the cell has any.
template <unsigned V>
struct write_cell_of_nodes {
  radix_view<V> tree;  ///< with position and size of the table
  radix_link* cells;
  ESPALIER_HD void operator()(std::size_t v) const { cells[v] = link_of(static_cast<std::uint32_t>(v)); }

 private:
  using search = radix_searcher<scalar_team, radix_view<V>>;

  [[nodiscard]] ESPALIER_INLINE unsigned symbol_of(std::uint32_t v, std::uint32_t at) const {
    const std::uint32_t bits = v << (32 - tree.table_bits);
    return 1 + (bits >> (24 - 8 * (at - tree.table_at)) & 0xff);
  }
  /// As write_root_cell::lowest_above, or nothing if no key is in the cell.
  [[nodiscard]] ESPALIER_INLINE radix_link link_of(std::uint32_t v) const {
    radix_link l = tree.root, inside = l;  // all keys below `inside` are in one cell
    while (l.is_node()) {
      const cell_step step = step_to_cell(tree, l, [&](std::uint32_t at) { return symbol_of(v, at); });
      if (!step.next.is_nothing()) inside = step.next;
      if (step.is_lowest) break;
      if (step.next.is_nothing()) return {};
      l = step.next;
    }
    // Bytes at which no node branches were not compared.
    const leaf_key key = tree.key_of(search::first_leaf(tree, inside));
    return tree.in_table(key) && tree.cell_of(key) == v ? l : radix_link{};
  }
};
/// Counts the cells of a part that are not empty.
struct count_used_cells {
  const radix_link* cells;
  std::size_t n, part;
  std::uint32_t* counts;
  ESPALIER_HD void operator()(std::size_t p) const {
    std::uint32_t used = 0;
    for (std::size_t v = p * part; v < (p + 1) * part && v < n; ++v) used += cells[v].is_nothing() ? 0 : 1;
    counts[p] = used;
  }
};

template <class Context, unsigned V>
class root_table {
 public:
  root_table(Context& context, radix_storage<V>& tree, unsigned wish) : context_(context), tree_(tree), wish_(wish) {}

  /// Builds the table of a tree that was just built from these keys.
  void make(const ordered_keys& sorted) {
    tree_.table_suits = sorted.n;
    if (!tree_.view.root.is_node()) return;
    const std::uint32_t at = root_position();
    const unsigned bits = suggests() ? suggested_bits(sorted, at) : wish_;
    if (bits == 0) return;
    buffer<radix_link> cells = room<radix_link>(context_, std::size_t{1} << bits);
    context_.fill(cells.data(), 0xff, cells.bytes());
    adopt(std::move(cells), at, bits);
    context_.for_each(sorted.n, write_root_cell<V>{tree_.view, sorted, tree_.cells.data()});
  }

  /// Updates the table after inserts and erases, except for the cells of these keys. Returns true if all cells have
  /// been written, including theirs.
  [[nodiscard]] bool follow() {
    const std::size_t size = tree_.view.size;
    const bool has_grown = suggests() ? size >= 64 && size / 4 >= tree_.table_suits : tree_.view.table_bits < wish_;
    if (!tree_.view.root.is_node() || (tree_.view.table_bits == 0 && !has_grown)) return false;
    const std::uint32_t at = root_position();
    if (has_grown) {
      bool grew = false;
      // Without memory for it, the existing table is kept.
      static_cast<void>(with_memory([&] { grew = grow(at); }));
      tree_.table_suits = size;
      if (grew) return true;
    }
    // Keys that differ before the table's first byte could share a cell: the table starts earlier from now on.
    if (tree_.view.table_bits == 0 || at >= tree_.view.table_at) return false;
    tree_.view.table_at = at;
    context_.for_each(tree_.cells.size(), write_cell_of_nodes<V>{tree_.view, tree_.cells.data()});
    return true;
  }

 private:
  static constexpr std::size_t parts = 4096;

  [[nodiscard]] bool suggests() const { return wish_ == radix_options::automatic; }
  [[nodiscard]] std::uint32_t root_position() {
    return tree_.view.with_node(tree_.view.root, [&](const auto& n) { return context_.read(&n.head).at; });
  }
  void adopt(buffer<radix_link>&& cells, std::uint32_t at, unsigned bits) {
    tree_.cells = std::move(cells);
    tree_.view.cells = tree_.cells.data();
    tree_.view.table_at = at;
    tree_.view.table_bits = bits;
    tree_.view.table_is_exact = true;
  }
  /// The largest table that n keys get.
  [[nodiscard]] static bool may_have(unsigned bits, std::size_t n) { return (std::uint64_t{1} << bits) <= 2 * n; }
  [[nodiscard]] static bool is_worth(unsigned bits, std::uint64_t used) { return used * 8 >= std::uint64_t{1} << bits; }

  /// Returns the maximum number of bits with which at least one cell in eight is used: uniform keys get a table of one
  /// to two cells of four bytes per key (may_have), and keys that differ in few places get a small one.
  [[nodiscard]] unsigned suggested_bits(const ordered_keys& sorted, std::uint32_t at) {
    if (sorted.n < 64) return 0;
    const std::size_t part = (sorted.n + parts - 1) / parts, used = (sorted.n + part - 1) / part;
    const buffer<std::uint32_t> counts = room<std::uint32_t>(context_, used * count_cells::most_bits);
    context_.for_each(used, count_cells{sorted, at, part, counts.data()});
    const std::vector<std::uint32_t> host = host_copy(counts);
    unsigned best = 0;
    for (unsigned b = 1; b <= count_cells::most_bits; ++b) {
      std::uint64_t cells = 0;
      for (std::size_t p = 0; p < used; ++p) cells += host[p * count_cells::most_bits + b - 1];
      if (is_worth(b, cells) && may_have(b, sorted.n)) best = b;
    }
    return best;
  }
  /// The same for an existing tree; returns false if its table has as many bits already.
  [[nodiscard]] bool grow(std::uint32_t at) {
    unsigned bits = suggests() ? count_cells::most_bits : wish_;
    for (; bits > tree_.view.table_bits; --bits) {
      if (suggests() && !may_have(bits, tree_.view.size)) continue;
      buffer<radix_link> cells = room<radix_link>(context_, std::size_t{1} << bits);
      radix_view<V> then = tree_.view;
      then.table_at = at;
      then.table_bits = bits;
      context_.for_each(cells.size(), write_cell_of_nodes<V>{then, cells.data()});
      if (suggests() && !is_worth(bits, count_used(cells))) continue;
      adopt(std::move(cells), at, bits);
      return true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t count_used(const buffer<radix_link>& cells) {
    const std::size_t n = cells.size(), part = (n + parts - 1) / parts, used = (n + part - 1) / part;
    const buffer<std::uint32_t> counts = room<std::uint32_t>(context_, used);
    context_.for_each(used, count_used_cells{cells.data(), n, part, counts.data()});
    std::uint64_t sum = 0;
    for (const std::uint32_t c : host_copy(counts)) sum += c;
    return sum;
  }
  [[nodiscard]] std::vector<std::uint32_t> host_copy(const buffer<std::uint32_t>& b) {
    std::vector<std::uint32_t> host(b.size());
    context_.copy(host.data(), b.data(), b.bytes());
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return host;
  }

  Context& context_;
  radix_storage<V>& tree_;
  unsigned wish_;  ///< radix_options::table_bits
};

}  // namespace espalier::detail
