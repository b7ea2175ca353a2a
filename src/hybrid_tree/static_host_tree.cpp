// static_host_tree.cpp - the implicit layout: a static tree in host memory, rebuilt by every write.
#include <algorithm>
#include <vector>

#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/layout.hpp"
#include "hybrid_tree/host_tree.hpp"
#include "hybrid_tree/sort_unique_pairs.hpp"

namespace espalier::detail {
namespace {

class static_host_tree final : public host_tree {
 public:
  static_host_tree(const device& host, element_type elements, aggregates keep, const void* keys, const void* values,
                   std::size_t n)
      : cpu_(host), elements_(elements), keep_(has_numbers() ? keep : aggregates::none) {
    tree_ = made_of(unique(keys, values, n));
  }

  [[nodiscard]] const untyped_reads& reads() const override { return *tree_; }
  [[nodiscard]] std::size_t size() const override { return tree_->stats().size; }
  [[nodiscard]] std::size_t bytes() const override { return tree_->stats().bytes; }
  [[nodiscard]] validation validate() const override { return tree_->validate(); }
  [[nodiscard]] any_inner_levels_view upper() const override { return tree_->upper(); }
  [[nodiscard]] const static_index* lines() const override { return tree_.get(); }

  void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                 std::uint8_t* found) const override {
    tree_->find_from(lines, keys, n, values, found);
  }
  void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const override {
    tree_->rank(bound, keys, n, ranks, {}, now());
  }
  void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
              std::uint8_t* found) const override {
    tree_->select(ranks, n, out_keys, out_values, found, now());
  }
  /// Exact, because the tree has ranks.
  [[nodiscard]] std::uint64_t estimate(const void* lo, const void* hi) const override {
    std::uint64_t counted = 0;
    tree_->count(lo, hi, 1, {}, &counted, now());
    return counted;
  }
  void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                 const range_options& options, void* out_keys, void* out_values, std::uint64_t* counts) const override {
    tree_->rows_from(lines, lo, hi, n, options, out_keys, out_values, counts);
  }
  inner_update write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                     update_mode) override {
    inner_update update{update_mode::automatic, true, nullptr, "the implicit layout is rebuilt."};
    const std::vector<std::uint8_t> changes = marks_of(op, keys, n);
    tree_ = op == write_op::erase ? made_of(without(keys, n)) : made_of(with(keys, values, n));
    if (done != nullptr) std::copy(changes.begin(), changes.end(), done);
    return update;
  }

 private:
  [[nodiscard]] const device& host() const { return cpu_.get_device(); }
  [[nodiscard]] execution now() const { return in_separate_stream(host()); }
  [[nodiscard]] bool has_numbers() const {
    return elements_.value_bytes == 0 || elements_.value != scalar_kind::opaque;
  }
  [[nodiscard]] bool has_small_words() const { return bytes_of(elements_.key) <= 4; }

  [[nodiscard]] pair_columns unique(const void* keys, const void* values, std::size_t n) const {
    return has_small_words() ? unique_pairs<std::uint32_t>(cpu_, elements_, keys, values, n)
                             : unique_pairs<std::uint64_t>(cpu_, elements_, keys, values, n);
  }
  [[nodiscard]] std::unique_ptr<static_index> made_of(const pair_columns& pairs) const {
    require_line_numbers(elements_, pairs.n);
    build_options options;
    options.sorted = true;
    options.keep = keep_;
    return build_static_index(host(), elements_, pairs.keys.data(), pairs.values.data(), pairs.n, options, now());
  }
  /// Returns all pairs in key order.
  [[nodiscard]] pair_columns all() const {
    pair_columns out = room_for_pairs(host(), elements_, size());
    const buffer<std::uint64_t> ranks(host(), out.n);
    cpu_.for_each(out.n, [&](std::size_t i) { ranks.data()[i] = i; });
    tree_->select(ranks.data(), out.n, out.keys.data(), elements_.value_bytes == 0 ? nullptr : out.values.data(),
                  nullptr, now());
    return out;
  }
  [[nodiscard]] pair_columns with(const void* keys, const void* values, std::size_t n) const {
    const pair_columns old = all();
    const pair_columns both = room_for_pairs(host(), elements_, old.n + n);
    cpu_.for_each(old.n, [&](std::size_t i) { copy_pair(elements_, old.keys.data(), old.values.data(), i, both, i); });
    cpu_.for_each(n, [&](std::size_t i) { copy_pair(elements_, keys, values, i, both, old.n + i); });
    return unique(both.keys.data(), both.values.data(), both.n);
  }
  [[nodiscard]] pair_columns without(const void* keys, std::size_t n) const {
    const buffer<std::uint64_t> ranks(host(), n), stays(host(), size() + 1);
    const buffer<std::uint8_t> found(host(), n);
    tree_->find(keys, n, nullptr, found.data(), {}, now());
    tree_->rank(bound_type::lower, keys, n, ranks.data(), {}, now());
    const pair_columns old = all();
    cpu_.for_each(old.n, [&](std::size_t i) { stays.data()[i] = 1; });
    stays.data()[old.n] = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (found.data()[i] != 0) stays.data()[ranks.data()[i]] = 0;
    }
    cpu_.exclusive_scan(stays.data(), stays.data(), old.n + 1);
    pair_columns left = room_for_pairs(host(), elements_, stays.data()[old.n]);
    cpu_.for_each(old.n, [&](std::size_t i) {
      if (stays.data()[i + 1] != stays.data()[i])
        copy_pair(elements_, old.keys.data(), old.values.data(), i, left, stays.data()[i]);
    });
    return left;
  }
  /// Marks with 1 the first element of each key that is inserted, or erased.
  [[nodiscard]] std::vector<std::uint8_t> marks_of(write_op op, const void* keys, std::size_t n) const {
    return has_small_words() ? marks_of<std::uint32_t>(op, keys, n) : marks_of<std::uint64_t>(op, keys, n);
  }
  template <class Word>
  [[nodiscard]] std::vector<std::uint8_t> marks_of(write_op op, const void* keys, std::size_t n) const {
    std::vector<std::uint8_t> marks(n), found(n);
    tree_->find(keys, n, nullptr, found.data(), {}, now());
    const sorted_words<Word> sorted(cpu_, elements_.key, keys, n);
    const std::uint8_t wanted = op == write_op::erase ? 1 : 0;
    cpu_.for_each(n, [&](std::size_t i) {
      const std::uint64_t place = sorted.place[i];
      const bool first = i == 0 || sorted.word[i - 1] != sorted.word[i];
      marks[place] = first && found[place] == wanted ? 1 : 0;
    });
    return marks;
  }

  cpu_backend cpu_;
  element_type elements_;
  aggregates keep_;
  std::unique_ptr<static_index> tree_;
};

}  // namespace

unsigned keys_per_line(const element_type& e) {
  const auto of = [&]<class Word>(Word) -> unsigned {
    switch (value_slot(e.value_bytes)) {
      case 0:
        return tree_shape<Word, 0>::keys_per_line;
      case 4:
        return tree_shape<Word, 4>::keys_per_line;
      case 8:
        return tree_shape<Word, 8>::keys_per_line;
      default:
        return tree_shape<Word, 16>::keys_per_line;
    }
  };
  return bytes_of(e.key) <= 4 ? of(std::uint32_t{}) : of(std::uint64_t{});
}

void require_line_numbers(const element_type& e, std::uint64_t n) {
  constexpr std::uint64_t most_lines = 0xffffffffu;  // the last number means no line
  const std::uint64_t most = most_lines * keys_per_line(e);
  if (n > most) {
    throw error("hybrid_tree: the implicit layout has at most 2^32 - 1 lines of leaves, which for these types are " +
                std::to_string(most) + " elements, and was given " + std::to_string(n) +
                "; split the data over several trees, or use a static_tree on the CPU.");
  }
}

std::unique_ptr<host_tree> make_static_host_tree(const device& host, element_type elements, aggregates keep,
                                                 const void* keys, const void* values, std::size_t n) {
  return std::make_unique<static_host_tree>(host, elements, keep, keys, values, n);
}

}  // namespace espalier::detail
