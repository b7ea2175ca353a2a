// interval_join.hpp - points in spans, and spans that overlap spans.
//
// Points in spans: the points of a span are consecutive in key order, so two ranks are the answer: counts and sums
// without pairs (span_window_join), and pairs as offsets and one flat array.
//
// Spans that overlap: a right span does not overlap a left span if it ends before that starts, or starts after that
// ends; never both. So counts and sums are the total minus two prefix sums, over right spans by end and by start. Pairs
// are listed from the right spans by start, with the maximum end of each 16, 256, ... of them to skip those that end
// too early: O(log) per left span and O(log) at most per pair.
//
// Spans with lower > upper, empty ones (lower == upper with an open end), NULL and NaN ends match nothing. Open ends
// are ends of real intervals, also for integer keys: the open spans (1, 2) and (1, 2) overlap.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/join/prepared_side.hpp"
#include "espalier/join/window_join.hpp"

namespace espalier {

/// Spans of keys: [lower, upper], with open or closed ends.
struct span_side {
  column_view lower;
  column_view upper;
  std::span<const std::uint32_t> by = {};
  std::uint32_t groups = 0;
  bool includes_lower = true;
  bool includes_upper = true;
};

/// Pairs of a join: the right rows of left row i are rows[offsets[i]] .. rows[offsets[i + 1] - 1].
struct join_pairs {
  buffer<std::uint64_t> offsets;  ///< one more than left rows
  buffer<row_number> rows;
};

/// Writes the number of points (rows of `points`) in each span. Throws `error` if `points` has appended rows that are
/// not compacted.
void count_points_in_spans(const span_side& spans, const prepared_side& points, std::span<std::uint64_t> counts,
                           const stream& s = {});
/// Returns the points of each span, in key order. Memory: exactly the pairs, which are counted first.
[[nodiscard]] join_pairs points_in_spans(const span_side& spans, const prepared_side& points, const stream& s = {});
/// Aggregates over the points of each span, as window_index::window_join().
void span_window_join(const span_side& spans, const window_index& points, std::span<const window_output> outputs,
                      const stream& s = {});

namespace join_detail {
class prepared_span_rows;
}  // namespace join_detail

/// Right spans, sorted by lower and by upper end. Move-only. Thread-safe: all methods are const.
class prepared_spans {
 public:
  /// 8-byte keys take 48 bytes per span, and 16 or 32 more with values to sum.
  [[nodiscard]] static prepared_spans build(const span_side& spans, const device& dev = device::cpu(),
                                            const stream& s = {});
  /// With a column for sum_overlaps().
  [[nodiscard]] static prepared_spans build(const span_side& spans, const column_view& values,
                                            const device& dev = device::cpu(), const stream& s = {});
  prepared_spans(prepared_spans&&) noexcept;
  prepared_spans& operator=(prepared_spans&&) noexcept;
  ~prepared_spans();

  /// Writes the number of right spans that overlap each left span. O(log) each.
  void count_overlaps(const span_side& left, std::span<std::uint64_t> counts, const stream& s = {}) const;
  /// Writes the sum of the values of the right spans that overlap each left span: exact for integer columns, as
  /// window_function::sum for floats. NULL values count as 0.
  void sum_overlaps(const span_side& left, std::span<int128> sums, const stream& s = {}) const;
  void sum_overlaps(const span_side& left, std::span<double> sums, const stream& s = {}) const;
  /// Returns the right spans that overlap each left span, in the order of their lower ends. Memory: twice the row
  /// numbers of the pairs, for a moment.
  [[nodiscard]] join_pairs overlaps(const span_side& left, const stream& s = {}) const;

  [[nodiscard]] std::size_t size() const noexcept;
  /// True if overlaps() lists the right spans of each left span in the order of their rows, too: there are no groups,
  /// and all spans are valid and in the order of their lower ends.
  [[nodiscard]] bool is_in_row_order() const noexcept;

 private:
  explicit prepared_spans(std::unique_ptr<join_detail::prepared_span_rows> rows);
  std::unique_ptr<join_detail::prepared_span_rows> rows_;
};

}  // namespace espalier
