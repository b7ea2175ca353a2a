// rank_index.hpp - an index with ranks: an immutable base (static_rank_base, radix_rank_base) and pending changes. When
// these exceed a fraction of the base, the index is rebuilt.
#pragma once

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "engine/index/pending_changes.hpp"
#include "engine/index/static_rank_base.hpp"
#include "engine/index/table_index_impl.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::engine {

/// The maximum number of pending changes. A statement that changes one row copies them (about 100 us for 2^16 words),
/// and the rebuild at the limit is amortized over that many rows.
[[nodiscard]] inline std::size_t pending_limit(std::uint64_t rows, bool words) {
  return std::clamp<std::size_t>(rows / 16, 1024, words ? std::size_t{1} << 16 : std::size_t{1} << 14);
}

template <class Base>
class rank_index final : public table_index_impl {
  using key = typename Base::key;
  using pending = pending_changes<key>;

 public:
  rank_index(ordered_keys keys, const device& where) : base_(std::move(keys), where), host_(host_of(where)) {}

  index_kind kind() const override { return Base::kind(); }
  bool has_ranks() const override { return true; }

  std::vector<std::uint64_t> counts(const range_batch& ranges) const override {
    const std::vector<merged_range> found = merged(ranges);
    std::vector<std::uint64_t> out(found.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pending_.count(found[i]);
    return out;
  }

  row_lists rows(const range_batch& ranges, const row_options& options) const override {
    const std::vector<merged_range> found = merged(ranges);
    row_lists out;
    out.offsets.resize(found.size() + 1);
    for (std::size_t i = 0; i < found.size(); ++i)
      out.offsets[i + 1] = out.offsets[i] + std::min(options.limit, pending_.count(found[i]));
    out.rows.resize(out.offsets.back());
    in_parallel(found.size(), [&](std::size_t i) {
      pending_.write(found[i], base_.rows(), options.order, {0, options.limit}, out.rows.data() + out.offsets[i]);
    });
    return out;
  }

  bool gives_keys(const row_options& options) const override {
    const bool last_ones = options.order == key_order::descending && options.limit != no_limit;
    return pending_.empty() && (Base::reads_any_rank() || !last_ones);
  }

  encoded_keys keys(const range_batch& ranges, const row_options& options) const override {
    encoded_keys out;
    const bool down = options.order == key_order::descending;
    const std::vector<merged_range> found = merged(ranges);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint64_t rows = std::min(options.limit, found[i].to - found[i].from);
      const std::uint64_t from = down ? found[i].to - rows : found[i].from;
      const std::uint64_t with_key = std::min(std::max(from, base_.keyed_rows()), from + rows);
      const auto nulls = static_cast<std::size_t>(from + rows - with_key);
      if (down) out.add_nulls(nulls);
      base_.read_keys(ranges, i, {from, with_key}, options.order, out);
      if (!down) out.add_nulls(nulls);
    }
    out.fill_marks();
    return out;
  }

  std::vector<std::uint64_t> edge(const range_batch& ranges, bool last) const override {
    if (pending_.empty() && ranges.marks.empty()) return edge_of_base(ranges, last);
    const std::vector<merged_range> found = merged(ranges);
    std::vector<std::uint64_t> out(found.size(), no_row);
    const key_order order = last ? key_order::descending : key_order::ascending;
    in_parallel(found.size(), [&](std::size_t i) { pending_.write(found[i], base_.rows(), order, {0, 1}, &out[i]); });
    return out;
  }

  std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset, std::uint64_t limit) const override {
    const std::uint64_t behind = size() - std::min(size(), offset);
    std::vector<std::uint64_t> out(std::min(limit, behind));
    pending_.write(everything(), base_.rows(), order, {offset, out.size()}, out.data());
    return out;
  }

  std::shared_ptr<arrow::Array> aggregate(aggregate_function f, const summary_source& column,
                                          const range_batch& ranges) const override {
    if (f == aggregate_function::sum && pending_.empty()) {
      if (auto sums = base_.sum_on_device(column, ranges)) return sums;
    }
    const auto [summary, added] = summary_for(f, column);
    const std::vector<merged_range> found = merged(ranges);
    std::vector<summed_range> summed(found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      summed[i] = {found[i].from, found[i].to, found[i].added_from, found[i].added_to};
    return summary->answer(f, summed, added.get());
  }
  void prepare_aggregates(const summary_source& column) override {
    base_.get_ready_on_device(column);
    for (const auto f : {aggregate_function::sum, aggregate_function::min}) {
      if (can_summarize(f, column.type())) static_cast<void>(summary_for(f, column));
    }
  }

  std::unique_ptr<core_change> prepare(const keyed_rows& erased, const keyed_rows& inserted, bool unique) override {
    if (pending_.size() + erased.rows.size() + inserted.rows.size() >
        pending_limit(base_.rows().size(), base_.encoder()->form() != key_form::bytes))
      return nullptr;
    pending next = pending_;
    take_out(next, erased);
    put_in(next, inserted, unique);
    return std::make_unique<change>(*this, std::move(next));
  }

  std::optional<ordered_keys> content() const override {
    if (!pending_.empty()) return std::nullopt;
    return base_.content();
  }

  std::uint64_t size() const override { return pending_.count(everything()); }
  std::uint64_t null_rows() const override { return pending_.count(nulls()); }

  std::size_t bytes() const override {
    std::size_t total = base_.bytes() + pending_.removed.size() * 8;
    total += pending_.added.size() * sizeof(pending_row<key>);
    const std::scoped_lock lock(mutex_);
    for (const auto& [column, s] : summaries_) total += s.summary->bytes();
    return total;
  }

  std::string explain() const override {
    std::string text = Base::name();
    if (!pending_.empty()) text += fmt::format(", {} pending changes", pending_.size());
    return text;
  }
  std::string validate() const override {
    for (std::size_t i = 1; i < pending_.added.size(); ++i) {
      if (!(pending_.added[i - 1] < pending_.added[i]) || pending_.added[i - 1].at > pending_.added[i].at)
        return "pending rows are out of order";
    }
    return base_.validate();
  }

 private:
  class change final : public core_change {
   public:
    change(rank_index& core, pending next) : core_(core), next_(std::move(next)) {}
    void commit() noexcept override {
      std::swap(core_.pending_, next_);  // `next_` has the former changes now
      ++core_.version_;
    }
    void undo() noexcept override {
      std::swap(core_.pending_, next_);
      ++core_.version_;
      core_.summaries_.clear();  // erased ranks cannot be restored in them
    }
    bool undoes_later_changes() const noexcept override { return true; }

   private:
    rank_index& core_;
    pending next_;
  };

  struct cached_summary {
    std::unique_ptr<column_aggregates> summary;
    std::shared_ptr<arrow::ChunkedArray> added;  // values of the pending rows
    std::uint64_t version = 0;                   // version of the pending changes it includes
  };

  template <class Body>
  void in_parallel(std::size_t n, const Body& body) const {
    cpu_backend(host_).for_each(n, body, 1024);
  }

  [[nodiscard]] std::vector<std::uint64_t> edge_of_base(const range_batch& ranges, bool last) const {
    if (auto rows = base_.edge_on_device(ranges, last)) return std::move(*rows);
    const std::vector<rank_pair> found = base_.bounds(ranges);
    std::vector<std::uint64_t> out(found.size());
    in_parallel(found.size(), [&](std::size_t i) {
      const auto [from, to] = found[i];
      out[i] = from < to ? base_.rows()[last ? to - 1 : from] : no_row;
    });
    return out;
  }

  [[nodiscard]] merged_range everything() const { return {0, base_.rows().size(), 0, pending_.added.size()}; }
  [[nodiscard]] merged_range nulls() const {
    return {base_.keyed_rows(), base_.rows().size(), first_null(pending_), pending_.added.size()};
  }
  [[nodiscard]] static std::size_t first_null(const pending& p) {
    const auto at = std::partition_point(p.added.begin(), p.added.end(), [](const auto& a) { return !a.null; });
    return static_cast<std::size_t>(at - p.added.begin());
  }

  /// Returns the content of the ranges in the base and in the pending changes.
  [[nodiscard]] std::vector<merged_range> merged(const range_batch& ranges) const {
    using range_mark = range_batch::mark;
    std::vector<merged_range> out(ranges.size());
    const auto special = [](range_mark m) { return m != range_mark::ends && m != range_mark::from_lo; };
    const bool searched = ranges.marks.empty() || !std::all_of(ranges.marks.begin(), ranges.marks.end(), special);
    const std::vector<rank_pair> found = searched ? base_.bounds(ranges) : std::vector<rank_pair>(ranges.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const range_mark m = ranges.mark_of(i);
      if (m == range_mark::every_row) {
        out[i] = everything();
      } else if (m == range_mark::null_rows) {
        out[i] = nulls();
      } else if (m != range_mark::empty) {
        out[i] = {found[i].from, found[i].to, 0, 0};
        if (!pending_.added.empty()) add_pending(ranges, i, out[i]);
      }
    }
    return out;
  }

  void add_pending(const range_batch& ranges, std::size_t i, merged_range& range) const {
    const auto begin = pending_.added.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(first_null(pending_));
    const auto from = std::partition_point(begin, end, [&](const auto& a) { return Base::is_below(a.key, ranges, i); });
    const auto to = std::partition_point(from, end, [&](const auto& a) { return !Base::is_above(a.key, ranges, i); });
    range.added_from = static_cast<std::uint64_t>(from - begin);
    range.added_to = static_cast<std::uint64_t>(to - begin);
  }

  /// Returns the ranks of rows with these keys, or the positions where they would be inserted.
  [[nodiscard]] std::vector<rank_pair> neighbours(const keyed_rows& rows) const {
    std::vector<rank_pair> out = base_.equal_ranges(rows.keys);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (is_null_key(rows.keys, i)) out[i] = {base_.keyed_rows(), base_.rows().size()};
    }
    return out;
  }
  [[nodiscard]] bool is_null_key(const encoded_keys& keys, std::size_t i) const {
    return !base_.encoder()->is_composite() && keys.has_null(i);
  }
  [[nodiscard]] pending_row<key> entry(const keyed_rows& rows, std::size_t i, std::uint64_t at) const {
    const bool null = is_null_key(rows.keys, i);
    return {null ? key{} : Base::key_of(rows.keys, i), rows.rows[i], at, null, rows.keys.has_null(i)};
  }

  void take_out(pending& next, const keyed_rows& erased) const {
    if (erased.rows.empty()) return;
    const std::vector<rank_pair> places = neighbours(erased);
    std::vector<std::uint64_t> ranks;
    std::vector<std::uint8_t> leaves(next.added.size(), 0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t rank = base_.rows().lower_bound(places[i].from, places[i].to, erased.rows[i]);
      if (rank < places[i].to && base_.rows()[rank] == erased.rows[i]) {
        ranks.push_back(rank);
        continue;
      }
      const auto at = std::lower_bound(next.added.begin(), next.added.end(), entry(erased, i, 0));
      if (at == next.added.end() || at->row != erased.rows[i])
        throw error("internal error: row " + std::to_string(erased.rows[i]) + " is not in the index.");
      leaves[static_cast<std::size_t>(at - next.added.begin())] = 1;
    }
    std::size_t i = 0;
    std::erase_if(next.added, [&](const auto&) { return leaves[i++] != 0; });
    next.removed.insert(next.removed.end(), ranks.begin(), ranks.end());
    std::sort(next.removed.begin(), next.removed.end());
    if (std::adjacent_find(next.removed.begin(), next.removed.end()) != next.removed.end())
      throw error("internal error: a row is erased twice.");
  }

  void put_in(pending& next, const keyed_rows& inserted, bool unique) const {
    if (inserted.rows.empty()) return;
    const std::vector<rank_pair> places = neighbours(inserted);
    std::vector<pending_row<key>> rows;
    rows.reserve(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t at = base_.rows().lower_bound(places[i].from, places[i].to, inserted.rows[i]);
      rows.push_back(entry(inserted, i, at));
      if (unique && !rows.back().exempt && is_taken(next, rows.back(), places[i]))
        throw duplicate_key{inserted.rows[i]};
    }
    std::sort(rows.begin(), rows.end());
    for (std::size_t i = 1; unique && i < rows.size(); ++i) {
      if (!rows[i].exempt && rows[i].key == rows[i - 1].key) throw duplicate_key{rows[i].row};
    }
    const auto middle = static_cast<std::ptrdiff_t>(next.added.size());
    next.added.insert(next.added.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    std::inplace_merge(next.added.begin(), next.added.begin() + middle, next.added.end());
  }
  /// Returns whether another row has the key.
  [[nodiscard]] static bool is_taken(const pending& next, const pending_row<key>& row, const rank_pair& place) {
    if (next.count({place.from, place.to, 0, 0}) != 0) return true;
    pending_row<key> first = row;
    first.row = 0;
    const auto at = std::lower_bound(next.added.begin(), next.added.end(), first);
    return at != next.added.end() && !at->null && at->key == row.key;
  }

  /// Returns the column's aggregates, brought up to date, and the values of pending rows.
  [[nodiscard]] std::pair<const column_aggregates*, std::shared_ptr<arrow::ChunkedArray>> summary_for(
      aggregate_function f, const summary_source& column) const {
    const std::scoped_lock lock(mutex_);
    cached_summary& cached = summaries_[column.column];
    if (!cached.summary) {
      cached.summary = column_aggregates::make(column, base_.rows(), host_);
      cached.version = version_ + 1;  // out of date
    }
    if (cached.version != version_) {
      std::vector<std::uint64_t> rows;
      for (const auto& a : pending_.added) rows.push_back(a.row);
      cached.added = rows.empty() ? nullptr : column.at(rows);
      cached.summary->erase(pending_.removed);
      cached.version = version_;
    }
    cached.summary->prepare_aggregates(f);
    return {cached.summary.get(), cached.added};
  }

  Base base_;
  device host_;
  pending pending_;
  std::uint64_t version_ = 0;  // version of `pending_`
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, cached_summary> summaries_;
};

}  // namespace espalier::engine
