// prepared_rows.hpp - what a prepared_side consists of.
//
// Invariants:
//   1. main: keys and rows group by group; group g has positions [begin(g), begin(g + 1)). Keys of a group ascend, and
//      rows of equal keys ascend. top has the key of every position that is a multiple of top_stride.
//   2. A group has at most one tail. Keys of a tail ascend, rows of equal keys ascend, and no key of a tail is less
//      than a key of the main part of its group, unless the tail `replaces` the main part.
//   3. Rows of a tail are at or after the rows of the build, unless the tail replaces the main part.
//   4. Rows that match nothing are in neither, but count in size().
//
// Left sides that are in order and not much smaller than this side are joined by one pass over both in row order
// (asof_last_seen.hpp) if this side has groups and its rows are in key order, too. Keys and codes by row are made from
// the groups by the first such join, kept, and dropped by an append. They take 12 bytes per row for 8-byte keys.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "espalier/join/prepared_side.hpp"
#include "join/asof_last_seen.hpp"
#include "join/asof_runs.hpp"

namespace espalier::join_detail {

/// The interface that is free of the key type.
class prepared_rows {
 public:
  explicit prepared_rows(const device& dev) : dev_(dev) {}
  virtual ~prepared_rows() = default;
  virtual void append(const join_side& more) = 0;
  virtual void compact() = 0;
  virtual void asof(const join_side& left, std::span<row_number> rows, const asof_options& options) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  [[nodiscard]] virtual scalar_kind kind() const noexcept = 0;
  [[nodiscard]] virtual bool has_tails() const noexcept = 0;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t groups() const noexcept { return groups_; }
  [[nodiscard]] const device& get_device() const noexcept { return dev_; }

 protected:
  device dev_;
  std::size_t size_ = 0;
  std::uint32_t groups_ = 0;
};

template <class Key>
class typed_prepared_rows final : public prepared_rows {
 public:
  /// With `borrows`, arrays of the caller are used where they are in order; they must outlive this object, which must
  /// not be appended to.
  typed_prepared_rows(const char* call, const char* name, const join_side& side, const device& dev, bool borrows)
      : prepared_rows(dev) {
    const cpu_backend backend(dev);
    clean_ = clean_side<Key>(call, name, backend, dev, side);
    ordered_rows<Key> ordered = order_rows(backend, dev, clean_, side.groups, sorts_rows::always);
    size_ = side.on.size;
    groups_ = side.groups;
    is_in_row_order_ = clean_.is_sorted && clean_.is_complete;
    if (clean_.n != 0) last_key_ = clean_.keys[clean_.n - 1];
    take(backend, std::move(ordered), clean_, borrows);
    if (!borrows) clean_ = {};
  }

  /// `directory`, if not null, is one of all keys, and there is one group.
  [[nodiscard]] group_view<Key> group(std::uint32_t g, const key_directory<Key>* directory = nullptr) const {
    group_view<Key> view;
    if (begin_.empty()) {
      view.main = {keys_, 0, n_, top_.data()};
    } else if (g + std::size_t{1} < begin_.size()) {
      view.main = {keys_, begin_[g], begin_[g + 1], top_.data()};
    } else {
      view.main = {keys_, 0, 0, nullptr};
    }
    view.main_rows = rows_;
    if (g < tail_of_.size() && tail_of_[g] != no_tail) {
      const tail& t = *tails_[tail_of_[g]];
      view.tail = {t.keys.data(), 0, t.keys.size(), nullptr};
      view.tail_rows = t.rows.data();
      if (t.replaces) view.main.last = view.main.first;
    }
    if (view.main.size() == n_) view.main.directory = directory;
    return view;
  }
  /// Rows of the main part, in group and key order.
  [[nodiscard]] std::size_t main_size() const noexcept { return n_; }
  [[nodiscard]] row_number main_row(std::size_t position) const {
    return rows_ == nullptr ? static_cast<row_number>(position) : rows_[position];
  }
  [[nodiscard]] const Key* main_keys() const noexcept { return keys_; }
  [[nodiscard]] const row_number* main_rows() const noexcept { return rows_; }

  void asof(const join_side& left_side, std::span<row_number> rows, const asof_options& options) const override {
    const cpu_backend backend(dev_);
    const tolerance_of<Key> tolerance(options.tolerance);
    const auto left = clean_side<Key>("prepared_side::asof_join()", "left", backend, dev_, left_side);
    fill_unmatched(backend, left, rows);
    // Milliseconds of 2^20 left rows with 500 groups in order, by one pass / by groups: 23 / 35 for 2^20 right rows,
    // but 76 / 58 for 2^23.
    if (groups_ != 0 && left.codes != nullptr && left.is_sorted && is_in_row_order_ && left.n >= size_ / 4 &&
        left.n >= groups_ / 8) {
      if (const auto* const mine = by_row(backend)) {
        asof_by_last_seen(backend, dev_, left, *mine, groups_, options, tolerance, rows);
        return;
      }
    }
    const auto directory = directory_for(backend, left, keys_, n_);
    const auto ordered =
        order_rows(backend, dev_, left, groups_, directory.empty() ? sorts_rows::if_many : sorts_rows::never);
    const auto group_of = [&](std::uint32_t g) { return group(g, directory.empty() ? nullptr : &directory); };
    asof_over_runs(backend, ordered, group_of, options, tolerance, rows.data());
  }

  void append(const join_side& more) override {
    const cpu_backend backend(dev_);
    const auto clean = clean_side<Key>("prepared_side::append()", "appended", backend, dev_, more);
    const auto ordered = order_rows(backend, dev_, clean, more.groups, sorts_rows::always);
    // Everything that may throw comes first: new tails aside, room in those that exist.
    std::vector<std::pair<std::uint32_t, std::unique_ptr<tail>>> fresh;
    std::vector<std::pair<tail*, const group_run*>> extended;
    for (const group_run& run : ordered.runs) {
      const group_view<Key> old = group(run.group);
      const bool at_end = old.size() == 0 || !(ordered.keys[run.first] < old.key_at(old.size() - 1));
      if (at_end && old.tail.size() != 0) {
        tail& t = *tails_[tail_of_[run.group]];
        t.reserve_more(run.last - run.first);
        extended.emplace_back(&t, &run);
      } else {
        fresh.emplace_back(run.group, at_end ? copied(ordered, run) : merged(old, ordered, run));
      }
    }
    const std::size_t groups = std::max<std::size_t>(groups_, more.groups);
    if (!fresh.empty() && tail_of_.size() < std::max<std::size_t>(groups, 1)) {
      tail_of_.resize(std::max<std::size_t>(groups, 1), no_tail);
    }
    tails_.reserve(tails_.size() + fresh.size());
    // Nothing throws from here on.
    for (const auto& [t, run] : extended) t->add(ordered, *run, size_);
    for (auto& [g, t] : fresh) {
      if (tail_of_[g] == no_tail) {
        tail_of_[g] = static_cast<std::uint32_t>(tails_.size());
        tails_.push_back(std::move(t));
      } else {
        tails_[tail_of_[g]] = std::move(t);
      }
    }
    groups_ = static_cast<std::uint32_t>(groups);
    size_ += more.on.size;
    is_in_row_order_ = is_in_row_order_ && clean.is_sorted && clean.is_complete &&
                       (clean.n == 0 || size_ == clean.n || !(clean.keys[0] < last_key_));
    if (clean.n != 0) last_key_ = clean.keys[clean.n - 1];
    by_row_.reset();
  }

  void compact() override {
    if (tails_.empty()) return;
    const cpu_backend backend(dev_);
    const std::size_t count = std::max<std::size_t>(groups_, 1);
    ordered_rows<Key> ordered;
    for (std::size_t g = 0; g < count; ++g) {
      const std::size_t rows = group(static_cast<std::uint32_t>(g)).size();
      if (rows != 0) ordered.runs.push_back({static_cast<std::uint32_t>(g), ordered.n, ordered.n + rows});
      ordered.n += rows;
    }
    ordered.own_keys = raw_buffer(dev_, ordered.n * sizeof(Key), {});
    ordered.own_rows = buffer<row_number>(dev_, ordered.n);
    auto* keys = static_cast<Key*>(ordered.own_keys.data());
    row_number* rows = ordered.own_rows.data();
    backend.for_each_chunk(ordered.runs.size(), 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t r = from; r < to; ++r) {
        const group_run& run = ordered.runs[r];
        const group_view<Key> old = group(run.group);
        for (std::size_t i = 0; i < old.size(); ++i) {
          keys[run.first + i] = old.key_at(i);
          rows[run.first + i] = old.row_at(i);
        }
      }
    });
    ordered.keys = keys;
    ordered.rows = rows;
    take(backend, std::move(ordered), {}, false);
    tails_.clear();
    tail_of_.clear();
  }

  [[nodiscard]] std::size_t bytes() const noexcept override {
    std::size_t total = own_keys_.bytes() + own_rows_.bytes() + top_.bytes() + begin_.capacity() * sizeof(std::size_t) +
                        tail_of_.capacity() * sizeof(std::uint32_t) + tails_.capacity() * sizeof(tails_[0]);
    for (const auto& t : tails_) {
      total += sizeof(tail) + t->keys.capacity() * sizeof(Key) + t->rows.capacity() * sizeof(row_number);
    }
    const std::lock_guard lock(by_row_latch_);
    if (by_row_ != nullptr) total += by_row_->n * (sizeof(Key) + sizeof(std::uint32_t));
    return total;
  }
  [[nodiscard]] scalar_kind kind() const noexcept override { return scalar_kind_of<Key>; }
  [[nodiscard]] bool has_tails() const noexcept override { return !tails_.empty(); }

 private:
  static constexpr std::uint32_t no_tail = 0xffffffffu;

  struct tail {
    std::vector<Key> keys;
    std::vector<row_number> rows;
    bool replaces = false;

    void reserve_more(std::size_t more) {
      const std::size_t wanted = keys.size() + more;
      if (wanted <= keys.capacity() && wanted <= rows.capacity()) return;
      const std::size_t room = std::max(wanted, keys.size() + keys.size() / 2);
      keys.reserve(room);
      rows.reserve(room);
    }
    void add(const ordered_rows<Key>& from, const group_run& run, std::size_t base) {
      for (std::size_t i = run.first; i < run.last; ++i) {
        keys.push_back(from.keys[i]);
        rows.push_back(static_cast<row_number>(base + (from.rows == nullptr ? i : from.rows[i])));
      }
    }
  };

  /// All rows in row order, or null if there is no memory for them. Requires `is_in_row_order_`. May run concurrently
  /// with itself: no latch is held during the loop, which may run pieces of other calls, and the first result is kept.
  const clean_rows<Key>* by_row(const cpu_backend& backend) const {
    {
      const std::lock_guard lock(by_row_latch_);
      if (by_row_ != nullptr) return by_row_.get();
    }
    auto made = std::make_unique<clean_rows<Key>>();
    try {
      made->own_keys = buffer<Key>(dev_, size_);
      made->own_codes = buffer<std::uint32_t>(dev_, size_);
    } catch (const out_of_memory&) {
      return nullptr;
    }
    Key* const keys = made->own_keys.data();
    std::uint32_t* const codes = made->own_codes.data();
    backend.for_each_chunk(groups_, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t g = from; g < to; ++g) {
        const group_view<Key> rows = group(static_cast<std::uint32_t>(g));
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const row_number row = rows.row_at(i);
          keys[row] = rows.key_at(i);
          codes[row] = static_cast<std::uint32_t>(g);
        }
      }
    });
    made->keys = keys;
    made->codes = codes;
    made->n = size_;
    made->is_sorted = made->is_sorted_in_groups = true;
    const std::lock_guard lock(by_row_latch_);
    if (by_row_ == nullptr) by_row_ = std::move(made);
    return by_row_.get();
  }

  std::unique_ptr<tail> copied(const ordered_rows<Key>& from, const group_run& run) const {
    auto t = std::make_unique<tail>();
    t->reserve_more(run.last - run.first);
    t->add(from, run, size_);
    return t;
  }
  /// The whole group with the rows of a run: appended rows are after older rows with an equal key.
  std::unique_ptr<tail> merged(const group_view<Key>& old, const ordered_rows<Key>& from, const group_run& run) const {
    auto t = std::make_unique<tail>();
    t->replaces = true;
    t->reserve_more(old.size() + run.last - run.first);
    std::size_t i = 0;
    for (std::size_t j = run.first; j < run.last; ++j) {
      for (; i < old.size() && !(from.keys[j] < old.key_at(i)); ++i) {
        t->keys.push_back(old.key_at(i));
        t->rows.push_back(old.row_at(i));
      }
      t->add(from, {run.group, j, j + 1}, size_);
    }
    for (; i < old.size(); ++i) {
      t->keys.push_back(old.key_at(i));
      t->rows.push_back(old.row_at(i));
    }
    return t;
  }

  /// Makes ordered rows the main part. What they do not own is copied, unless it may be borrowed.
  void take(const cpu_backend& backend, ordered_rows<Key>&& ordered, const clean_rows<Key>& from, bool borrows) {
    const std::size_t n = ordered.n;
    if (n != 0 && ordered.own_keys.data() == nullptr && !borrows) {
      raw_buffer copy(dev_, n * sizeof(Key), {});
      auto* to = static_cast<Key*>(copy.data());
      backend.for_each_chunk(n, piece_rows, [&](std::size_t first, std::size_t last) {
        std::copy(ordered.keys + first, ordered.keys + last, to + first);
      });
      ordered.own_keys = std::move(copy);
      ordered.keys = to;
      if (ordered.rows != nullptr && ordered.own_rows.empty()) {  // rows of a side with NULL keys
        buffer<row_number> rows(dev_, n);
        std::copy_n(from.rows, n, rows.data());
        ordered.rows = rows.data();
        ordered.own_rows = std::move(rows);
      }
    }
    buffer<Key> top(dev_, n == 0 ? 0 : (n - 1) / top_stride + 1);
    for (std::size_t t = 0; t < top.size(); ++t) top.data()[t] = ordered.keys[t * top_stride];
    std::vector<std::size_t> begin;
    if (groups_ != 0) {
      begin.assign(std::size_t{groups_} + 1, 0);
      for (const group_run& run : ordered.runs) begin[run.group + std::size_t{1}] = run.last - run.first;
      for (std::size_t g = 0; g < groups_; ++g) begin[g + 1] += begin[g];
    }
    n_ = n;
    keys_ = ordered.keys;
    rows_ = ordered.rows;
    own_keys_ = std::move(ordered.own_keys);
    own_rows_ = std::move(ordered.own_rows);
    top_ = std::move(top);
    begin_ = std::move(begin);
  }

  clean_rows<Key> clean_;  // owns what a borrowed main part uses
  const Key* keys_ = nullptr;
  const row_number* rows_ = nullptr;  // null: position i is row i
  std::size_t n_ = 0;
  raw_buffer own_keys_;
  buffer<row_number> own_rows_;
  buffer<Key> top_;
  std::vector<std::size_t> begin_;  // empty: one group
  std::vector<std::unique_ptr<tail>> tails_;
  std::vector<std::uint32_t> tail_of_;  // of each group; shorter if there are no tails
  bool is_in_row_order_ = false;        // keys of all rows ascend from row to row, and every row can match
  Key last_key_{};                      // of the last row that can match
  mutable std::mutex by_row_latch_;
  mutable std::unique_ptr<clean_rows<Key>> by_row_;
};

}  // namespace espalier::join_detail
