// window_order.hpp - the order in which a window operator visits rows. Window code works on positions in this order and
// stores results at the rows of the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/keys/sort.hpp"
#include "engine/parallel.hpp"

namespace espalier::engine {

/// Positions have 32 bits, so there are fewer than 2^32 rows.
class window_order {
 public:
  /// Sorts the rows by `keys`. Rows that are in order already, such as those of an index scan, are not sorted.
  window_order(const std::vector<sort_column>& keys, std::size_t rows);
  /// An order that is known: the row at each position. It has no runs.
  explicit window_order(std::span<const std::int64_t> rows);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Returns the row of the input at this position.
  [[nodiscard]] std::size_t row(std::size_t position) const {
    return order_.empty() ? position : static_cast<std::size_t>(order_[position]);
  }
  /// Returns the first positions of the runs in which the first `keys` keys are equal, and rows() as the last element.
  [[nodiscard]] std::vector<std::uint32_t> runs(std::size_t keys) const;

 private:
  std::size_t rows_;
  std::vector<std::int64_t> order_;         ///< empty if rows are in order already
  std::vector<std::uint16_t> differences_;  ///< the first key in which a position differs from the one before it
};

/// The runs of one window: its partitions, and within them the rows that ORDER BY leaves equal, which are peers.
struct window_runs {
  std::vector<std::uint32_t> partitions;
  std::vector<std::uint32_t> peers;
};

/// Finds the run of ascending positions.
class run_cursor {
 public:
  run_cursor(std::span<const std::uint32_t> starts, std::size_t position)
      : starts_(starts),
        run_(static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end() - 1, position) - starts.begin()) -
             1) {}

  /// Returns the run of the position, which is not below that of an earlier call.
  [[nodiscard]] std::size_t at(std::size_t position) {
    while (starts_[run_ + 1] <= position) ++run_;
    return run_;
  }

 private:
  std::span<const std::uint32_t> starts_;
  std::size_t run_;
};

/// Positions of one partition that one thread processes.
struct window_part {
  std::size_t begin, end;   ///< the positions
  std::size_t first, last;  ///< all positions of their partition
};

/// Returns where the pieces of for_each_part begin, and `rows` as the last element.
[[nodiscard]] std::vector<std::size_t> piece_starts(std::size_t rows, std::size_t pieces);

/// Calls body(part) for parts of all partitions, at most `pieces` of one partition, in parallel. Bodies poll for
/// cancellation in their loops (for_each_row).
template <class Body>
void for_each_part(std::span<const std::uint32_t> partitions, std::size_t pieces, const Body& body) {
  const auto starts = piece_starts(partitions.back(), pieces);
  parallel_for(starts.size() - 1, [&](std::size_t i) {
    std::size_t begin = starts[i];
    const std::size_t end = starts[i + 1];
    if (begin == end) return;
    run_cursor cursor(partitions, begin);
    while (begin < end) {
      const auto run = cursor.at(begin);
      const window_part part{begin, std::min<std::size_t>(end, partitions[run + 1]), partitions[run],
                             partitions[run + 1]};
      body(part);
      begin = part.end;
    }
  });
}

/// Returns the number of pieces for loops that keep no state between rows.
[[nodiscard]] inline std::size_t independent_pieces() { return 8 * parallel_width(); }

}  // namespace espalier::engine
