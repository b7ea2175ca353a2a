// resident_leaves.hpp - device_leaves if the device has memory for a copy of all lines: with its inner levels the
// device has a complete static tree, and only queries and results are transferred.
#pragma once

#include <deque>
#include <variant>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "hybrid_tree/device_leaves.hpp"
#include "hybrid_tree/device_window.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

template <class Context, class Word, unsigned V>
class resident_leaves final : public device_leaves {
  using view = tree_view<Word, V>;

 public:
  /// Bytes of the device's memory for the copy.
  [[nodiscard]] static std::size_t bytes_of_copy(const static_index& tree) {
    constexpr unsigned per_line = view::shape::keys_per_line;
    return (static_cast<const view*>(tree.view())->size + per_line - 1) / per_line * view::shape::line_bytes;
  }
  resident_leaves(const device& dev, const device& host, const static_index& tree)
      : device_(dev), host_(host), tree_(*static_cast<const view*>(tree.view())) {
    const stream order = dev.default_stream();
    lines_ = raw_buffer(dev, bytes_of_copy(tree), order);
    dev.copy(lines_.data(), tree_.lines, lines_.bytes(), order);
    const stream_event copied = order.mark();
    order.synchronize();
    tree_.lines = static_cast<const std::byte*>(lines_.data());
    for (unsigned s = 0; s < slots; ++s) slots_.emplace_back(dev).order.wait_for(copied);
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t sum = lines_.bytes();
    for (const device_window& s : slots_) sum += s.bytes();
    return sum;
  }
  [[nodiscard]] std::size_t cache_bytes() const override { return lines_.bytes(); }
  [[nodiscard]] double cached_part() const override { return 1; }
  [[nodiscard]] bool wants_all_lines(std::size_t, std::uint64_t) const override { return false; }

  void start(unsigned s, const inner_levels& levels, const window& w) override {
    device_window& at = slots_[s];
    at.make_room(device_, elements(), w.n, expected(), [](std::size_t) {});
    at.send(host_, elements(), w);
    find_job<Word, V> job;
    job.tree = with(levels);
    job.keys = at.keys.data();
    job.values = V == 0 || w.values == nullptr ? nullptr : at.values.data();
    job.found = at.found.data();
    levels.make_wait(at.order);
    launch(at, job, w.n);
    at.bring_back(elements(), w);
  }
  void start_rows(unsigned s, const inner_levels& levels, const range_head_request& rows, std::size_t n,
                  host_copies copies) override {
    device_window& at = slots_[s];
    at.make_room(device_, elements(), n, expected(), [](std::size_t) {});
    at.make_row_room(device_, elements(), n, rows.options.limit, expected(), [](std::size_t) {});
    at.send(host_, elements(), rows, n, copies);
    levels.make_wait(at.order);
    launch(at, at.job_of(with(levels), rows), n);
    at.bring_back(elements(), rows, n, copies);
  }
  [[nodiscard]] bool is_done(unsigned s) const override { return slots_[s].order.is_done(); }
  void finish(unsigned s) override {
    wait_blocking(slots_[s].order);
    slots_[s].arrive(host_);
  }
  void abandon() noexcept override { drain(slots_); }

 private:
  [[nodiscard]] element_type elements() const { return {tree_.key, tree_.value, tree_.value_bytes}; }
  [[nodiscard]] view with(const inner_levels& levels) const {
    const auto inner = std::get<inner_levels_view<Word>>(levels.image()).view;
    view all = tree_;
    all.headers = inner.headers;
    all.cells = inner.cells;
    all.subtables = inner.subtables;
    return all;
  }
  template <class Job>
  void launch(const device_window& at, const Job& job, std::size_t n) const {
    device_.enqueue(at.order, [this, job, n, order = at.order] {
      Context context(device_, order);
      context.launch(job, n, false, node_search::linear);
    });
  }

  device device_;
  cpu_backend host_;
  view tree_;  ///< its lines are the copy
  raw_buffer lines_;
  std::deque<device_window> slots_;
};

}  // namespace espalier::detail
