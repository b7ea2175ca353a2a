// tree_index.hpp - an index on an updatable tree that maps each key to one value: a B-link tree, or a hybrid tree,
// whose leaves are in host memory. Keys with several rows have a list of them (posting_lists.hpp).
//
// The tree has no ranks: counting reads the range, and aggregates read the rows of a range. A change is written to the
// tree when it is prepared, and reverted if it is not committed. If memory is insufficient for the revert, the index is
// marked as broken and every query throws.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "engine/index/host_device.hpp"
#include "engine/index/posting_lists.hpp"
#include "engine/index/table_index_impl.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"

namespace espalier::engine {

/// The interface that differs between the two trees.
template <class Word>
struct blink_side {
  using tree = blink_tree<Word, std::uint64_t>;
  static constexpr index_kind kind = index_kind::blink;

  static tree build(std::span<const Word> keys, std::span<const std::uint64_t> values, const device& where) {
    return tree::build(keys, values, {}, where);
  }
  static void assign(tree& t, std::span<const Word> keys, std::span<const std::uint64_t> values) {
    t.insert_or_assign(keys, values);
  }
  static void erase(tree& t, std::span<const Word> keys) { t.erase(keys); }
  static std::size_t bytes(const tree& t) { return t.stats().bytes; }
  static std::string about(const tree&) { return {}; }
};

template <class Word>
struct hybrid_side {
  using tree = hybrid_tree<Word, std::uint64_t>;
  static constexpr index_kind kind = index_kind::hybrid;

  static tree build(std::span<const Word> keys, std::span<const std::uint64_t> values, const device& where) {
    return tree::build(keys, values, {.layout = hybrid_layout::regular}, where);
  }
  static void assign(tree& t, std::span<const Word> keys, std::span<const std::uint64_t> values) {
    t.insert_or_assign(keys, values);
  }
  static void erase(tree& t, std::span<const Word> keys) { t.erase(keys); }
  static std::size_t bytes(const tree& t) {
    const hybrid_stats s = t.stats();
    return s.host_bytes + s.device_bytes;
  }
  static std::string about(const tree& t) { return "; " + t.explain(); }
};

/// The values of the elements of each range, in key order.
struct value_lists {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> values;
};

template <class Side, class Word>
class tree_index final : public table_index_impl {
 public:
  tree_index(const ordered_keys& keys, const device& where);

  index_kind kind() const override { return Side::kind; }
  bool has_ranks() const override { return false; }
  std::vector<std::uint64_t> counts(const range_batch& ranges) const override;
  std::vector<std::uint64_t> estimates(const range_batch& ranges) const override;
  row_lists rows(const range_batch& ranges, const row_options& options) const override;
  bool gives_keys(const row_options& options) const override {
    return options.order == key_order::ascending || options.limit == no_limit;
  }
  encoded_keys keys(const range_batch& ranges, const row_options& options) const override;
  std::vector<std::uint64_t> edge(const range_batch& ranges, bool last) const override;
  std::shared_ptr<arrow::Array> aggregate(aggregate_function f, const summary_source& column,
                                          const range_batch& ranges) const override;
  std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset, std::uint64_t limit) const override;
  std::unique_ptr<core_change> prepare(const keyed_rows& erased, const keyed_rows& inserted, bool unique) override;
  std::optional<ordered_keys> content() const override { return std::nullopt; }
  bool is_whole() const noexcept override { return !broken_; }
  std::uint64_t size() const override { return size_; }
  std::uint64_t null_rows() const override { return lists_.rows(posting_lists::nulls).size(); }
  std::size_t bytes() const override { return Side::bytes(tree_) + lists_.bytes(); }
  std::string explain() const override { return fmt::format("{}-bit words{}", 8 * sizeof(Word), Side::about(tree_)); }
  std::string validate() const override { return tree_.validate().problem; }

 private:
  class change;
  struct word_range {
    Word lo, hi;
  };

  void require_whole() const;
  [[nodiscard]] bool is_null_key(const encoded_keys& keys, std::size_t i) const {
    return !encoder_->is_composite() && keys.has_null(i);
  }
  /// Returns the range as keys of the tree, or nothing if it is empty or has NULL keys.
  [[nodiscard]] static std::optional<word_range> ends(const range_batch& ranges, std::size_t i);
  [[nodiscard]] static bool takes_nulls(range_batch::mark m) {
    return m == range_batch::mark::null_rows || m == range_batch::mark::every_row;
  }
  /// The bounds of the ranges in the form that the tree takes; ranges without bounds are empty.
  struct word_ends {
    std::vector<Word> lo, hi;
  };
  [[nodiscard]] static word_ends all_ends(const range_batch& ranges);
  [[nodiscard]] value_lists values_up(const range_batch& ranges, std::uint64_t limit) const;
  [[nodiscard]] value_lists values_down(const range_batch& ranges, std::uint64_t limit) const;
  [[nodiscard]] value_lists step_down(const range_batch& ranges, std::uint64_t limit) const;

  std::shared_ptr<const key_encoder> encoder_;
  device host_;
  posting_lists lists_;
  typename Side::tree tree_;
  std::uint64_t size_ = 0;
  bool broken_ = false;
};

}  // namespace espalier::engine
