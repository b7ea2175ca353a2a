// build.hpp - builds a static tree from pairs in any order, one implementation over a Context.
//
// A Context executes the steps on one device (cpu_executor.hpp, cuda_executor.cuh), all in the order of one stream:
//   get_device(), order()                  the device and the stream
//   for_each(n, body)                      body(i) for each i
//   sort_from(keys, sorted, values, sorted, n, bits)     stable; keeps its input, may replace the buffers
//   sort_pairs(keys, alt, values, alt, value_bytes, n, bits)   true if the result is in the alternates
//   exclusive_scan(in, out, n)
//   copy(to, from, bytes), zero(to, bytes), fill(to, byte, bytes)
//   read(p)                                waits for one element of device memory
//   read_async(p)                          the same asynchronously, in stream order; get() waits for it
//   launch(job, n, search)                 run(team, job, ...) over [0, n)
//   root_cells(groups, word_bytes)         number of cells of the top table
//
// Memory traffic for u32/u32 and n elements, in addition to the sort: lines 16n, headers 4n bytes; other key types:
// encode 8n.
#pragma once

#include <utility>
#include <vector>

#include "espalier/static_tree/index.hpp"
#include "static_tree/build_kernels.hpp"
#include "static_tree/storage.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned ValueBytes>
class builder {
  using shape = tree_shape<Word, ValueBytes>;
  using agg_shape = aggregate_shape<Word, ValueBytes>;
  using value = typename shape::value;
  using storage = tree_storage<Word, ValueBytes>;

 public:
  builder(Context& context, element_type elements, const build_options& options)
      : context_(context), elements_(elements), options_(options) {}

  /// Builds headers and table over words that are sorted and stay in place (external_keys). n > 0.
  [[nodiscard]] storage over(const Word* sorted, std::size_t n) requires(ValueBytes == external_keys) {
    storage tree;
    tree.view.size = n;
    tree.view.lines = reinterpret_cast<const std::byte*>(sorted);
    words_ = sorted;
    write_headers(tree);
    write_table(tree);
    return tree;
  }

  [[nodiscard]] storage operator()(const void* keys, const void* values, std::size_t n) {
    storage tree;
    tree.kept = options_.keep;
    tree.view.key = elements_.key;
    tree.view.value = elements_.value;
    tree.view.value_bytes = elements_.value_bytes;
    tree.view.size = n;
    if (n == 0) return tree;
    load(keys, values, n);
    order(n);
    write_lines(tree);
    write_headers(tree);
    write_table(tree);
    value_memory_ = {};
    word_memory_ = {};
    write_aggregates(tree);
    return tree;
  }

 private:
  // ---- elements: words_ and values_ point to them, finally sorted --------------------------------------------------
  template <class T>
  [[nodiscard]] buffer<T> scratch(std::size_t n) {
    return buffer<T>(context_.get_device(), n, context_.order());
  }
  [[nodiscard]] raw_buffer room(std::size_t bytes) {
    return raw_buffer(context_.get_device(), bytes, context_.order());
  }

  /// Returns `p` if the device can read it, otherwise a copy in `hold`.
  [[nodiscard]] const void* local(const void* p, std::size_t bytes, raw_buffer& hold) {
    if (context_.get_device().is_local(p)) return p;
    hold = room(bytes);
    context_.copy(hold.data(), p, bytes);
    return hold.data();
  }

  // True for memory aligned to 16 bytes, because the lines are written in such units.
  [[nodiscard]] bool usable(const void* p) const {
    return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && context_.get_device().is_local(p);
  }

  /// Sets words_ and values_ in input order. The caller's memory is not copied if it has the required form already.
  void load(const void* keys, const void* values, std::size_t n) {
    const bool words_already = elements_.key == scalar_kind::u32 || elements_.key == scalar_kind::u64;
    if (words_already && usable(keys)) {
      words_ = static_cast<const Word*>(keys);
    } else {
      raw_buffer hold;
      word_memory_ = scratch<Word>(n);
      context_.for_each(
          n, encode_key<Word>{elements_.key, local(keys, n * bytes_of(elements_.key), hold), word_memory_.data()});
      words_ = word_memory_.data();
    }
    if constexpr (ValueBytes != 0) {
      if (elements_.value_bytes == ValueBytes && usable(values)) {
        values_ = static_cast<const value*>(values);
        return;
      }
      value_memory_ = scratch<value>(n);
      values_ = value_memory_.data();
      if (elements_.value_bytes == ValueBytes) {
        context_.copy(value_memory_.data(), values, n * ValueBytes);
      } else {
        raw_buffer hold;
        const void* from = local(values, n * elements_.value_bytes, hold);
        context_.for_each(n, widen_value<ValueBytes>{static_cast<const unsigned char*>(from), elements_.value_bytes,
                                                     value_memory_.data()});
      }
    }
  }

  [[nodiscard]] bool ascends(std::size_t n) {
    if (n < 2) return true;
    constexpr std::size_t stride = 64;
    const std::size_t marks = (n - 1 + stride - 1) / stride;
    auto flags = scratch<std::uint64_t>(marks + 1);
    context_.zero(flags.data() + marks, sizeof(std::uint64_t));
    context_.for_each(marks, mark_descent<Word>{words_, flags.data(), n, stride});
    context_.exclusive_scan(flags.data(), flags.data(), marks + 1);
    return context_.read(flags.data() + marks) == 0;
  }

  void order(std::size_t n) {
    if (options_.sorted || Context::checks_order) {
      if (ascends(n)) return;
      if (options_.sorted) {
        throw error(
            "build: the keys were promised to ascend and do not; leave out build_options::sorted to have them sorted.");
      }
    }
    auto words = scratch<Word>(n);
    auto values = scratch<value>(ValueBytes == 0 ? 0 : n);
    context_.sort_from(words_, words, values_, values, n);
    word_memory_ = std::move(words);
    value_memory_ = std::move(values);
    words_ = word_memory_.data();
    values_ = value_memory_.data();
  }

  // ---- lines and headers ---------------------------------------------------------------------------------
  void write_lines(storage& tree) {
    const std::size_t n = tree.view.size;
    const std::size_t lines = (n + shape::keys_per_line - 1) / shape::keys_per_line;
    tree.lines =
        raw_buffer(context_.get_device(), lines * shape::line_bytes, context_.order(), allocation_hint::leaves);
    context_.for_each(lines * shape::line_bytes / 16,
                      write_unit<Word, ValueBytes>{words_, values_, static_cast<std::byte*>(tree.lines.data()), n});
    tree.view.lines = static_cast<const std::byte*>(tree.lines.data());
  }

  void write_headers(storage& tree) {
    const std::size_t n = tree.view.size;
    const std::size_t groups = (n + shape::keys_per_group - 1) / shape::keys_per_group;
    if (groups >= subtable_flag)
      throw error("build: more elements than a static tree can number; split the data over several trees.");
    tree.headers = room(groups * sizeof(group_header<Word>));
    auto first = context_.read_async(words_), last = context_.read_async(words_ + n - 1);
    if constexpr (Context::on_gpu) {
      context_.for_each(
          groups * 32, write_header_byte<Word, ValueBytes>{words_, static_cast<std::uint8_t*>(tree.headers.data()), n});
    } else {
      context_.for_each(
          groups, write_header<Word, ValueBytes>{words_, static_cast<group_header<Word>*>(tree.headers.data()), n});
    }
    tree.view.headers = static_cast<const group_header<Word>*>(tree.headers.data());
    tree.view.groups = static_cast<std::uint32_t>(groups);
    tree.view.first = first.get();
    tree.view.last = last.get();
  }

  // ---- the top table: level by level, until no cell is crowded --------------------------------------------
  void write_table(storage& tree) {
    // Cells are numbered in 32 bits, including those of sub-tables.
    constexpr std::uint64_t most_cells = std::uint64_t{1} << 31;
    const std::uint64_t root_cells = context_.root_cells(tree.view.groups, sizeof(Word));
    tree.view.root = fit_table(tree.view.first, tree.view.last, root_cells < most_cells ? root_cells : most_cells);
    std::vector<buffer<std::uint32_t>> cells;
    std::vector<buffer<subtable<Word>>> tables;
    tables.push_back(scratch<subtable<Word>>(1));
    context_.copy(tables[0].data(), &tree.view.root, sizeof(subtable<Word>));
    std::uint64_t offset = 0, level_cells = std::uint64_t{tree.view.root.last} + 1;
    std::uint32_t ids = 0;
    for (;;) {
      const cell_rule<Word, ValueBytes> rule{words_,
                                             tree.view.size,
                                             tree.view.groups,
                                             tables.back().data(),
                                             tables.back().size(),
                                             offset,
                                             tree.table_levels + 1 == max_table_levels};
      cells.push_back(scratch<std::uint32_t>(level_cells));
      auto flags = scratch<std::uint64_t>(level_cells + 1);
      auto rooms = scratch<std::uint64_t>(level_cells + 1);
      context_.zero(flags.data() + level_cells, 8);
      context_.zero(rooms.data() + level_cells, 8);
      context_.for_each(level_cells,
                        write_cell<Word, ValueBytes>{rule, cells.back().data(), flags.data(), rooms.data()});
      context_.exclusive_scan(flags.data(), flags.data(), level_cells + 1);
      context_.exclusive_scan(rooms.data(), rooms.data(), level_cells + 1);
      const std::uint64_t crowded_cells = context_.read(flags.data() + level_cells);
      ++tree.table_levels;
      if (crowded_cells == 0) break;
      const std::uint64_t next_cells = context_.read(rooms.data() + level_cells);
      tables.push_back(scratch<subtable<Word>>(crowded_cells));
      context_.for_each(level_cells,
                        write_subtable<Word, ValueBytes>{rule, offset + level_cells, ids, flags.data(), rooms.data(),
                                                         cells.back().data(), tables.back().data()});
      ids += static_cast<std::uint32_t>(crowded_cells);
      if (next_cells == 0) break;  // all of them are searched by bisection
      if (offset + level_cells + next_cells > 0xffffffffu) {
        throw error(
            "build: the keys need more table cells than a static tree can number; split the data over several trees.");
      }
      offset += level_cells;
      level_cells = next_cells;
    }
    tables.erase(tables.begin());  // the root is part of the view
    tree.cell_count = offset + level_cells;
    tree.subtable_count = ids;
    tree.cells = joined(cells, tree.cell_count);
    tree.subtables = joined(tables, tree.subtable_count);
    tree.view.cells = static_cast<const std::uint32_t*>(tree.cells.data());
    tree.view.subtables = static_cast<const subtable<Word>*>(tree.subtables.data());
  }

  template <class T>
  [[nodiscard]] raw_buffer joined(const std::vector<buffer<T>>& pieces, std::size_t total) {
    raw_buffer all = room(total * sizeof(T));
    auto* to = static_cast<T*>(all.data());
    for (const auto& piece : pieces) {
      context_.copy(to, piece.data(), piece.size() * sizeof(T));
      to += piece.size();
    }
    return all;
  }

  // ---- aggregates ----------------------------------------------------------------------------------------
  void write_aggregates(storage& tree) {
    if (options_.keep == aggregates::none) return;
    if (sizeof(typename agg_shape::sum) == 8 && keeps(options_.keep, aggregates::sum) && tree.view.size >> 32 != 0) {
      throw error("build: sums of more than 2^32 values might not fit 64 bits; use 64-bit values or split the data.");
    }
    if constexpr (ValueBytes != 16) {
      const scalar_kind kind = ValueBytes == 0 ? elements_.key : elements_.value;
      auto& view = tree.view.aggregate;
      if (keeps(options_.keep, aggregates::sum)) {
        view.sum_blocks = (tree.view.size + agg_shape::sum_block - 1) / agg_shape::sum_block;
        if (kind == scalar_kind::f32 || kind == scalar_kind::f64) {
          tree.sums = block_tree<add_doubles>(tree, view.sum_blocks);
          view.sums = static_cast<const double*>(tree.sums.data());
        } else {
          write_prefix(tree);
        }
      }
      if (ValueBytes != 0 && keeps(options_.keep, aggregates::min_max)) {
        using word = typename agg_shape::word;
        view.bound_blocks = (tree.view.size + agg_shape::bound_block - 1) / agg_shape::bound_block;
        tree.minima = block_tree<smaller_word<word>>(tree, view.bound_blocks);
        tree.maxima = block_tree<larger_word<word>>(tree, view.bound_blocks);
        view.minima = tree.minima.data();
        view.maxima = tree.maxima.data();
      }
    }
  }

  void write_prefix(storage& tree) {
    using sum = typename agg_shape::sum;
    const std::uint64_t entries = tree.view.size / agg_shape::sum_block + 1;  // includes the block of rank `size`
    tree.prefix = room(entries * sizeof(sum));
    auto* sums = static_cast<sum*>(tree.prefix.data());
    context_.for_each(entries, sum_block_exact<Word, ValueBytes>{tree.view, sums});
    context_.exclusive_scan(sums, sums, entries);
    tree.view.aggregate.prefix = sums;
  }

  template <class Op>
  [[nodiscard]] raw_buffer block_tree(const storage& tree, std::uint64_t leaves) {
    using type = typename Op::type;
    raw_buffer nodes = room(agg_shape::tree_nodes(leaves) * sizeof(type));
    auto* level = static_cast<type*>(nodes.data());
    context_.for_each(leaves, aggregate_leaf<Word, ValueBytes, Op>{tree.view, level});
    for (std::uint64_t size = leaves; size > 1;) {
      const std::uint64_t above = (size + agg_shape::fanout - 1) / agg_shape::fanout;
      context_.for_each(above, aggregate_node<Op, agg_shape::fanout>{level, size, level + size});
      level += size;
      size = above;
    }
    return nodes;
  }

  Context& context_;
  element_type elements_;
  build_options options_;
  const Word* words_ = nullptr;  // the caller's memory, or that of the two buffers below
  const value* values_ = nullptr;
  buffer<Word> word_memory_;
  buffer<value> value_memory_;
};

}  // namespace espalier::detail
