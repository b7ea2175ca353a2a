// blink_host_tree.cpp - the regular layout: a B-link tree in host memory.
//
// Its inner levels are the tree's express lane. Invariant: the lane does not change between two writes, so pointers
// into it and line numbers stay valid. Reads would rebuild a lane that is too stale; if such a lane is kept, the tree
// is therefore marked as having live refs (blink_index::view), until maintain() or a merge ends that.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "device/with_memory.hpp"
#include "espalier/blink_tree/index.hpp"
#include "hybrid_tree/host_tree.hpp"
#include "hybrid_tree/rank_directory.hpp"

namespace espalier::detail {
namespace {

class blink_host_tree final : public host_tree {
 public:
  blink_host_tree(const device& host, element_type elements, double fill, const void* keys, const void* values,
                  std::size_t n)
      : order_(host.make_stream()), tree_(build_blink_index(host, elements, {}, keys, values, n, {fill}, order_)) {
    size_ = tree_->size(order_);
    (void)record_lane();
  }

  [[nodiscard]] const untyped_reads& reads() const override { return *tree_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::size_t bytes() const override { return tree_->stats(tree_->get_device().make_stream()).bytes; }
  [[nodiscard]] validation validate() const override { return tree_->validate(); }
  [[nodiscard]] any_inner_levels_view upper() const override {
    std::size_t builds = 0;
    return tree_->upper(builds);
  }

  void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                 std::uint8_t* found) const override {
    if (!tree_->find_from(builds_, lines, keys, n, values, found)) tree_->find(keys, n, values, found, {}, now());
  }
  void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const override {
    with_directory([&](const auto& ranked) { ranked.rank(*tree_, bound, keys, n, ranks, now()); });
  }
  void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
              std::uint8_t* found) const override {
    with_directory([&](const auto& ranked) { ranked.select(*tree_, ranks, n, out_keys, out_values, found, now()); });
  }
  [[nodiscard]] std::uint64_t estimate(const void* lo, const void* hi) const override {
    return tree_->estimate(lo, hi);
  }
  void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                 const range_options& options, void* out_keys, void* out_values, std::uint64_t* counts) const override {
    if (!tree_->rows_from(builds_, lines, lo, hi, n, options, out_keys, out_values, counts))
      tree_->rows(lo, hi, n, options, out_keys, out_values, counts, now());
  }
  /// Equal keys are written in batch order.
  inner_update write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                     update_mode wish) override {
    directory_ = {};
    inner_update update;
    way_choice choice = choose_way(wish, tree_->explain(op, n, {}), bytes_of_upper(upper()));
    if (choice.way == update_mode::synchronised && !makes_room(op == write_op::erase ? 0 : n))
      choice = {update_mode::asynchronous, "there is no room for as many leaves as key by key might make."};
    const bool by_key = choice.way == update_mode::synchronised;
    std::vector<std::uint8_t> own_mask(done == nullptr ? n : 0);
    if (done == nullptr) done = own_mask.data();
    std::fill_n(done, n, std::uint8_t{0});
    const auto count_changes = [&] {
      const auto changed = static_cast<std::size_t>(std::count(done, done + n, std::uint8_t{1}));
      size_ = op == write_op::erase ? size_ - changed : op == write_op::update ? size_ : size_ + changed;
    };
    try {
      tree_->write(op, keys, values, n, done,
                   {batch_semantics::ordered, by_key ? write_path::per_key : write_path::bulk}, now());
    } catch (...) {
      count_changes();  // key by key, a part may be in the tree
      throw;
    }
    // The batch is in the tree: nothing fails for lack of memory from here on.
    count_changes();
    update.way = choice.way;
    update.reason = std::move(choice.reason);
    update.inner_changed = record_lane();
    if (tree_->needs_rebuild()) make_lane(update);
    return update;
  }

 private:
  [[nodiscard]] execution now() const { return in_separate_stream(tree_->get_device()); }

  /// Calls work(directory). The first call after a write makes it.
  template <class Work>
  void with_directory(const Work& work) const {
    const auto make_and_use = [&]<class Word>(Word) {
      using made = std::unique_ptr<const rank_directory<Word>>;
      std::unique_lock lock(directory_mutex_);
      if (!std::holds_alternative<made>(directory_))
        directory_ = std::make_unique<const rank_directory<Word>>(*tree_, size_, now());
      const auto& ranked = *std::get<made>(directory_);
      lock.unlock();  // no write comes during a read
      work(ranked);
    };
    if (bytes_of(tree_->elements().key) <= 4) {
      make_and_use(std::uint32_t{});
    } else {
      make_and_use(std::uint64_t{});
    }
  }

  /// Reserves for the worst case of n inserts, so that none of them fails halfway. From now on nothing moves unless
  /// requested.
  [[nodiscard]] bool makes_room(std::size_t n) {
    try {
      tree_->view(n, nullptr);
      return true;
    } catch (const error&) {
      return false;
    }
  }
  /// If there is no memory for a new lane, the existing one still leads to every leaf.
  void make_lane(inner_update& update) {
    // Copied for comparison, if it is the lane that the device has. Without memory for the copy, the new lane is sent
    // as a whole.
    static_cast<void>(with_memory([&] {
      if (!update.inner_changed) update.before = copy_inner_levels(tree_->get_device(), upper(), inner_room::exact);
    }));
    if (!with_memory([&] { tree_->maintain(order_); })) tree_->view(0, nullptr);
    if (record_lane()) update.inner_changed = true;
  }
  /// Records which lane there is; returns whether it has changed since the last call. Dropping the lane of a small tree
  /// does not count as a build.
  bool record_lane() {
    std::size_t builds = 0;
    const any_inner_levels_view image = tree_->upper(builds);
    const std::size_t lines = std::visit([](const auto& i) { return std::size_t{i.view.size}; }, image);
    const bool other = builds != builds_ || lines != lines_;
    builds_ = builds;
    lines_ = lines;
    return other;
  }

  stream order_;
  std::unique_ptr<blink_index> tree_;
  // The lane as of the last write: line numbers of another lane are not used.
  std::size_t builds_ = 0, lines_ = 0;
  // Counted by the writes: the tree itself does not know its size while it is marked as having live refs.
  std::size_t size_ = 0;
  mutable std::mutex directory_mutex_;
  mutable std::variant<std::monostate, std::unique_ptr<const rank_directory<std::uint32_t>>,
                       std::unique_ptr<const rank_directory<std::uint64_t>>>
      directory_;
};

}  // namespace

way_choice choose_way(update_mode wish, const write_explanation& by_cost, std::size_t inner_bytes) {
  if (wish != update_mode::automatic) return {wish, "asked for."};
  // In batch order, including the share of a new lane that each new leaf costs, key by key takes 1.1 to 2.7 times as
  // long on two cores as predicted by the tree's model, which is for keys in any order; where both ways cost the same,
  // about 1.4. On 16 cores both estimates are too low, by 2 for large batches and more for small ones (probably because
  // of waking threads); the choice is the same except for 2^20 new keys in 2^26, where it costs a tenth
  // (docs/design/hybrid-tree.md).
  constexpr double in_order = 1.4;
  constexpr double bytes_per_second = 20e9;  // to a GPU from memory that is not pinned
  const double by_key = by_cost.per_key_seconds * in_order;
  const double whole = by_cost.bulk_seconds + static_cast<double>(inner_bytes) / bytes_per_second;
  char text[160];
  std::snprintf(text, sizeof(text), "key by key about %.3g s, merged and sent as a whole about %.3g s.", by_key, whole);
  return {by_key < whole ? update_mode::synchronised : update_mode::asynchronous, text};
}

std::unique_ptr<host_tree> make_blink_host_tree(const device& host, element_type elements, double fill,
                                                const void* keys, const void* values, std::size_t n) {
  return std::make_unique<blink_host_tree>(host, elements, fill, keys, values, n);
}

}  // namespace espalier::detail
