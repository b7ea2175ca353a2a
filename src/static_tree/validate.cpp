// validate.cpp - recomputes each part from the one below it and compares.
#include "static_tree/validate.hpp"

#include <string>
#include <vector>

#include "espalier/static_tree/search.hpp"
#include "espalier/team/scalar_team.hpp"
#include "static_tree/build_kernels.hpp"

namespace espalier::detail {
namespace {

/// A part of the tree in host memory.
class host_part {
 public:
  host_part(const raw_buffer& part, const device& dev, const stream& order) : data_(part.data()) {
    if (part.data() == nullptr || dev.kind() == device_kind::cpu) return;
    copy_.resize(part.bytes());
    dev.copy(copy_.data(), part.data(), part.bytes(), order);
    order.synchronize();
    data_ = copy_.data();
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  std::vector<std::byte> copy_;
  const void* data_;
};

template <class Word, unsigned ValueBytes>
class checker {
  using shape = tree_shape<Word, ValueBytes>;
  using agg = aggregator<Word, ValueBytes>;
  using agg_shape = aggregate_shape<Word, ValueBytes>;

 public:
  checker(const tree_storage<Word, ValueBytes>& tree, const device& dev, const stream& order)
      : lines_(tree.lines, dev, order),
        headers_(tree.headers, dev, order),
        cells_(tree.cells, dev, order),
        subtables_(tree.subtables, dev, order),
        prefix_(tree.prefix, dev, order),
        sums_(tree.sums, dev, order),
        minima_(tree.minima, dev, order),
        maxima_(tree.maxima, dev, order),
        tree_(tree),
        view_(tree.view) {
    view_.lines = lines_.as<std::byte>();
    view_.headers = headers_.as<group_header<Word>>();
    view_.cells = cells_.as<std::uint32_t>();
    view_.subtables = subtables_.as<subtable<Word>>();
    view_.aggregate.prefix = prefix_.as<void>();
    view_.aggregate.sums = sums_.as<double>();
    view_.aggregate.minima = minima_.as<void>();
    view_.aggregate.maxima = maxima_.as<void>();
  }

  [[nodiscard]] validation operator()() {
    if (view_.size == 0) return {};
    std::string problem = keys();
    if (problem.empty()) problem = headers();
    if (problem.empty()) problem = cells();
    if (problem.empty()) problem = descents();
    if (problem.empty()) problem = aggregate();
    return {problem.empty(), problem};
  }

 private:
  static std::string at(const char* what, std::uint64_t dev) {
    return std::string(what) + " at " + std::to_string(dev);
  }

  [[nodiscard]] std::string keys() {
    words_.resize(view_.size);
    for (std::uint64_t r = 0; r < view_.size; ++r) {
      words_[r] = view_.key_at(r);
      if (r > 0 && words_[r] < words_[r - 1]) return at("keys do not ascend", r);
    }
    if (words_.front() != view_.first || words_.back() != view_.last)
      return "first or last key is not that of the lines";
    const std::uint64_t slots = (view_.size + shape::keys_per_line - 1) / shape::keys_per_line * shape::keys_per_line;
    for (std::uint64_t r = view_.size; r < slots; ++r) {
      if (view_.key_at(r) != view_.last) return at("padding is not the last key", r);
    }
    return {};
  }

  [[nodiscard]] std::string headers() {
    std::vector<std::uint8_t> expected(std::size_t{view_.groups} * 32);
    const write_header_byte<Word, ValueBytes> write{words_.data(), expected.data(), words_.size()};
    for (std::size_t i = 0; i < expected.size(); ++i) write(i);
    const auto* actual = headers_.as<std::uint8_t>();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (actual[i] != expected[i]) return at("header byte differs, group", i / 32);
    }
    return {};
  }

  /// Checks the cells of one table: they begin as (4) of layout.hpp states, or name a sub-table that covers their
  /// groups.
  [[nodiscard]] std::string table(const subtable<Word>& s, unsigned level) {
    subtable<Word> alone = s;
    alone.offset = 0;
    const cell_rule<Word, ValueBytes> rule{
        words_.data(), words_.size(), view_.groups, &alone, 1, 0, level + 1 == max_table_levels};
    for (std::uint32_t i = 0; i <= s.last; ++i) {
      if (s.offset + std::uint64_t{i} >= tree_.cell_count) return at("a table reaches past the cells, cell", i);
      const std::uint32_t cell = view_.cells[s.offset + std::uint64_t{i}];
      const auto c = rule(i);
      if ((cell & subtable_flag) == 0) {
        const std::uint32_t expected = c.group < view_.groups ? c.group : view_.groups - 1;
        if (c.is_crowded || cell != expected) return at("cell names the wrong group", s.offset + std::uint64_t{i});
        continue;
      }
      const std::uint32_t id = cell & ~subtable_flag;
      if (!c.is_crowded || id >= tree_.subtable_count)
        return at("cell names a wrong sub-table", s.offset + std::uint64_t{i});
      const auto fitted = rule.child(c);
      const auto& child = view_.subtables[id];
      if (child.base != fitted.base || child.high != fitted.high || child.last != fitted.last ||
          child.shift != fitted.shift || child.group != fitted.group) {
        return at("sub-table does not fit its crowd", id);
      }
      if (child.shift == subtable<Word>::search_only) continue;
      if (auto problem = table(child, level + 1); !problem.empty()) return problem;
    }
    return {};
  }
  [[nodiscard]] std::string cells() { return table(view_.root, 0); }

  /// Checks that a search finds the first element of every run of equal keys.
  [[nodiscard]] std::string descents() {
    using search = searcher<scalar_team, Word, ValueBytes>;
    const scalar_team team;
    for (std::uint64_t r = 0; r < view_.size; ++r) {
      if (r > 0 && words_[r] == words_[r - 1]) continue;
      if (search::rank_in(team, view_, search::descend(team, view_, words_[r]), words_[r]) != r)
        return at("search misses the key", r);
    }
    return {};
  }

  [[nodiscard]] std::string aggregate() {
    if constexpr (ValueBytes != 16) {
      if (view_.aggregate.prefix != nullptr) {
        typename agg::sum_type sum = 0;
        for (std::uint64_t r = 0; r <= view_.size; ++r) {
          if (r % agg_shape::sum_block == 0 &&
              static_cast<const typename agg::sum_type*>(view_.aggregate.prefix)[r / agg_shape::sum_block] != sum) {
            return at("prefix sum differs", r);
          }
          if (r < view_.size) sum += agg::integer_at(view_, r);
        }
      }
      if (view_.aggregate.sums != nullptr) {
        if (auto p = blocks<add_doubles>("sum tree differs", view_.aggregate.sums, view_.aggregate.sum_blocks);
            !p.empty())
          return p;
      }
      if (view_.aggregate.minima != nullptr) {
        using word = typename agg_shape::word;
        auto p = blocks<smaller_word<word>>("minimum tree differs", static_cast<const word*>(view_.aggregate.minima),
                                            view_.aggregate.bound_blocks);
        if (p.empty()) {
          p = blocks<larger_word<word>>("maximum tree differs", static_cast<const word*>(view_.aggregate.maxima),
                                        view_.aggregate.bound_blocks);
        }
        return p;
      }
    }
    return {};
  }

  template <class Op>
  [[nodiscard]] std::string blocks(const char* what, const typename Op::type* tree, std::uint64_t leaves) {
    using type = typename Op::type;
    std::vector<type> level(leaves);
    const aggregate_leaf<Word, ValueBytes, Op> leaf{view_, level.data()};
    for (std::uint64_t b = 0; b < leaves; ++b) leaf(b);
    for (;;) {
      for (std::size_t i = 0; i < level.size(); ++i) {
        const bool both_nan = level[i] != level[i] && tree[i] != tree[i];
        if (level[i] != tree[i] && !both_nan) return at(what, i);
      }
      if (level.size() == 1) return {};
      std::vector<type> above((level.size() + agg_shape::fanout - 1) / agg_shape::fanout);
      const aggregate_node<Op, agg_shape::fanout> node{level.data(), level.size(), above.data()};
      for (std::size_t i = 0; i < above.size(); ++i) node(i);
      tree += level.size();
      level = std::move(above);
    }
  }

  host_part lines_, headers_, cells_, subtables_, prefix_, sums_, minima_, maxima_;
  const tree_storage<Word, ValueBytes>& tree_;
  tree_view<Word, ValueBytes> view_;
  std::vector<Word> words_;
};

}  // namespace

template <class Word, unsigned ValueBytes>
validation check_tree(const tree_storage<Word, ValueBytes>& tree, const device& dev, const stream& order) {
  return checker<Word, ValueBytes>(tree, dev, order)();
}

template validation check_tree(const tree_storage<std::uint32_t, 0>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint32_t, 4>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint32_t, 8>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint32_t, 16>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint64_t, 0>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint64_t, 4>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint64_t, 8>&, const device&, const stream&);
template validation check_tree(const tree_storage<std::uint64_t, 16>&, const device&, const stream&);

}  // namespace espalier::detail
